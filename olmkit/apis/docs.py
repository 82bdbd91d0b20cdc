"""Documentation text: from docstrings and comments to descriptions.

The steps are those of the reference generators: marker lines and `TODO` lines are removed, several
blank lines become one, and a line of dashes ends the text.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable


def from_docstring(text: str) -> str:
    """Return a docstring, dedented and cleaned by the generators' rules."""
    return clean(inspect.cleandoc(text))


def clean(text: str) -> str:
    return from_lines(line.rstrip() for line in text.splitlines() if not is_marker_line(line))


def from_lines(lines: Iterable[str]) -> str:
    """Return lines without markers and trailing white space, cleaned by the generators' rules."""
    return "\n".join(_without_notes(_one_blank(lines)))


def is_marker_line(line: str) -> bool:
    stripped = line.lstrip()
    return stripped.startswith("+") and stripped[1:2].isalpha()


def _one_blank(lines: Iterable[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if line or (found and found[-1]):
            found.append(line)
    while found and not found[-1]:
        found.pop()
    return found


def _without_notes(lines: list[str]) -> list[str]:
    found: list[str] = []
    fenced = False
    for line in lines:
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        if not fenced and line.startswith("---"):
            break
        if not fenced and line.startswith("TODO"):
            continue
        found.append(line)
    return found


def shorten(text: str, limit: int | None) -> str:
    """Return a description of at most `limit` bytes, cut after a sentence, else after a word."""
    data = text.encode()
    if limit is None or len(data) <= limit:
        return text
    if limit <= 0:
        return ""
    cut = data[:limit].decode("utf-8", "ignore")
    for end in range(len(cut) - 1, 0, -1):
        if cut[end] in _SENTENCE_ENDS:
            return cut[: end + 1]
    for end in range(len(cut) - 1, 0, -1):
        if cut[end].isspace():
            return cut[:end] + "..."
    return cut + "..."


# The more common characters that end a sentence in Unicode.
_SENTENCE_ENDS = frozenset(
    ".!?\u0589\u061f\u06d4\u0964\u203c\u203d\u2047\u2048\u2049\u3002\uff01\uff0e\uff1f\uff61"
)
