"""Limit external text in messages, so that a finding never prints a whole document."""

from __future__ import annotations

import functools
import re
from typing import Final

MOST: Final = 160
"""Characters of one value in a message; an image reference with its digest fits."""
_MOST_OF_MESSAGE: Final = 600
_MOST_OF_HINT_PART: Final = 400
# What quotes enclose, also without the closing one where a text was cut before; what has no space.
_LONG: Final = r"`[^`]{%d,}(?:`|\Z)|\"[^\"]{%d,}\"|[^\s`\"]{%d,}"


def shortened(text: str, limit: int = MOST) -> str:
    """Return the text, or its beginning with `…` at its end: at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def bounded_message(text: str) -> str:
    """Return a message in which each value is cut, and which is cut as a whole."""
    return shortened(_with_short_values(text, MOST), _MOST_OF_MESSAGE)


def bounded_values(text: str) -> str:
    """Return a text with each value truncated, but complete sentences and lists."""
    return _with_short_values(text, MOST)


def bounded_hint(text: str) -> str:
    """Return a hint with each value truncated; commands, with spaces, only if very long."""
    if len(text) <= MOST:
        return text

    def cut(match: re.Match[str]) -> str:
        found = match[0]
        return _cut(found, _MOST_OF_HINT_PART if " " in found else MOST)

    return _pattern(MOST).sub(cut, text)


def _with_short_values(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return _pattern(limit).sub(lambda match: _cut(match[0], limit), text)


@functools.cache
def _pattern(limit: int) -> re.Pattern[str]:
    """Compiled when a text is long, which is rare."""
    return re.compile(_LONG % ((limit + 1,) * 3))


def _cut(found: str, limit: int) -> str:
    quote = found[0] if found[0] in '`"' else ""
    return quote + shortened(found.strip(quote) if quote else found, limit) + quote
