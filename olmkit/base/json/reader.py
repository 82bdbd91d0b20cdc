"""Parse JSON text like Go's `encoding/json`.

The fast decoder reads most text. For text that it refuses and Go accepts (bytes that are not UTF-8,
half a surrogate pair), the standard library reads it with these characters replaced. A number
without a fraction is an integer.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from olmkit.base.go import floats
from olmkit.base.json import syntax_errors

MAX_DEPTH: Final = 500

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_TEXT_SPACE: Final = re.compile(r"[ \t\r\n]*")
_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")
# The characters before a number, and the number of digits that make it long.
_BEFORE_NUMBERS: Final = b":[, \t\n\r\f\v"
_LONG: Final = 16
# Lookbehind comes after the literal, which makes the search fast.
_MINUS_ZERO: Final = re.compile(rb"-0(?<=[:\[,\s]-0)(?![0-9.eE])")
# Every digit is replaced by a zero, so that a plain search finds long numbers.
_DIGITS: Final = bytes(48 if 48 <= byte <= 57 else 46 for byte in range(256))


class JsonError(Exception):
    """A syntax error, with its byte offset."""

    def __init__(self, message: str, offset: int | None = None, *, syntax: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.syntax = syntax


def read(data: bytes) -> Any:
    """Return the only value of a text; integers of up to 64 bits stay exact."""
    return _read(data, _exact if _has_big(data) else None)


def read_doubles(data: bytes) -> Any:
    """Return the only value of a text, with each number converted to a double."""
    return _read(data, _doubles if has_odd_numbers(data) else None)


def has_odd_numbers(data: bytes) -> bool:
    """Return whether a number may change if it is converted to a double."""
    return _has_big(data) or _MINUS_ZERO.search(data) is not None or data.startswith(b"-0")


def _has_big(data: bytes) -> bool:
    """Return whether a number, or similar text in a string, starts with many digits."""
    digits = data.translate(_DIGITS)
    found = digits.find(b"0" * _LONG)
    while found >= 0:
        before = found - 1
        if before >= 0 and data[before] == ord("-"):
            before -= 1
        if before < 0 or data[before] in _BEFORE_NUMBERS:
            return True
        end = digits.find(b".", found + _LONG)
        if end < 0:
            return False
        found = digits.find(b"0" * _LONG, end)
    return False


def skip_space(data: bytes | bytearray, start: int) -> int:
    """Return the offset of the first byte from `start` that is not white space."""
    match = _SPACE.match(data, start)
    return match.end() if match else start


def read_stream(data: bytes, start: int, *, doubles: bool = True) -> Iterator[tuple[Any, int, int]]:
    """Yield consecutive values from `start`: value, start and end.

    The slow and exact method, for a stream in which the ends of values are unknown. With `doubles`,
    each number is converted to a double.
    """
    text = data[start:].decode("utf-8", "surrogateescape")
    offset, position = start, 0
    while True:
        begin = _skip_text_space(text, position)
        offset += begin - position
        if begin >= len(text):
            return
        value, position = _next(_doubles if doubles else _exact, text, begin, offset)
        end = offset + _length(text, begin, position)
        yield value, offset, end
        offset = end


def _read(data: bytes, odd: json.JSONDecoder | None) -> Any:
    if odd is None:
        import msgspec  # only JSON needs it, and most input is YAML

        try:
            value = _decoder().decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, RecursionError):
            odd = _exact
        else:
            _check_depth(value, data.count(b"[") + data.count(b"{"))
            return value
    text = data.decode("utf-8", "surrogateescape")
    begin = _skip_text_space(text, 0)
    value, end = _next(odd, text, begin, begin)
    rest = _skip_text_space(text, end)
    if rest < len(text):
        raise JsonError("extra text after the end of the value", _length(text, 0, rest))
    return value


def _next(decoder: json.JSONDecoder, text: str, begin: int, offset: int) -> tuple[Any, int]:
    try:
        value, end = decoder.raw_decode(text, begin)
    except json.JSONDecodeError as error:
        error = syntax_errors.same_on_each_python(error)
        raise JsonError(error.msg, offset + _length(text, begin, error.pos)) from None
    except RecursionError:
        raise JsonError(_too_deep(), offset) from None
    except ValueError as error:
        raise JsonError(str(error), offset, syntax=False) from None
    taken = text[begin:end]
    _check_depth(value, taken.count("[") + taken.count("{"))
    if not taken.isascii() or "\\u" in taken:
        value = _replace_odd(value)
    return value, end


def _check_depth(value: Any, brackets: int) -> None:
    if brackets <= MAX_DEPTH or type(value) not in (dict, list):
        return
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) is dict or type(item) is list
        ]
        if not level:
            return
    raise JsonError(_too_deep())


def _too_deep() -> str:
    return f"nested more than {MAX_DEPTH} levels deep"


def _skip_text_space(text: str, start: int) -> int:
    match = _TEXT_SPACE.match(text, start)
    return match.end() if match else start


def _length(text: str, start: int, end: int) -> int:
    part = text[start:end]
    return len(part) if part.isascii() else len(part.encode("utf-8", "surrogateescape"))


def _replace_odd(value: Any) -> Any:
    if type(value) is str:
        return _HALF_PAIR.sub("\ufffd", value)
    if type(value) is dict:
        return {_replace_odd(key): _replace_odd(item) for key, item in value.items()}
    if type(value) is list:
        return [_replace_odd(item) for item in value]
    return value


def _float(text: str) -> int | float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return floats.normal(value)


def _int_double(text: str) -> int | float:
    if text == "-0":
        return -0.0
    return int(text) if len(text) < 16 else _float(text)


def _int_exact(text: str) -> int | float:
    if len(text) <= 20:
        value = int(text)
        if -(2**63) <= value < 2**64:
            return value
    return _float(text)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"invalid character '{name.lstrip('-')[0]}' looking for beginning of value")


@functools.cache
def _decoder() -> Any:
    import msgspec

    return msgspec.json.Decoder(float_hook=_float)


_doubles: Final = json.JSONDecoder(
    parse_float=_float, parse_int=_int_double, parse_constant=_refuse
)
_exact: Final = json.JSONDecoder(parse_float=_float, parse_int=_int_exact, parse_constant=_refuse)
