"""OpenShift versions: their form in bundles, and their Kubernetes versions.

Source of the pairs: https://access.redhat.com/solutions/4870701. Versions are minor numbers of
OpenShift 4 and of Kubernetes 1.
"""

from __future__ import annotations

import re
from typing import Final

OLDEST: Final = 1
LATEST: Final = 22
"""The newest OpenShift 4 that has a catalog of operators."""

OLDEST_CATALOG: Final = 12
"""The oldest OpenShift 4 that has a catalog of operators."""

_ODD: Final = {1: 13, 2: 14}  # since 4.3 the difference is constant
_DISTANCE: Final = 13
_VERSION: Final = re.compile(r"v?4\.(0|[1-9][0-9]{0,2})", re.ASCII)


def kubernetes(minor: int) -> int:
    """Return the minor version of Kubernetes in OpenShift `4.minor`."""
    return _ODD.get(minor, minor + _DISTANCE)


def parse(text: str) -> tuple[int, ...] | None:
    """Return the versions that `text` names, oldest first; None if it is not in a known form.

    `v4.12` means that and later versions, `=v4.12` only that, `v4.12-v4.14` a range, and
    `v4.12,v4.13` the oldest of the list and later, as catalogs read it.
    """
    text = text.strip()
    if text.startswith("="):
        exact = _minor(text[1:])
        return None if exact is None else (exact,)
    if "," in text:
        listed = [_minor(part.partition("-")[0].strip()) for part in text.split(",")]
        known = [minor for minor in listed if minor is not None]
        return (
            tuple(range(min(known), max(LATEST, *known) + 1)) if len(known) == len(listed) else None
        )
    first, dash, last = text.partition("-")
    start = _minor(first.strip())
    end = _minor(last.strip()) if dash else max(start or 0, LATEST)
    if start is None or end is None or end < start:
        return None
    return tuple(range(start, end + 1))


def _minor(text: str) -> int | None:
    found = _VERSION.fullmatch(text)
    return int(found[1]) if found else None
