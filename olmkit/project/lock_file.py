"""Files with exact versions and hashes, compared with the project's requirements.

Only names are compared: the program that wrote the file checks versions. An installer uses the file
unchanged, so with a missing package, the image is built, but the operator fails at the import.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(.*)")
_SEPARATORS = re.compile(r"[-_.]+")


def find_missing(requirements: Iterable[str], lock: bytes) -> tuple[str, ...]:
    """Return the names of required packages that are not in a lock file.

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
    """Return the package of a line; empty for comments, hashes and options."""
    if line[:1] in ("", "#", " ", "\t", "-"):
        return ""
    found = _NAME.match(line)
    return _normal(found[1]) if found and found[2].startswith(("==", "@")) else ""


def _normal(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()
