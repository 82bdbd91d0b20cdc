"""Find places in simple block YAML by its lines.

Most findings need one place in a file of thousands of lines; building a tree of all its nodes would
be most of the work of a run. Here only the lines of the collections on the path are read. The value
is known, so each step checks that the found keys are the actual keys; for anything except plain
block style (flow, anchors, merges, multi-line text, tabs), the result is `None`, and `yaml_places`
is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

Key = str | int
Place = tuple[int, int, int, int]
"""Line, column, end line, end column, from 0."""

_CONTENT: Final = re.compile(rb"^( *)(?![ #\n])(?=.)", re.MULTILINE)
_KEY: Final = re.compile(
    rb"(?:(?P<plain>[A-Za-z0-9_./$+][-A-Za-z0-9_./$+]*)|\"(?P<double>[^\"\\\n]*)\""
    rb"|'(?P<single>[^'\n]*)'):(?=[ \n])"
)
_ITEM: Final = re.compile(rb"- +(?=[^ #\n])")
_COMMENT: Final = re.compile(rb"[ ]*(?:#[^\n]*)?\n")
# Possessive, because backtracking costs a hundred bytes for each character.
_PLAIN: Final = re.compile(
    rb"(?![\"'&*!|>{}\[\]%@`,?#]|- |-\n|: )(?:[^\n#:]++|(?<! )#|:(?! |\n))*+"
)
_QUOTED: Final = re.compile(rb"\"(?:[^\"\\\n]++|\\.)*+\"|'(?:[^'\n]++|'')*+'")
_BLOCK: Final = re.compile(rb"[|>](?:[-+]|[1-9]|[-+][1-9]|[1-9][-+])?[ ]*(?:#[^\n]*)?\n")
_EMPTY: Final = re.compile(rb"\{\}|\[\]")
_HEAD: Final = re.compile(rb"(?:[ ]*+(?:#[^\n]*+)?\n)*+(?:---[ ]*(?:#[^\n]*)?\n)?")
_MAX_INDENT: Final = 120


class _Unsure(Exception):  # noqa: N818 - not an error: the other way is taken
    """The text is not simple enough."""


class _Entry:
    """An entry of a collection: the places of its key, its value and its end."""

    __slots__ = ("end", "indent", "key", "key_end", "value")

    def __init__(self, key: int, key_end: int, value: int, end: int, indent: int) -> None:
        self.key = key
        self.key_end = key_end
        self.value = value
        self.end = end
        self.indent = indent


class Lines:
    """The text of one document, and the entries found so far."""

    __slots__ = ("_data", "_entries", "_ordinary", "_value")

    def __init__(self, data: bytes, value: Any) -> None:
        self._data = data
        self._value = value
        self._entries: dict[tuple[int, int], dict[Key, _Entry]] = {}
        self._ordinary = (
            isinstance(value, dict | list)
            and data.endswith(b"\n")
            and b"\t" not in data
            and b"\r" not in data
            and b"\n..." not in data
            and not data.startswith((b"\xef\xbb\xbf", b"%"))
        )

    def find(self, keys: tuple[Key, ...], *, of_key: bool) -> Place | None:
        """Return the place of `keys` or its nearest ancestor; `None` if unknown."""
        if not self._ordinary:
            return None
        try:
            return self._find(keys, of_key=of_key)
        except _Unsure:
            return None

    def _find(self, keys: tuple[Key, ...], *, of_key: bool) -> Place:
        head = _HEAD.match(self._data)
        start = head.end() if head else 0
        if self._data.find(b"\n---", max(start - 1, 0)) >= 0:
            raise _Unsure
        value, position, end, indent = self._value, start, len(self._data), -1
        entry = None
        for index, key in enumerate(keys):
            if isinstance(value, list) and isinstance(key, int):
                key = key + len(value) if key < 0 else key
                if not 0 <= key < len(value):
                    break
            elif not isinstance(value, Mapping) or key not in value:
                break
            entry = self._collection(value, position, end, indent)[key]
            value = value[key]
            if of_key and index == len(keys) - 1 and isinstance(key, str):
                return (*self._line(entry.key), *self._line(entry.key_end))
            position, end, indent = entry.value, entry.end, entry.indent
        return self._place(value, position, end, indent)

    def _collection(self, value: Any, position: int, end: int, indent: int) -> dict[Key, _Entry]:
        """Return the entries of a block collection that starts at or after `position`."""
        known = self._entries.get((position, end))
        if known is None:
            first = self._first(position, end)
            if isinstance(value, Mapping):
                known = self._mapping(value, first, end, indent)
            else:
                known = self._sequence(value, first, end, indent)
            self._entries[position, end] = known
        return known

    def _first(self, position: int, end: int) -> int:
        """Return the first character that is neither white space nor in a comment."""
        data = self._data
        if position and data[position - 1 : position] != b"\n":
            while data[position : position + 1] == b" ":
                position += 1
            if data[position : position + 1] not in (b"#", b"\n"):
                return position
        match = _CONTENT.search(data, position, end)
        if match is None:
            raise _Unsure
        return match.end()

    def _column(self, position: int) -> int:
        return position - self._data.rfind(b"\n", 0, position) - 1

    def _mapping(
        self, value: Mapping[str, Any], first: int, end: int, indent: int
    ) -> dict[Key, _Entry]:
        data, column = self._data, self._column(first)
        if column <= indent or column > _MAX_INDENT:
            raise _Unsure
        starts = [first]
        starts += [match.end() for match in _lines_at(column).finditer(data, first, end)]
        matches = []
        for start in starts:
            if data.startswith((b"- ", b"-\n"), start):
                continue  # items below their key, in the same column
            match = _KEY.match(data, start)
            if match is None:
                raise _Unsure
            matches.append(match)
        found: dict[Key, _Entry] = {}
        for index, match in enumerate(matches):
            name = match["plain"] or match["double"] or match["single"] or b""
            stop = matches[index + 1].start() if index + 1 < len(matches) else end
            stop = data.rfind(b"\n", 0, stop) + 1 if stop != end else end
            found[name.decode()] = _Entry(match.start(), match.end() - 1, match.end(), stop, column)
        if len(matches) != len(found) or found.keys() != value.keys():
            raise _Unsure
        return found

    def _sequence(self, value: list[Any], first: int, end: int, indent: int) -> dict[Key, _Entry]:
        data, column = self._data, self._column(first)
        if column < indent or column > _MAX_INDENT:
            raise _Unsure
        starts = [first]
        starts += [match.end() for match in _lines_at(column).finditer(data, first, end)]
        if len(starts) != len(value):
            raise _Unsure
        found: dict[Key, _Entry] = {}
        for index, start in enumerate(starts):
            match = _ITEM.match(data, start)
            if match is None:
                raise _Unsure
            stop = end
            if index + 1 < len(starts):
                stop = data.rfind(b"\n", 0, starts[index + 1]) + 1
            found[index] = _Entry(start, start + 1, match.end(), stop, column)
        return found

    def _place(self, value: Any, position: int, end: int, indent: int) -> Place:
        first = self._first(position, end)
        if isinstance(value, Mapping | list) and value:
            if self._data[first : first + 1] in (b"{", b"["):
                raise _Unsure
            return (*self._line(first), *self._end(value, position, end, indent))
        return (*self._line(first), *self._line(self._scalar_end(value, first, end, indent)))

    def _end(self, value: Any, position: int, end: int, indent: int) -> tuple[int, int]:
        """Return the end of a block collection, which is that of its last entry."""
        while isinstance(value, Mapping | list) and value:
            last = next(reversed(value)) if isinstance(value, Mapping) else len(value) - 1
            entry = self._collection(value, position, end, indent)[last]
            if entry is not max(self._entries[position, end].values(), key=lambda other: other.key):
                raise _Unsure
            value = value[last]
            position, end, indent = entry.value, entry.end, entry.indent
        first = self._first(position, end)
        return self._line(self._scalar_end(value, first, end, indent))

    def _scalar_end(self, value: Any, first: int, end: int, indent: int) -> int:
        data = self._data
        block = _BLOCK.match(data, first, end)
        if block is not None and isinstance(value, str):
            return self._block_end(block.end(), end, indent)
        if isinstance(value, Mapping | list):
            match = _EMPTY.match(data, first, end)
        else:
            match = _QUOTED.match(data, first, end) or _PLAIN.match(data, first, end)
        if match is None or match.end() == first:
            raise _Unsure
        stop = first + len(match.group().rstrip(b" "))
        if data[first : first + 1] not in (b'"', b"'"):
            stop = first + len(data[first : match.end()].rstrip(b" "))
        rest = _COMMENT.match(data, match.end(), end)
        if rest is None or _CONTENT.search(data, rest.end(), end) is not None:
            raise _Unsure
        return stop

    def _block_end(self, position: int, end: int, indent: int) -> int:
        """Return the start of the first line that is neither blank nor part of a block scalar."""
        data = self._data
        while position < end:
            line_end = data.find(b"\n", position) + 1
            line = data[position : line_end - 1]
            bare = line.lstrip(b" ")
            if bare and len(line) - len(bare) <= indent:
                break
            position = line_end
        return position

    def _line(self, position: int) -> tuple[int, int]:
        data = self._data
        start = data.rfind(b"\n", 0, position) + 1
        return data.count(b"\n", 0, start), len(data[start:position].decode("utf-8", "replace"))


_AT: Final[dict[int, re.Pattern[bytes]]] = {}


def _lines_at(column: int) -> re.Pattern[bytes]:
    """Return the text at exactly this column at the start of a line, without comments."""
    pattern = _AT.get(column)
    if pattern is None:
        pattern = _AT[column] = re.compile(rb"\n {%d}(?=[^ #\n])" % column)
    return pattern
