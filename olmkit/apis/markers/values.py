"""Parse the values of markers by their declared types.

Tokens are those of Go's scanner, because markers originate from Go comments and are copied between
the languages. Two oddities of the reference are left out: white space before a delimiter does not
remove the word before it, and a bare word may start like an invalid number.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from olmkit.base.json import syntax_errors


class MarkerScalar(Enum):
    """Types of values without parts."""

    STRING = "string"
    INT = "integer"
    NUMBER = "number"
    BOUND = "number as the whole rest"  # Maximum and Minimum have their own parser
    COUNT = "integer as the whole rest"  # so has MaxItems
    BOOL = "bool"
    ANY = "any"
    JSON = "JSON"
    RAW = "text"


@dataclass(frozen=True, slots=True)
class MarkerListOf:
    item: ValueType


@dataclass(frozen=True, slots=True)
class MarkerMapOf:
    value: ValueType


ValueType = MarkerScalar | MarkerListOf | MarkerMapOf


class MarkerError(Exception):
    """A marker that cannot be read; `offset` counts from the `+`'s next character."""

    def __init__(self, message: str, offset: int, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


IDENTIFIER = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(
    r"""0[xX][0-9a-fA-F_]*(?:\.[0-9a-fA-F_]*)?(?:[pP][+-]?[0-9_]*)?
      | 0[bBoO][0-9_]*
      | (?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9_]*)?
    """,
    re.VERBOSE,
)
# The subset of these that are numbers; all others are words, because Go's scanner rejects them.
_DIGITS, _HEX_DIGITS = "[0-9](?:_?[0-9])*", "[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_WELL_FORMED = re.compile(
    rf"""0(?:_?[0-7])* | [1-9](?:_?[0-9])*
      | 0[xX]_?{_HEX_DIGITS} | 0[oO](?:_?[0-7])+ | 0[bB](?:_?[01])+
      | (?:{_DIGITS}\.(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?
      | {_DIGITS}[eE][+-]?{_DIGITS}
      | 0[xX]_?(?:{_HEX_DIGITS}\.?(?:{_HEX_DIGITS})?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}
    """,
    re.VERBOSE,
)
_SPACE = " \t\r\n"
_ENDS = frozenset(",;}")
# Deeper values are an attack, not a marker; each level needs stack frames.
_MAX_DEPTH = 50
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class MarkerToken:
    kind: str  # identifier, integer, number, string, raw, char, end
    text: str
    start: int


class Reader:
    """Reads tokens and values from one marker's text."""

    def __init__(self, text: str, start: int = 0) -> None:
        self.text = text
        self.position = start
        self.depth = 0

    # Tokens

    def skip_space(self) -> None:
        while self.position < len(self.text) and self.text[self.position] in _SPACE:
            self.position += 1

    def peek(self) -> str:
        """Return the next character that is not a space, or an empty string at the end."""
        self.skip_space()
        return self.text[self.position : self.position + 1]

    def token(self) -> MarkerToken:
        self.skip_space()
        start = self.position
        kind, end = self._measure(start)
        self.position = end
        return MarkerToken(kind, self.text[start:end], start)

    def expect(self, char: str, what: str) -> None:
        if self.peek() != char:
            raise MarkerError(f"expected {what}, found {self._found()}", self.position)
        self.position += 1

    def at_end(self) -> bool:
        return self.peek() == ""

    def _found(self) -> str:
        token = self._lookahead().token()
        return f"`{token.text}`" if token.text else "the end"

    def _lookahead(self) -> Reader:
        other = Reader(self.text, self.position)
        other.depth = self.depth
        return other

    def _measure(self, start: int) -> tuple[str, int]:
        text = self.text
        if start >= len(text):
            return "end", start
        char = text[start]
        if char == '"':
            return "string", self._end_of_quoted(start)
        if char == "`":
            end = text.find("`", start + 1)
            if end < 0:
                raise MarkerError(
                    "the backtick is not closed",
                    start,
                    "end it with a backtick; write a text with backticks in double quotes",
                )
            return "raw", end + 1
        if char.isascii() and (char.isdigit() or char == "."):
            match = _NUMBER.match(text, start)
            if match:
                return ("number" if _is_float(match.group()) else "integer"), match.end()
        match = IDENTIFIER.match(text, start)
        if match:
            return "identifier", match.end()
        return "char", start + 1

    def _end_of_quoted(self, start: int) -> int:
        position = start + 1
        while position < len(self.text):
            char = self.text[position]
            if char == "\\":
                position += 2
                continue
            if char == '"':
                return position + 1
            position += 1
        raise MarkerError("the double quote is not closed", start, "end it with a double quote")

    # Values

    def value(self, kind: ValueType, *, in_list: bool = False, in_key: bool = False) -> Any:
        """Parse one value of a declared type."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise MarkerError(
                f"values are nested more than {_MAX_DEPTH} levels deep", self.position
            )
        try:
            match kind:
                case MarkerListOf(item):
                    return self._list(item)
                case MarkerMapOf(item):
                    return self._map(item)
                case MarkerScalar.ANY:
                    return self.value(self._guess(may_be_list=not in_list), in_list=in_list)
                case MarkerScalar.STRING:
                    return self._string(in_key=in_key)
                case _:
                    return _SCALARS[kind](self)
        finally:
            self.depth -= 1

    def _string(self, *, in_key: bool = False) -> str:
        first = self.token()
        if first.kind == "raw":
            return first.text[1:-1]
        if first.kind == "string":
            return unquote(first.text, first.start)
        ends = _ENDS | {":"} if in_key else _ENDS
        end = self.position
        while (char := self.peek()) and char not in ends:
            token = self.token()
            if token.kind == "string":
                unquote(token.text, token.start)  # a quoted part is kept, and must be valid
            end = self.position
        return self.text[first.start : end]

    def _integer(self) -> int:
        sign = "-" if self.text[self.position : self.position + 1] == "-" else ""
        self.position += len(sign)
        token = self.token()
        if token.kind != "integer":
            self._not_a("an integer", token)
        if not token.text.isdigit() or not _WELL_FORMED.fullmatch(token.text):
            raise MarkerError(f"`{token.text}` is not a decimal integer", token.start)
        return _in_int64(int(sign + token.text), token.start)

    def _number(self) -> int | float:
        sign = "-" if self.text[self.position : self.position + 1] == "-" else ""
        self.position += len(sign)
        token = self.token()
        if not _WELL_FORMED.fullmatch(token.text):
            self._not_a("a number", token)
        return parse_float(sign + token.text, token.start)

    def _bool(self) -> bool:
        token = self.token()
        if token.text not in ("true", "false"):
            self._not_a("`true` or `false`", token)
        return token.text == "true"

    def _rest(self) -> str:
        rest = self.text[self.position :]
        self.position = len(self.text)
        return rest

    def _bound(self) -> int | float:
        start = self.position
        return parse_float(self._rest().strip(), start)

    def _count(self) -> int:
        start = self.position
        text = self._rest().strip()
        if re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII) is None:
            raise MarkerError(f"`{text}` is not a decimal integer", start)
        return _in_int64(int(text), start)

    def _json(self) -> Any:
        start = self.position
        text = self._rest()
        if text.strip().startswith("ref("):
            return None  # a reference to a Go constant: accepted, without effect
        try:
            # Numbers are converted to doubles before they are written, regardless of their digits.
            value = json.loads(
                text,
                parse_constant=_no_constant,
                parse_int=parse_float,
                parse_float=parse_float,
            )
        except (ValueError, RecursionError) as error:
            raise MarkerError(
                f"`{text.strip()}` is not JSON: {syntax_errors.describe(error)}",
                start,
                "`+default` takes JSON, `+kubebuilder:default` takes marker values",
            ) from None
        return _with_whole_characters(value) if _SURROGATE.search(text) else value

    def _not_a(self, what: str, token: MarkerToken) -> None:
        found = f"`{token.text}`" if token.text else "the end"
        hint = "write the minus sign without a space before it" if token.text == "-" else ""
        raise MarkerError(f"expected {what}, found {found}", token.start, hint)

    def _list(self, item: ValueType) -> list[Any]:
        found: list[Any] = []
        if self.peek() == "{":
            self.position += 1
            while (char := self.peek()) and char != "}":
                found.append(self.value(item, in_list=True))
                if self.peek() == "}":
                    break
                self.expect(",", "a comma or `}`")
            self.expect("}", "`}`")
            return found
        while (char := self.peek()) and char not in ",}":
            found.append(self.value(item, in_list=True))
            char = self.peek()
            if not char or char in ",}":
                break
            self.expect(";", "`;`")
        return found

    def _map(self, value: ValueType) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.expect("{", "`{`")
        while (char := self.peek()) and char != "}":
            key = self._string(in_key=True)
            self.expect(":", "a colon")
            found[key] = self.value(value)
            if self.peek() == "}":
                break
            self.expect(",", "a comma or `}`")
        self.expect("}", "`}`")
        return found

    def _guess(self, *, may_be_list: bool) -> ValueType:
        """Return the type of an undeclared value by the reference's rules."""
        if may_be_list:
            item = self._guess(may_be_list=False)
            ahead = self._lookahead()
            while True:
                token = ahead.token()
                if token.kind == "end" or token.text == ",":
                    return item
                if token.text == ";":
                    return MarkerListOf(item)
        return self._lookahead()._guess_one()  # noqa: SLF001 - another object of this class

    def _guess_one(self) -> ValueType:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise MarkerError(
                f"values are nested more than {_MAX_DEPTH} levels deep", self.position
            )
        char = self.peek()
        if char in ('"', "'", "`"):
            return MarkerScalar.STRING
        if char == "{":
            self.position += 1
            return self._guess_braces()
        token = self.token()
        if token.kind == "identifier" and token.text in ("true", "false"):
            return MarkerScalar.BOOL
        if token.text == "-":
            token = self.token()
        followed = self.peek()
        if not _WELL_FORMED.fullmatch(token.text) or (followed and followed not in _ENDS):
            return MarkerScalar.STRING
        return MarkerScalar.NUMBER if token.kind == "number" else MarkerScalar.INT

    def _guess_braces(self) -> ValueType:
        if self.peek() == "}":
            return MarkerMapOf(MarkerScalar.ANY)
        first = self._guess(may_be_list=False)
        if first is MarkerScalar.STRING:
            ahead = self._lookahead()
            ahead._string(in_key=True)  # noqa: SLF001 - another object of this class
            if ahead.peek() == ":":
                return MarkerMapOf(MarkerScalar.ANY)
        return MarkerListOf(first)


_SCALARS: Mapping[ValueType, Callable[[Reader], Any]] = {
    MarkerScalar.INT: Reader._integer,  # noqa: SLF001 - the table belongs to the class
    MarkerScalar.NUMBER: Reader._number,  # noqa: SLF001
    MarkerScalar.BOUND: Reader._bound,  # noqa: SLF001
    MarkerScalar.COUNT: Reader._count,  # noqa: SLF001
    MarkerScalar.BOOL: Reader._bool,  # noqa: SLF001
    MarkerScalar.JSON: Reader._json,  # noqa: SLF001
    MarkerScalar.RAW: Reader._rest,  # noqa: SLF001
}


def parse_float(text: str, offset: int = 0) -> int | float:
    """Parse a number like Go parses floats: signs, underscores, hex with an exponent, `Inf`.

    Integers are returned as `int`, rounded like a double. Raises `MarkerError` at `offset` for text
    that is not a number, or for one beyond a double.
    """
    plain = text.replace("_", "") if _WELL_FORMED.fullmatch(text.lstrip("+-")) else text
    try:
        if re.fullmatch(r"[+-]?(?i:inf|infinity)", plain):
            return math.copysign(math.inf, -1.0 if plain.startswith("-") else 1.0)
        if re.fullmatch(r"[+-]?0[xX][0-9a-fA-F.]+[pP][+-]?[0-9]+", plain):
            value = float.fromhex(plain)
        elif re.fullmatch(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", plain):
            value = float(plain)
        else:
            raise ValueError
        if math.isinf(value):
            raise OverflowError
    except (ValueError, OverflowError):
        raise MarkerError(f"`{text}` is not a number", offset) from None
    return as_json_number(value)


def as_json_number(value: float) -> int | float:
    """Return integral doubles below 1e21 as integers, like Go's JSON."""
    if value.is_integer() and abs(value) < 1e21:
        return int(repr(value).split("e")[0].split(".")[0]) if abs(value) < 1e16 else _long(value)
    return value


def _long(value: float) -> int:
    # The shortest digits that result in the same double, padded with zeros: 123456789012345680.
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction.rstrip("0")
    shift = int(exponent or 0) - len(fraction.rstrip("0"))
    return int(digits + "0" * shift)


def _is_float(text: str) -> bool:
    if text[:2] in ("0x", "0X"):
        return "." in text or "p" in text.lower()
    return "." in text or "e" in text.lower()


def _in_int64(value: int, offset: int) -> int:
    if value not in _INT64:
        raise MarkerError(f"`{value}` is not a 64-bit integer", offset)
    return value


def _no_constant(text: str) -> Any:
    raise ValueError(f"`{text}` is not a JSON number")


def _with_whole_characters(value: Any) -> Any:
    """Return a JSON value with unpaired surrogates replaced."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\\"])|x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))"
)


def unquote(text: str, offset: int = 0) -> str:
    """Return the content of a double-quoted literal with Go's escapes.

    `offset` is the start of the literal. Raises `MarkerError` at an escape that Go does not
    support.
    """
    pieces: list[bytes] = []
    last = 1
    for match in _ESCAPE.finditer(text, 1, len(text) - 1):
        pieces.append(text[last : match.start()].encode())
        last = match.end()
        char, two, octal, four, eight, bad = match.groups()
        code = int(four or eight or "0", 16)
        if bad is not None or (octal and int(octal, 8) > 255) or _no_character(code):
            raise MarkerError(
                f"`{match.group()}` is not a valid escape",
                offset + match.start(),
                "put regular expressions into backticks, or double the backslash",
            )
        if char:
            pieces.append(_ESCAPES.get(char, char).encode())
        elif two or octal:
            pieces.append(struct.pack("B", int(two, 16) if two else int(octal, 8)))
        else:
            pieces.append(chr(code).encode())
    pieces.append(text[last:-1].encode())
    return b"".join(pieces).decode("utf-8", "replace")


def _no_character(code: int) -> bool:
    return code > 0x10FFFF or 0xD800 <= code <= 0xDFFF
