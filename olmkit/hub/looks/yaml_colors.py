"""YAML with classes for its colours: keys, numbers and constants, comments.

A page shows a few hundred lines that olmkit has written itself or that are an example of a
publisher, so lines are enough; a text that is read wrongly has wrong colours and nothing else.
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


@lru_cache(maxsize=1024)
def markup(text: str) -> Markup:
    """`text` escaped, with `span` elements of the classes `nt`, `kc` and `c`."""
    text = texts.clean(text)
    if len(text) > _LONGEST:
        return escape(text)
    # Each line is escaped below; the elements are these three.
    return Markup("\n".join(map(_line, text.split("\n"))))  # noqa: S704


def _line(line: str) -> str:
    if line.lstrip().startswith("#"):
        return f'<span class="c">{html.escape(line)}</span>'
    found = _KEY.match(line)
    before, rest = "", line
    if found is not None:
        key = html.escape(found["key"])
        before = f'{found["before"]}<span class="nt">{key}</span>:'
        rest = line[found.end() :]
    if _CONSTANT.match(rest):
        return f'{before}<span class="kc">{html.escape(rest)}</span>'
    return before + html.escape(rest)
