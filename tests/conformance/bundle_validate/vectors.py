"""The rule vectors: small bundles with one change, and the reports of operator-sdk 1.42.3."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from olmkit.base.diagnostics import OlmkitError
from olmkit.bundle import layout
from olmkit.bundle.model import Bundle
from olmkit.edges import disk

_ROW = re.compile(r"\| (\S+) \| ([^|]*) \|(?:.*\| ([^|]*) \|)?$")


@dataclass(frozen=True)
class Vector:
    """One case: a bundle, and the reports of the reference for each selector.

    `section` is that of the specification; `right` is the correct finding where the reference is
    silent or wrong.
    """

    case: str
    section: str
    right: str
    bundle: Bundle | None
    answers: dict[str, dict[str, Any]]


@cache
def read(vectors: Path) -> dict[str, Vector]:
    """Return every case by its name, from the directory of the unpacked vectors."""
    folder = vectors / "rules"
    answers: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for line in (folder / "bundles.jsonl").read_text().splitlines():
        answer = json.loads(line)
        answers[answer["case"]][answer["selector"]] = answer
    rows = {
        row[1]: (row[2].strip(), (row[3] or "").strip())
        for row in map(_ROW.match, (folder / "bundles.md").read_text().splitlines())
        if row is not None
    }
    return {
        case: Vector(case, *rows[case], _bundle(folder / "bundles" / case, case), given)
        for case, given in answers.items()
    }


def _bundle(folder: Path, case: str) -> Bundle | None:
    try:
        return layout.read(disk.read_tree(folder), f"bundles/{case}")
    except OlmkitError:
        return None
