"""Reports of operator-sdk, compared with the rules of olmkit.

`meanings.toml` names the rules that answer each of its messages, `differences.toml` has the
differences, with their reasons.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from olmkit.base.diagnostics import Diagnostic, Severity

HERE = Path(__file__).parent
DIFFERENCES: dict[str, Any] = tomllib.loads((HERE / "differences.toml").read_text())
MEANINGS = [
    (re.compile(entry["pattern"], re.DOTALL), entry["rules"])
    for entry in tomllib.loads((HERE / "meanings.toml").read_text())["meaning"]
]
_WRONG = [re.compile(entry["pattern"], re.DOTALL) for entry in DIFFERENCES["wrong"]]
_UNINSPECTED = [re.compile(entry["pattern"], re.DOTALL) for entry in DIFFERENCES["uninspected"]]
# operator-sdk joins all errors about the annotations into one message.
_JOINED = "Bundle validation errors: "
_SPLIT = re.compile(
    r",(?=Missing annotation|Expecting annotation|Unable to locate|The directory |API |Package |"
    r"Invalid |Label |The CEL |couldn't parse)"
)


def unanswered(
    answer: dict[str, Any], found: Sequence[Diagnostic], *, inspected: bool = True
) -> Iterator[str]:
    """Return the findings that only the reference reports; `inspected`: it could read images."""
    wrong = _WRONG if inspected else _WRONG + _UNINSPECTED
    said = [(output["type"], output["message"]) for output in answer["outputs"] or []]
    if answer["passed"] is None and answer["exit"]:
        said.append(("error", answer["stderr"]))
    for kind, message in said:
        _, joined, rest = message.partition(_JOINED)
        for part in _SPLIT.split(rest) if joined else (message,):
            if any(pattern.search(part) for pattern in wrong):
                continue
            rules, words = meaning(part)
            if not any(
                ours.rule in rules
                and ours.severity is Severity(kind)
                and all(word in ours.message for word in words)
                for ours in found
            ):
                yield f"{kind}: {part[:200]}"


def meaning(message: str) -> tuple[list[str], list[str]]:
    """Return the rules with the same meaning, and the text that their message must contain."""
    for pattern, rules in MEANINGS:
        match = pattern.search(message)
        if match is not None:
            return rules, [word for word in match.groups() if word]
    raise AssertionError(f"no rule means: {message[:200]}")
