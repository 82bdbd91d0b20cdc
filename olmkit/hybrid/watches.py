"""`watches.yaml` of a Helm operator: which chart is released for the objects of which kind.

Keys match without regard to case, as in helm-operator, which reads them through Go's JSON
decoder; an unknown key is a warning here. `$X` and `${X}` in `overrideValues` are variables of the
environment, an unset one is empty. Templates in `overrideValues` are an error: what they may call
depends on the template engine of helm-operator.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.base import documents
from olmkit.base.diagnostics import Diagnostic, InputError, Location, Severity
from olmkit.base.documents import Document
from olmkit.hybrid import durations
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK

FILE = "watches.yaml"
_NAMES = {
    "WCH001": "watches-shape",
    "WCH002": "unknown-watch-key",
    "WCH003": "incomplete-watch",
    "WCH004": "watch-value",
    "WCH005": "repeated-watch",
}
_VARIABLE = re.compile(r"\$(?:\{([^}]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmWatch:
    """One entry; `reconcile_period` in seconds, None: that of the process.

    `chart` is a folder or a packed chart, as the file names it.
    """

    gvk: GVK
    chart: str
    at: Location
    override_values: Mapping[str, str] = field(default_factory=dict)
    watches_dependents: bool = True
    selector: LabelSelector | None = None
    reconcile_period: float | None = None
    renders_on_server: bool = False
    max_concurrent_reconciles: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The entries without faults, and what was found."""

    entries: tuple[HelmWatch, ...]
    findings: tuple[Diagnostic, ...]


def read(data: bytes, environment: Mapping[str, str], *, path: str = FILE) -> Reading:
    """The entries of a file; raises `InputError` for what is not YAML."""
    document = documents.load(data, path)
    reader = _Reader(document, environment)
    entries = tuple(reader.entries())
    return Reading(entries, tuple(sorted(reader.findings, key=Diagnostic.sort_key)))


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """`$X` and `${X}` replaced; an unset variable is empty, as in Go's `os.Expand`."""
    return _VARIABLE.sub(lambda found: environment.get(found[1] or found[2] or "", ""), text)


@dataclass(slots=True)
class _Reader:
    document: Document
    environment: Mapping[str, str]
    findings: list[Diagnostic] = field(default_factory=list)

    def entries(self) -> Iterator[HelmWatch]:
        listed = self.document.value
        if listed is None:
            listed = []
        if not isinstance(listed, list):
            self._say("WCH001", "the file is not a list of entries", self.document.at())
            return
        seen: dict[GVK, Location] = {}
        for index, entry in enumerate(listed):
            if not isinstance(entry, Mapping):
                self._say("WCH001", "an entry has no keys", self.document.at(index))
                continue
            watch = self._entry(index, entry)
            if watch is None:
                continue
            if watch.gvk in seen:
                self._say(
                    "WCH005",
                    f"`{watch.gvk.kind}` of `{watch.gvk.api_version}` is listed more than once",
                    watch.at,
                    "keep one entry for each kind",
                )
                continue
            seen[watch.gvk] = watch.at
            yield watch

    def _entry(self, index: int, entry: Mapping[str, Any]) -> HelmWatch | None:
        before = len(self._errors())
        keys: dict[str, str] = {}
        for key in entry:
            name = _KNOWN.get(str(key).lower())
            if name is None:
                self._unknown(index, str(key))
            else:
                keys[name] = key
        found: dict[str, Any] = {}
        for name, key in keys.items():
            if entry[key] is None:
                continue
            try:
                found[name] = _FIELDS[name](entry[key], self.environment)
            except ValueError as error:
                self._say("WCH004", f"`{key}` {error}", self.document.at(index, key))
        texts = {name: found.pop(name, "") for name in ("group", "version", "kind")}
        for name in ("version", "kind", "chart"):
            if name not in keys or entry[keys[name]] in (None, ""):
                self._say("WCH003", f"an entry has no `{name}`", self.document.at(index))
        if len(self._errors()) > before:
            return None
        return HelmWatch(
            gvk=GVK(**texts),
            at=self.document.at(index),
            **{_ATTRIBUTES[name]: value for name, value in found.items()},
        )

    def _errors(self) -> list[Diagnostic]:
        return [one for one in self.findings if one.severity is Severity.ERROR]

    def _unknown(self, index: int, key: str) -> None:
        near = difflib.get_close_matches(key, _FIELDS, n=1)
        hint = f"did you mean `{near[0]}`?" if near else ""
        self._say("WCH002", f"`{key}` is not read", self.document.at_key(index, key), hint)

    def _say(self, code: str, message: str, at: Location, hint: str = "") -> None:
        severity = Severity.WARNING if code == "WCH002" else Severity.ERROR
        self.findings.append(Diagnostic(code, _NAMES[code], severity, message, at=at, hint=hint))


def _text(value: Any, _: Mapping[str, str]) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def _truth(value: Any, _: Mapping[str, str]) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be `true` or `false`")
    return value


def _period(value: Any, _: Mapping[str, str]) -> float | None:
    if not isinstance(value, str):
        raise ValueError("must be a duration such as `1m30s`, as a string")
    try:
        found = durations.parse(value)
    except ValueError:
        raise ValueError(f"must be a duration such as `1m30s`, not `{value:.80}`") from None
    if found < 0:
        raise ValueError("must not be negative")
    return found or None


def _selector(value: Any, _: Mapping[str, str]) -> LabelSelector | None:
    if not isinstance(value, Mapping) or set(value) - {"matchLabels", "matchExpressions"}:
        raise ValueError("must have `matchLabels` or `matchExpressions`, and nothing else")
    try:
        return LabelSelector.parse(value) if value else None
    except InputError as error:
        raise ValueError(f"is not a label selector: {error}") from None


def _overrides(value: Any, environment: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError("must be a map of strings")
    found = {}
    for key, text in value.items():
        if not isinstance(text, str):
            raise ValueError(f"has a value that is not a string: `{key}`")
        if "{{" in text:
            raise ValueError(f"has a template, which is not supported: `{key}`")
        found[str(key)] = expanded(text, environment)
    return found


def _dry_run(value: Any, _: Mapping[str, str]) -> bool:
    if value not in ("", "client", "server"):
        raise ValueError("must be `client` or `server`")
    return bool(value == "server")


def _count(value: Any, _: Mapping[str, str]) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("must be a number above 0")
    return value


_FIELDS: dict[str, Callable[[Any, Mapping[str, str]], Any]] = {
    "group": _text,
    "version": _text,
    "kind": _text,
    "chart": _text,
    "overrideValues": _overrides,
    "watchDependentResources": _truth,
    "selector": _selector,
    "reconcilePeriod": _period,
    "dryRunOption": _dry_run,
    "maxConcurrentReconciles": _count,
}
_ATTRIBUTES = {
    "chart": "chart",
    "overrideValues": "override_values",
    "watchDependentResources": "watches_dependents",
    "selector": "selector",
    "reconcilePeriod": "reconcile_period",
    "dryRunOption": "renders_on_server",
    "maxConcurrentReconciles": "max_concurrent_reconciles",
}
_KNOWN = {name.lower(): name for name in _FIELDS}
