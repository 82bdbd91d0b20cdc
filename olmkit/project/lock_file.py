"""Files with exact versions and hashes, compared with what the project requires.

Only names are compared: which versions fit is for what wrote the file. An installer takes the file
as it is, so an image from one that lacks a package starts, and ends at the import.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(.*)")
_SEPARATORS = re.compile(r"[-_.]+")


def find_missing(requirements: Iterable[str], lock: bytes) -> tuple[str, ...]:
    """The names of required packages that a lock file has no line for.

    Requirements with a marker (`; sys_platform == …`) may be left out of it on purpose.
    """
    locked = {name for line in lock.decode("utf-8", "replace").splitlines() if (name := _pin(line))}
    missing = {}
    for requirement in requirements:
        text, _, marker = requirement.partition(";")
        found = _NAME.fullmatch(text)
        if found and not marker.strip() and _normal(found[1]) not in locked:
            missing[_normal(found[1])] = found[1]
    return tuple(missing.values())


def _pin(line: str) -> str:
    """The package of a line; empty for comments, hashes and options."""
    if line[:1] in ("", "#", " ", "\t", "-"):
        return ""
    found = _NAME.match(line)
    return _normal(found[1]) if found and found[2].startswith(("==", "@")) else ""


def _normal(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()
