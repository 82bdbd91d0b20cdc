"""Baselines: the findings at the start of checking a project, so that only new ones count.

Line numbers are left out, because they change. A finding that occurs more often than in the
baseline is reported.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from olmkit.base.diagnostics import ConfigurationError, Diagnostic

_VERSION = 1
_KEYS = ("rule", "path", "field", "message")
_Key = tuple[str, ...]


class Baseline:
    """Known findings; `count` is the number omitted so far."""

    def __init__(self, known: Iterable[Diagnostic] = ()) -> None:
        self._left = Counter(_key(found) for found in known)
        self.count = 0

    @staticmethod
    def load(data: bytes, path: str) -> Baseline:
        """Parse a baseline; raises `ConfigurationError` if it is invalid."""
        baseline = Baseline()
        try:
            value: Any = json.loads(data)
            if value["version"] != _VERSION or value.keys() != {"version", "findings"}:
                raise ValueError
            for entry in value["findings"]:
                if entry.keys() != {*_KEYS, "count"}:
                    raise ValueError
                key = tuple(str(entry[name]) for name in _KEYS)
                baseline._left[key] += int(entry["count"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ConfigurationError(
                f"`{path}` is not a baseline", hint="write one with `--write-baseline FILE`"
            ) from None
        return baseline

    def dump(self) -> bytes:
        """Return the text of the baseline, sorted."""
        entries = [
            {**dict(zip(_KEYS, key, strict=True)), "count": count}
            for key, count in sorted(self._left.items())
        ]
        value = {"version": _VERSION, "findings": entries}
        text = json.dumps(value, indent=2, ensure_ascii=False)
        return f"{text}\n".encode("utf-8", "surrogateescape")

    def new(self, diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return the findings that are not known."""
        kept = tuple(found for found in diagnostics if not self._takes(_key(found)))
        self.count += len(diagnostics) - len(kept)
        return kept

    def _takes(self, key: _Key) -> bool:
        if self._left[key] <= 0:
            return False
        self._left[key] -= 1
        return True


def _key(found: Diagnostic) -> _Key:
    at = found.at
    return (found.rule, at.path if at else "", at.field if at else "", found.message)
