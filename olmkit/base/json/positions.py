"""The positions of values in JSON text, and of syntax errors.

The text is read token by token, only if a place is requested or the text is invalid: the messages
are those of Go's `encoding/json`, which people search for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from olmkit.base.json.reader import MAX_DEPTH, JsonError
from olmkit.base.yaml.positions import YamlNode

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
# Possessive, because backtracking costs a hundred bytes for each character.
_STRING: Final = re.compile(rb'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_STRING_START: Final = re.compile(rb'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NUMBER_START: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: Final = (b"true", b"false", b"null")


def compose(data: bytes, start: int = 0) -> YamlNode:
    """Return the places of the JSON value at `start`, as if the text started there.

    Raises `JsonError` with the offset of the first invalid byte.
    """
    return _Scanner(data, start).value()


def explain(data: bytes, start: int = 0) -> JsonError | None:
    """Return the error in the JSON value that starts at `start`; None if it is valid."""
    try:
        compose(data, start)
    except JsonError as error:
        return error
    return None


@dataclass(slots=True)
class _Open:
    """A collection that is being read; `key` is the key of the next value."""

    node: YamlNode
    kind: Literal["object", "array"]
    key: tuple[str, YamlNode] | None = None


class _Scanner:
    def __init__(self, data: bytes, start: int) -> None:
        self._data = data
        self._position = start
        self._line = 0
        self._line_start = start
        self._ascii = data.isascii()

    def value(self) -> YamlNode:
        """Return the first value; anything after it is ignored."""
        stack: list[_Open] = []
        while True:
            self._skip()
            node, opened = self._begin(stack)
            if opened is not None:
                stack.append(opened)
                self._skip()
                if self._peek() != (b"}" if opened.kind == "object" else b"]"):
                    if opened.kind == "object":
                        self._key(opened)
                    continue
            elif not stack:
                return node
            # A value has ended: continue in the enclosing collections, as far as brackets close.
            while stack:
                if opened is None:
                    self._add(stack[-1], node)
                opened = None
                if not self._closes(stack[-1]):
                    break
                node = stack.pop().node
                self._end(node)
            else:
                return node

    def _begin(self, stack: list[_Open]) -> tuple[YamlNode, _Open | None]:
        char = self._peek()
        node = YamlNode(line=self._line, column=self._column())
        if char in (b"{", b"["):
            if len(stack) >= MAX_DEPTH:
                raise JsonError(f"nested more than {MAX_DEPTH} levels deep", self._position)
            self._position += 1
            return node, _Open(node, "object" if char == b"{" else "array")
        if char == b'"':
            self._string()
        elif char in (b"t", b"f", b"n"):
            self._literal()
        elif char and char in b"-0123456789":
            self._number()
        else:
            raise self._unexpected("looking for beginning of value")
        self._end(node)
        return node, None

    def _add(self, opened: _Open, node: YamlNode) -> None:
        entries = opened.node.entries
        if opened.key is None:
            entries[len(entries)] = (node, node)
            return
        name, key = opened.key
        if name in entries:
            opened.node.twice.append((name, entries[name][0], key))
        entries[name] = (key, node)

    def _closes(self, opened: _Open) -> bool:
        """Read up to the next entry, or past the closing bracket."""
        self._skip()
        char = self._peek()
        if char == (b"}" if opened.kind == "object" else b"]"):
            self._position += 1
            return True
        if char != b",":
            raise self._unexpected(
                "after object key:value pair" if opened.kind == "object" else "after array element"
            )
        self._position += 1
        if opened.kind == "object":
            self._skip()
            self._key(opened)
        return False

    def _key(self, opened: _Open) -> None:
        if self._peek() != b'"':
            raise self._unexpected("looking for beginning of object key string")
        node = YamlNode(line=self._line, column=self._column())
        start = self._position
        self._string()
        self._end(node)
        name = _unescape(self._data[start + 1 : self._position - 1])
        self._skip()
        if self._peek() != b":":
            raise self._unexpected("after object key")
        self._position += 1
        opened.key = (name, node)

    def _string(self) -> None:
        match = _STRING.match(self._data, self._position)
        if match:
            self._position = match.end()
            return
        start = _STRING_START.match(self._data, self._position)
        self._position = start.end() if start else self._position
        if self._peek() == b"\\":
            self._position += 1
            if self._peek() == b"u":
                self._position += 1
                while self._peek() and self._peek() in b"0123456789abcdefABCDEF":
                    self._position += 1
                raise self._unexpected("in \\u hexadecimal character escape")
            raise self._unexpected("in string escape code")
        raise self._unexpected("in string literal")

    def _number(self) -> None:
        match = _NUMBER.match(self._data, self._position)
        start = _NUMBER_START.match(self._data, self._position)
        if match and start and match.end() == start.end():
            self._position = match.end()
            return
        self._position = start.end() if start else self._position
        before = self._data[self._position - 1 : self._position]
        if before == b".":
            raise self._unexpected("after decimal point in numeric literal")
        if before in (b"e", b"E", b"+") or (before == b"-" and match):
            raise self._unexpected("in exponent of numeric literal")
        raise self._unexpected("in numeric literal")

    def _literal(self) -> None:
        word = next(one for one in _LITERALS if one[:1] == self._peek())
        for index, char in enumerate(word):
            if self._peek() != bytes((char,)):
                name = word.decode()
                raise self._unexpected(f"in literal {name} (expecting '{name[index]}')")
            self._position += 1

    def _end(self, node: YamlNode) -> None:
        node.end_line, node.end_column = self._line, self._column()

    def _peek(self) -> bytes:
        return self._data[self._position : self._position + 1]

    def _skip(self) -> None:
        match = _SPACE.match(self._data, self._position)
        end = match.end() if match else self._position
        breaks = self._data.count(b"\n", self._position, end)
        if breaks:
            self._line += breaks
            self._line_start = self._data.rindex(b"\n", self._position, end) + 1
        self._position = end

    def _column(self) -> int:
        if self._ascii:
            return self._position - self._line_start
        return len(self._data[self._line_start : self._position].decode("utf-8", "replace"))

    def _unexpected(self, where: str) -> JsonError:
        char = self._peek()
        if not char:
            return JsonError("unexpected EOF", self._position)
        return JsonError(f"invalid character {_quote(char[0])} {where}", self._position)


def _quote(code: int) -> str:
    char = chr(code)
    if char == "'":
        return r"'\''"
    if char in "\n\r\t":
        return {"\n": r"'\n'", "\r": r"'\r'", "\t": r"'\t'"}[char]
    return f"'{char}'" if char.isprintable() else f"'\\x{code:02x}'"


def _unescape(text: bytes) -> str:
    name = text.decode("utf-8", "replace")
    if "\\" not in name:
        return name
    name = _ESCAPE.sub(
        lambda match: (
            chr(int(match.group(1), 16))
            if match.group(1)
            else _ESCAPED.get(match.group(2), match.group(2))
        ),
        name,
    )
    return name.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
