"""Parse values of untrusted HTTP headers (RFC 9110): lists, numbers, dates."""

from __future__ import annotations

import email.utils
import re

_DAY = 86_400.0
# Each pattern takes linear time: its quantifiers never give back what they matched.
_ELEMENT = re.compile(r'(?:[^,"]++|"(?:[^"\\]|\\.)*+"?)++', re.DOTALL)
_LINK = re.compile(r'<([^>]*+)>((?:[^,"]++|"(?:[^"\\]|\\.)*+"?)*+)', re.DOTALL)
_PARAMETER = re.compile(
    r';\s*+([^\s=;,"]++)\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"?|([^\s;"]*+)(?=\s*+(?:;|$)))', re.DOTALL
)
_SEPARATORS = re.compile(r"[\s,]*+")


def split_list(text: str) -> list[str]:
    """Return the elements of a list, separated by commas outside quoted strings."""
    return [part for found in _ELEMENT.findall(text) if (part := found.strip())]


def next_link(text: str) -> str:
    """Return the target of the link to the next page in `Link` headers (RFC 8288), or "".

    Commas in targets are not separators.
    """
    position = _end(_SEPARATORS, text, 0)
    while position < len(text) and text.find(">", position) >= 0:
        link = _LINK.match(text, position)
        if link is not None and "next" in _relations(link[2]):
            return link[1].strip()
        position = link.end() if link is not None else _end(_ELEMENT, text, position)
        position = _end(_SEPARATORS, text, position)
    return ""


def _relations(parameters: str) -> list[str]:
    """Return the relation types of a link in lower case; only the first `rel` counts."""
    for found in _PARAMETER.finditer(parameters):
        if found[1].lower() == "rel":
            return (found[2] or found[3] or "").lower().split()
    return []


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def parse_retry_after(text: str, now: float) -> float:
    """Return the seconds of a `Retry-After` header, a number or a date; a day at most."""
    if not text:
        return 0.0
    if text.strip().isdecimal():
        seconds = parse_count(text.strip())
        return _DAY if seconds is None else min(float(seconds), _DAY)
    try:
        wait = email.utils.parsedate_to_datetime(text).timestamp() - now
    except (ValueError, OverflowError, OSError):
        return 0.0
    return min(max(0.0, wait), _DAY)


def parse_count(text: str) -> int | None:
    """Return the number of bytes or seconds in a header; None if `text` is not a number."""
    return int(text) if len(text) <= 18 and text.isascii() and text.isdecimal() else None
