"""YAML with classes for its colours: keys, numbers and constants, comments.

A page shows a few hundred lines that olmkit has written itself or that are an example of a
publisher, so lines are enough; a text that is read wrongly has wrong colours and nothing else.
"""

from __future__ import annotations

import re
from typing import Final

from markupsafe import Markup, escape

from olmkit.hub.looks import text as texts

_KEY: Final = re.compile(
    r"(?P<before>\s*(?:- +)*)(?P<key>[^\s:#'\"{}\[\]][^:#]*?)(?P<colon>:)(?=\s|$)"
)
_CONSTANT: Final = re.compile(r"\s*(true|false|null|~|-?\d+(\.\d+)?)\s*$")
_LONGEST: Final = 200_000


def markup(text: str) -> Markup:
    """`text` escaped, with `span` elements of the classes `nt`, `kc` and `c`."""
    text = texts.clean(text)
    if len(text) > _LONGEST:
        return escape(text)
    return Markup("\n").join(_line(line) for line in text.split("\n"))


def _line(line: str) -> Markup:
    if line.lstrip().startswith("#"):
        return Markup('<span class="c">{}</span>').format(line)
    found = _KEY.match(line)
    before = Markup("")
    rest = line
    if found is not None:
        before = Markup('{}<span class="nt">{}</span>:').format(found["before"], found["key"])
        rest = line[found.end() :]
    if _CONSTANT.match(rest):
        return before + Markup('<span class="kc">{}</span>').format(rest)
    return before + escape(rest)
