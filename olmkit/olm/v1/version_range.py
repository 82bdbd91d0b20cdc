"""The versions that a ClusterExtension may request.

The API server accepts only a part of the range language: no hyphen ranges, no numbers with a
leading zero, at most 64 characters. Source: the CRD of ClusterExtensions, with the same pattern,
including its oddities, in the releases 1.2.0 and 1.11.0.
"""

from __future__ import annotations

import re

from olmkit.base.version_constraints import VersionConstraint
from olmkit.base.versions import InvalidRangeError

MAX_LENGTH = 64
_SIGN = r"(?:=||!=|>|<|>=|=>|<=|=<|~|~>|\^)"
_REST = (
    r"(?:-(?:[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?"
    r"(?:\+(?:[0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?"
)
_FIRST = (
    r"v?(?:0|[1-9][0-9]*|[x|X|\*])(?:\.(?:0|[1-9][0-9]*|x|X|\*]))?"
    rf"(?:\.(?:0|[1-9][0-9]*|x|X|\*))?{_REST}"
)
_NEXT = (
    r"v?(?:0|[1-9][0-9]*|x|X|\*])(?:\.(?:0|[1-9][0-9]*|x|X|\*))?"
    rf"(?:\.(?:0|[1-9][0-9]*|x|X|\*]))?{_REST}"
)
# Blanks are single here, so that there is one way to parse them.
_PATTERN = re.compile(rf" ?{_SIGN} ?{_FIRST} ?(?:(?: |, ?| ?\|\| ?){_SIGN} ?{_NEXT} ?)*")
_BLANKS = re.compile(r"[ \t\n\f\r]+")


def parse(text: str) -> VersionConstraint:
    """Return the range. Raises `InvalidRangeError` if OLM v1 or the API server refuses it."""
    try:
        found = VersionConstraint.parse(text)
    except InvalidRangeError as error:  # its hint applies to all ranges
        raise _range_error(text, error.reason) from error
    if len(text) > MAX_LENGTH:
        raise _range_error(text, f"it is longer than {MAX_LENGTH} characters")
    if not _PATTERN.fullmatch(_BLANKS.sub(" ", text)):
        raise _range_error(text, "a ClusterExtension does not accept it")
    return found


def _range_error(text: str, reason: str) -> InvalidRangeError:
    return InvalidRangeError(
        f"`{text[:MAX_LENGTH]}` cannot be requested of OLM v1: {reason}",
        "use for example `1.2.3`, `1.2.x`, `^1.2`, `~1.2.3` or `>=1.2.0 <2.0.0`",
        reason=reason,
    )
