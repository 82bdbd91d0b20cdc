"""Limit external text in messages, so that a finding never prints a whole document."""

from __future__ import annotations

import functools
import re
from typing import Final

MOST: Final = 120
"""Characters of one value in a message; the digest of an image reference is not counted."""
MOST_OF_MESSAGE: Final = 600
"""Characters of a finding's message, and of a line of an error."""
_MOST_OF_HINT_PART: Final = 400
_MOST_LINES: Final = 40
_DIGEST: Final = r"@sha(?:256:[0-9a-f]{64}|512:[0-9a-f]{128})\Z"
# Text in quotes, also without the closing one if the text was truncated; text without spaces. Short
# text in quotes is matched too: else its closing quote would open the next match.
_VALUE: Final = r"`[^`]*(?:`|\Z)|\"(?:[^\"\\]|\\.)*\"|[^\s`\"]{%d,}"
# Programs whose commands are in hints: a truncated command cannot be run.
_COMMAND: Final = (
    r"`(?:ansible-galaxy|cosign|docker|git|go|helm|kubectl|kustomize|make|olmkit|openssl|opm|"
    r"operator-sdk|pip|podman|preflight|python|skopeo) "
)


def shorten(text: str, limit: int = MOST) -> str:
    """Return the text, or its beginning with `…`: at most `limit` characters.

    Paths and URLs keep their end too, and image references their digest, which is not counted.
    """
    if len(text) <= limit:
        return text
    if found := re.search(_DIGEST, text):
        return shorten(text[: found.start()], limit) + found[0]
    is_path = "/" in text and not any(char.isspace() for char in text)
    return _both_ends(text, limit) if is_path else text[: limit - 1] + "…"


def limit_message(text: str) -> str:
    """Return a message in which each value is truncated, and then the whole message."""
    return shorten(_with_short_values(text, MOST), MOST_OF_MESSAGE)


def bounded_error(text: str) -> str:
    """Return an error's message with truncated values and lines, and a limited number of lines.

    Both ends of a long line are kept: API servers write the reason after the object.
    """
    lines = _with_short_values(_without_dumps(text), MOST).split("\n")
    if len(lines) > _MOST_LINES:
        half = _MOST_LINES // 2
        lines[half:-half] = [f"… ({len(lines) - 2 * half} more lines)"]
    return "\n".join(_both_ends(line, MOST_OF_MESSAGE) for line in lines)


def limit_values(text: str) -> str:
    """Return a text with each value truncated, but complete sentences and lists."""
    return _with_short_values(text, MOST)


def limit_hint(text: str) -> str:
    """Return a hint with each value truncated; commands only if very long."""
    if len(text) <= MOST:
        return text

    def cut(match: re.Match[str]) -> str:
        found = match[0]
        return _cut(found, _MOST_OF_HINT_PART if re.match(_COMMAND, found) else MOST)

    return shorten(_pattern(MOST).sub(cut, text), MOST_OF_MESSAGE)


def _without_dumps(text: str) -> str:
    """Return the text with long objects in braces truncated: JSON, and Go structs."""
    if len(text) <= MOST or "{" not in text:
        return text
    parts = []
    start = depth = written = 0
    for index, char in enumerate(text):
        if char == "{":
            start = index if depth == 0 else start
            depth += 1
        elif char == "}" and depth:
            depth -= 1
            if depth == 0 and index + 1 - start > MOST:
                parts += [text[written:start], _both_ends(text[start : index + 1], MOST)]
                written = index + 1
    return "".join(parts) + text[written:]


def _both_ends(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    end = limit // 2
    return text[: limit - end - 1] + "…" + text[-end:]


def _with_short_values(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return _pattern(limit).sub(lambda match: _cut(match[0], limit), text)


@functools.cache
def _pattern(limit: int) -> re.Pattern[str]:
    """Return a compiled pattern; only long text needs it, which is rare."""
    return re.compile(_VALUE % (limit + 1))


def _cut(found: str, limit: int) -> str:
    quote = found[0] if found[0] in '`"' else ""
    if len(found.strip(quote) if quote else found) <= limit:
        return found
    return quote + shorten(found.strip(quote) if quote else found, limit) + quote
