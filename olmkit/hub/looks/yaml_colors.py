"""YAML with elements for its colors: keys, numbers and constants, comments.

A page shows a few hundred lines that olmkit has written or that are an example of a publisher, so a
line-based parser is enough; a wrong result affects only the colors.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Final

from markupsafe import Markup, escape

from olmkit.hub.looks import text as texts

_KEY: Final = re.compile(
    r"(?P<before>\s*(?:- +)*)(?P<key>[^\s:#'\"{}\[\]][^:#]*?)(?P<colon>:)(?=\s|$)"
)
_CONSTANT: Final = re.compile(r"\s*(true|false|null|~|-?\d+(\.\d+)?)\s*$")
_LONGEST: Final = 200_000
_REMEMBERED: Final = 200  # maximum characters of a line, which limits the memory


@lru_cache(maxsize=256)
def markup(text: str) -> Markup:
    """Escape `text`, with `b` around keys, `i` around constants and `s` around comments."""
    text = texts.clean(text)
    if len(text) > _LONGEST:
        return escape(text)
    # Each line is escaped below; the elements are these three.
    return Markup("\n".join(map(_line, text.split("\n"))))  # noqa: S704


def _line(line: str) -> str:
    return _short_line(line) if len(line) <= _REMEMBERED else _color(line)


@lru_cache(maxsize=8192)
def _short_line(line: str) -> str:
    """Return the cached markup of a line, because examples share most of their lines."""
    return _color(line)


def _color(line: str) -> str:
    if line.lstrip().startswith("#"):
        return f"<s>{html.escape(line)}</s>"
    found = _KEY.match(line)
    before, rest = "", line
    if found is not None:
        key = html.escape(found["key"])
        before = f"{found['before']}<b>{key}</b>:"
        rest = line[found.end() :]
    if _CONSTANT.match(rest):
        return f"{before}<i>{html.escape(rest)}</i>"
    return before + html.escape(rest)
