"""Read simple YAML quickly; anything else is left to the exact parser.

The fast parser differs from Go's: it accepts wrong indentation, and parses base-60 numbers, anchors
and tags differently. So libyaml also parses the text, without creating objects: it checks whether
the text is YAML, and counts events. If the counts differ, or the text may contain a form on which
the two disagree, the result is `REFUSED`, and `yaml_reader` reads the text. Otherwise, both give
the same value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from yaml._yaml import CParser
from yaml.error import YAMLError

from olmkit.base.go import floats

yamlrocks: ModuleType | None
try:
    import yamlrocks
except ImportError:  # there is no build of it for Python 3.11
    yamlrocks = None

MAX_DEPTH: Final = 500


class NotFast:
    """The result for text that needs the exact parser."""


REFUSED: Final = NotFast()

_USUAL: Final = b"\n" + bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))
_ODD_CHARACTER: Final = re.compile(
    rb"\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef(?:\xbb\xbf|\xbf[\xbe\xbf])|\xed[\xa0-\xbf]"
)
# Comments and blank lines before the separator of the first document.
_HEADER: Final = re.compile(rb"(?:[ ]*+(?:#[^\n]*+)?\n)*+---[ ]*+\n")
# The start of a block scalar after a key, and the indent of the next line with text.
_BLOCK: Final = re.compile(rb": [|>][-+]? *\n(?: *\n)*( +)(?=[^ \n])")
_KEY: Final = re.compile(rb" *(?:- +)*[A-Za-z0-9_./-]+\Z")
# Brackets that may open a collection, and are not closed at once. These patterns and those below
# start with their rarest byte, to which the search jumps.
_OPENERS: Final = (
    re.compile(rb"\[(?:(?<=\s\[)|(?<=\A\[))(?!\])"),
    re.compile(rb"\{(?:(?<=\s\{)|(?<=\A\{))(?!\})"),
)
_TAG: Final = re.compile(rb"!(?:(?<=[\s\[{,:]!)|(?<=\A!))")
_ANCHOR: Final = re.compile(rb"&(?:(?<=[\s\[{,:]&)|(?<=\A&))[0-9A-Za-z_-]")
_EMPTY_VALUE: Final = re.compile(rb":[,\]}]")
# Parts of numbers that the two parse differently. Dates and times are not numbers.
_NUMBER_PARTS: Final = (
    re.compile(rb"_(?:(?<=[\s\[{,:+.0-9_-]_)|(?<=\A_))[0-9._+eE\s,\]}:-]"),
    re.compile(rb":(?<=[0-9_]:)(?<!T\d\d:)(?<!T\d\d:\d\d:)[0-9_]"),
    re.compile(
        rb"0(?:(?<=[\s\[{,:\"+-]0)|(?<=\A0))(?<!\d{4}-0)(?<!\d{4}-\d\d-0)"
        rb"(?<!T\d\d:0)(?<!T\d\d:\d\d:0)[0-9oObB_]"
    ),
)
# A long one takes the fast parser minutes.
_LONG_NUMBER: Final = re.compile(rb"0[xXbBoO][0-9A-Fa-f_]{64}")
# No real number is longer; a longer one is left to the exact parser.
_LONGEST_NUMBER: Final = 64
# Outside brackets, a number is the whole rest of the line after a key or a dash, or is a key.
_IN_BLOCK: Final = (
    re.compile(rb"(?:\A|\n|[:?-] ) *[0-9A-Fa-fxXoO_.:+-]*\Z"),
    re.compile(rb"[0-9A-Fa-fxXoO_.:+-]*(?: *(?:[\n#]|:(?:\s|\Z)|\Z))"),
)
_IN_FLOW: Final = (
    re.compile(rb"(?:\A|[\s\[{,\":])[0-9A-Fa-fxXoO_.:+-]*\Z"),
    re.compile(rb"[0-9A-Fa-fxXoO_.:+-]*(?:[\s\]},:]|\Z)"),
)


def read(data: bytes) -> Any:
    """Return the value of a text with one document, or `REFUSED`."""
    if yamlrocks is None:
        return REFUSED
    text = _plain_text(data)
    if text is None:
        return REFUSED
    try:
        value = yamlrocks.loads(text, option=yamlrocks.OPT_YAML_1_1)
        nodes = _tidy(value)
        # Four events are those of the stream and of the document.
        if nodes == 0 or CParser(text).raw_parse() != nodes + 4:
            return REFUSED
    except (yamlrocks.YAMLRocksError, YAMLError, TypeError, ValueError, RecursionError):
        return REFUSED
    return value


def _plain_text(data: bytes) -> bytes | None:
    """Return the text from its document on; None if it may contain a rare form."""
    unusual = data.translate(None, _USUAL)
    if unusual:
        if unusual.strip(b"\r") or data.count(b"\r\n") != len(unusual):
            return None
        data = data.replace(b"\r\n", b"\n")
    header = _HEADER.match(data)
    if header:
        data = data[header.end() :]
        if b"\n---" in data:
            return None
    if data.startswith((b"---", b"...", b"%", b"|", b">")) or not data.endswith(b"\n"):
        return None
    if not data.isascii() and _ODD_CHARACTER.search(data):
        return None
    outside = b"".join(_outside_blocks(data))
    if (b"<" in outside and b"<<" in outside) or (b"%" in outside and b"\n%" in outside):
        return None
    if b"\\" in outside and b'"' in outside and (b"\\/" in outside or b"\\'" in outside):
        return None
    if (b"!" in outside and _TAG.search(outside)) or (b"&" in outside and _ANCHOR.search(outside)):
        return None
    if _LONG_NUMBER.search(outside):
        return None
    if _has_flow(outside):
        # Text that looks like a block may be in brackets, and so not be a block.
        odd = b"?" in data or _EMPTY_VALUE.search(data) or _has_odd_number(data, _IN_FLOW)
    else:
        odd = _has_odd_number(outside, _IN_BLOCK)
    return None if odd else data


def _has_flow(data: bytes) -> bool:
    """Return whether a collection in brackets may start somewhere."""
    return any(
        _may_begin(data, match.start()) for opener in _OPENERS for match in opener.finditer(data)
    )


def _may_begin(data: bytes, position: int) -> bool:
    """Return whether a value may start here: after a key or a dash, or on the next line."""
    start = data.rfind(b"\n", 0, position) + 1
    before = data[max(start, position - 80) : position].rstrip(b" ")
    if before:
        return before[-1:] in (b":", b"-", b"?")
    while start > 0:
        end = start - 1
        start = data.rfind(b"\n", 0, end) + 1
        above = data[start:end].rstrip(b" ")
        if above:
            return above[-1:] in (b":", b"-", b"?") or b"#" in above
    return True


def _outside_blocks(data: bytes) -> Iterator[bytes]:
    """Yield the text without the contents of block scalars, which have no special meaning."""
    position = 0
    for header in _BLOCK.finditer(data):
        start = header.start()
        if start < position or not _KEY.match(data, data.rfind(b"\n", 0, start) + 1, start):
            continue
        yield data[position : header.start(1)]
        end = _less_indented(len(header.group(1))).search(data, header.end())
        if end is None:
            return
        position = end.start()
    yield data[position:]


_LESS_INDENTED: Final[dict[int, re.Pattern[bytes]]] = {}


def _less_indented(indent: int) -> re.Pattern[bytes]:
    """Return a line with text that is indented by fewer spaces."""
    pattern = _LESS_INDENTED.get(indent)
    if pattern is None:
        pattern = re.compile(rb"^ {0,%d}[^ \n]" % (indent - 1), re.MULTILINE)
        _LESS_INDENTED[indent] = pattern
    return pattern


def _has_odd_number(data: bytes, surroundings: tuple[re.Pattern[bytes], re.Pattern[bytes]]) -> bool:
    before, after = surroundings
    return any(
        after.match(data, match.start())
        and before.search(data[max(match.start() - _LONGEST_NUMBER, 0) : match.start()])
        for part in _NUMBER_PARTS
        for match in part.finditer(data)
    )


def _tidy(value: Any) -> int:
    """Make numbers without a fraction integers, and count events; 0 for what JSON has not."""
    if type(value) is not dict and type(value) is not list:
        return 0
    nodes = 0
    known: set[str] = set()
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for container in level:
            if type(container) is dict:
                nodes += 2 + 2 * len(container)
                for key in container:
                    if key not in known:
                        if type(key) is not str:
                            return 0
                        known.add(key)
                items: Any = container.items()
            else:
                nodes += 2 + len(container)
                items = enumerate(container)
            for key, item in items:
                kind = type(item)
                if kind is str or kind is bool or item is None:
                    continue
                if kind is dict or kind is list:
                    below.append(item)
                elif kind is int:
                    if not -(2**63) <= item < 2**63:
                        return 0
                elif kind is float and math.isfinite(item):
                    container[key] = floats.normal(item)
                else:
                    return 0
        # A collection also counts itself.
        nodes -= len(below)
        if not below:
            return nodes
        level = below
    return 0
