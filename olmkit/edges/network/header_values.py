"""Parse values of untrusted HTTP headers (RFC 9110): lists, numbers, dates."""

from __future__ import annotations

import email.utils
import re

_DAY = 86_400.0
_ELEMENT = re.compile(r'(?:[^,"]+|"(?:[^"\\]|\\.)*"?)+')
_LINK = re.compile(r"<([^>]*)>(.*)", re.DOTALL)
_NEXT = re.compile(r';\s*rel\s*=\s*(?:next\s*(?:;|$)|"\s*(?:[^"]*\s)?next(?:\s[^"]*)?")', re.I)


def split_list(text: str) -> list[str]:
    """Return the elements of a list, separated by commas outside quoted strings."""
    return [part for found in _ELEMENT.findall(text) if (part := found.strip())]


def next_link(text: str) -> str:
    """Return the target of the link to the next page in `Link` headers (RFC 8288), or None."""
    for element in _split_links(text):
        link = _LINK.fullmatch(element)
        if link is not None and _NEXT.search(link[2]):
            return link[1].strip()
    return ""


def _split_links(text: str) -> list[str]:
    """Split links like `split_list`; commas in targets are not separators either."""
    joined: list[str] = []
    for part in split_list(text):
        if joined and joined[-1].startswith("<") and ">" not in joined[-1]:
            joined[-1] += f",{part}"
        else:
            joined.append(part)
    return joined


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
