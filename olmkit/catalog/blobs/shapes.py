"""Fixed shapes of JSON objects, read and written as Go's `encoding/json` does with structs.

Keys match case-insensitively, unknown ones are dropped, `null` does not change a field, and the
first value of a wrong type is the error. Catalogs are compared byte by byte with the output of the
reference, so all of these details matter.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from olmkit.base.go import floats


class ShapeError(Exception):
    """A value that does not fit its shape; the message is Go's, `keys` is the path to it."""

    def __init__(self, message: str, keys: tuple[str | int, ...]) -> None:
        super().__init__(message)
        self.message = message
        self.keys = keys


class Absent:
    """Marks a missing field, since `null` is a value."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()


class _Simple:
    """A shape without parts. `go` is the name of its type in Go's messages.

    Plain classes, here and below: every catalog command loads them, and a dataclass takes ten times
    as long to create.
    """

    __slots__ = ("go",)
    usual: ClassVar[str] = ""

    def __init__(self, go: str = "") -> None:
        self.go = go or self.usual


class Text(_Simple):
    """A string; empty if absent."""

    __slots__ = ()
    usual = "string"


class AnyValue(_Simple):
    """Any JSON value, unchanged."""

    __slots__ = ()
    usual = "json.RawMessage"


class Bytes(_Simple):
    """Base64 text in its canonical form."""

    __slots__ = ()
    usual = "[]uint8"


class Truth(_Simple):
    """A boolean; False if absent."""

    __slots__ = ()
    usual = "bool"


class TextMap(_Simple):
    """A map of strings; None if absent."""

    __slots__ = ()
    usual = "map[string]string"


class Whole:
    """A signed integer with the given number of bits; 0 if absent."""

    __slots__ = ("bits", "go")

    def __init__(self, go: str, bits: int) -> None:
        self.go = go
        self.bits = bits


class ListOf:
    """A list of one shape; None if absent."""

    __slots__ = ("go", "item")

    def __init__(self, item: Shape, go: str) -> None:
        self.item = item
        self.go = go


class Field:
    """One field of an object; `omit` leaves an empty field out of the text."""

    __slots__ = ("name", "omit", "shape")

    def __init__(self, name: str, shape: Shape, *, omit: bool = False) -> None:
        self.name = name
        self.shape = shape
        self.omit = omit


@dataclass(frozen=True, slots=True, kw_only=True)
class Object:
    """An object with known fields, in the order in which they are written.

    An `optional` object is None if absent.
    """

    go: str
    fields: tuple[Field, ...]
    optional: bool = False
    folded: Mapping[str, Field] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", {fold(each.name): each for each in self.fields})


_TEXT: Final = Text()
Shape = Text | AnyValue | Bytes | Truth | Whole | TextMap | ListOf | Object


def fold(name: str) -> str:
    """Return the form in which Go compares field names: simple case folding."""
    if name.isascii():
        return name.lower()
    # The only non-ASCII letters that fold to ASCII letters: the Kelvin sign and the long s.
    return name.replace("\u212a", "k").replace("\u017f", "s").lower()


def read(shape: Object, value: Any) -> dict[str, Any]:
    """Return all fields of `value`, including empty ones. Raises `ShapeError`."""
    reader = _Reader()
    result = reader.value(shape, value, ABSENT, ())
    if reader.error is not None:
        raise reader.error
    assert isinstance(result, dict)  # noqa: S101 - an object that is not optional
    return result


def dump(
    shape: Object, state: Mapping[str, Any], *, anything: Callable[[Any], Any] | None = None
) -> dict[str, Any]:
    """Return the written form of the fields from `read`: in order, without empty ones.

    `anything` converts a value without a known shape to its written form.
    """
    result: dict[str, Any] = {}
    for each in shape.fields:
        value = state[each.name]
        if each.omit and (value is None or value in ("", [])):
            continue
        result[each.name] = _dump(each.shape, value, anything)
    return result


def _dump(shape: Shape, value: Any, anything: Callable[[Any], Any] | None) -> Any:
    match shape:
        case Object() if value is not None:
            return dump(shape, value, anything=anything)
        case ListOf() if value is not None:
            return [_dump(shape.item, item, anything) for item in value]
        case AnyValue():
            value = None if value is ABSENT else value
            return anything(value) if anything else value
        case _:
            return value


def unknown(shape: Shape, value: Any) -> Iterator[tuple[str | int, ...]]:
    """Return the paths of the fields of `value` that are not in its shape."""
    match shape, value:
        case Object(), dict():
            for key, item in value.items():
                each = shape.folded.get(fold(key))
                if each is None:
                    yield (key,)
                else:
                    yield from ((key, *way) for way in unknown(each.shape, item))
        case ListOf(), list():
            for index, item in enumerate(value):
                yield from ((index, *way) for way in unknown(shape.item, item))
        case _:
            pass


def restore(shape: Shape, value: Any, made: Any) -> Any:
    """Return the written form of `value`, with unknown fields last."""
    match shape, value, made:
        case Object(), dict(), dict():
            result = dict(made)
            for key in sorted(value):
                each = shape.folded.get(fold(key))
                if each is None:
                    result[key] = value[key]
                elif each.name in result:
                    result[each.name] = restore(each.shape, value[key], result[each.name])
            return result
        case ListOf(), list(), list():
            return [restore(shape.item, *pair) for pair in zip(value, made, strict=True)]
        case _:
            return made


def _empty(shape: Shape) -> Any:
    match shape:
        case Text():
            return ""
        case AnyValue():
            return ABSENT
        case Truth():
            return False
        case Whole():
            return 0
        case Object() if not shape.optional:
            return {each.name: _empty(each.shape) for each in shape.fields}
        case _:
            return None


class _Reader:
    """Continues after an invalid value and keeps the first error, like Go."""

    def __init__(self) -> None:
        self.error: ShapeError | None = None
        self._structs: list[str] = []
        self._names: list[str] = []

    def value(self, shape: Shape, value: Any, old: Any, keys: tuple[str | int, ...]) -> Any:
        if old is ABSENT:
            old = _empty(shape)
        match shape:
            case AnyValue():
                return value
            case _ if value is None:
                return (
                    None
                    if isinstance(shape, Bytes | TextMap | ListOf)
                    or (isinstance(shape, Object) and shape.optional)
                    else old
                )
            case Text():
                return value if isinstance(value, str) else self._wrong(shape, value, old, keys)
            case Truth():
                return value if isinstance(value, bool) else self._wrong(shape, value, old, keys)
            case Whole():
                return self._read_integer(shape, value, old, keys)
            case TextMap():
                if not isinstance(value, dict):
                    return self._wrong(shape, value, old, keys)
                return {
                    key: self.value(_TEXT, value[key], ABSENT, (*keys, key))
                    for key in sorted(value)
                }
            case Bytes():
                return self._bytes(shape, value, old, keys)
            case ListOf():
                if not isinstance(value, list):
                    return self._wrong(shape, value, old, keys)
                return [
                    self.value(shape.item, item, ABSENT, (*keys, index))
                    for index, item in enumerate(value)
                ]
            case Object():
                if not isinstance(value, dict):
                    return self._wrong(shape, value, old, keys)
                return self._object(shape, value, old, keys)

    def _object(
        self, shape: Object, value: dict[str, Any], old: Any, keys: tuple[str | int, ...]
    ) -> dict[str, Any]:
        state: dict[str, Any] = old if old is not None else _empty_fields(shape)
        self._structs.append(shape.go.rpartition(".")[2])
        # Keys are in code point order, because the blob was written in that order before it is read
        # here.
        for key in sorted(value):
            each = shape.folded.get(fold(key))
            if each is None:
                continue
            self._names.append(each.name)
            state[each.name] = self.value(each.shape, value[key], state[each.name], (*keys, key))
            self._names.pop()
        self._structs.pop()
        return state

    def _bytes(self, shape: Bytes, value: Any, old: Any, keys: tuple[str | int, ...]) -> Any:
        if not isinstance(value, str):
            return self._wrong(shape, value, old, keys)
        data = decode_base64(value)
        if isinstance(data, int):
            self._keep(ShapeError(f"illegal base64 data at input byte {data}", keys))
            return old
        return base64.b64encode(data).decode()

    def _read_integer(self, shape: Whole, value: Any, old: Any, keys: tuple[str | int, ...]) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            if -(2 ** (shape.bits - 1)) <= value < 2 ** (shape.bits - 1):
                return value
        elif not isinstance(value, float):
            return self._wrong(shape, value, old, keys)
        text = str(value) if isinstance(value, int) else floats.json_text(value)
        return self._wrong(shape, value, old, keys, text=f" {text}")

    def _wrong(
        self, shape: Shape, value: Any, old: Any, keys: tuple[str | int, ...], *, text: str = ""
    ) -> Any:
        into = f"value of type {shape.go}"
        if self._structs:
            into = f"struct field {self._structs[-1]}.{'.'.join(self._names)} of type {shape.go}"
        self._keep(ShapeError(f"json: cannot unmarshal {kind(value)}{text} into Go {into}", keys))
        return old

    def _keep(self, error: ShapeError) -> None:
        if self.error is None:
            self.error = error


def _empty_fields(shape: Object) -> dict[str, Any]:
    return {each.name: _empty(each.shape) for each in shape.fields}


def kind(value: Any) -> str:
    """Return Go's name for the type of a JSON value."""
    if value is None:
        return "null"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "object"
    return "number"


_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def decode_base64(text: str) -> bytes | int:
    """Return the bytes, or the offset of the first byte that Go's decoder refuses."""
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        pass
    # Line breaks are skipped everywhere, but the offset counts them.
    data = text.encode()
    try:
        return base64.b64decode(data.translate(None, b"\r\n"), validate=True)
    except binascii.Error:
        return _first_illegal(data)


def _first_illegal(data: bytes) -> int:
    digits = 0
    position = 0
    while position < len(data):
        byte = data[position]
        if byte in _BASE64:
            digits = (digits + 1) % 4
        elif byte not in b"\r\n":
            if byte != ord("=") or digits < 2:
                return position
            end = _skip_breaks(data, position + 1)
            if digits == 3:
                return end
            # A further byte is needed: the position where it is missing, or the excess after it.
            if data[end : end + 1] == b"=":
                return _skip_breaks(data, end + 1)
            return end if end == len(data) else end - 1
        position += 1
    # The last group is incomplete; Go counts back from the end, including line breaks.
    return len(data) - digits


def _skip_breaks(data: bytes, position: int) -> int:
    while data[position : position + 1] in (b"\r", b"\n"):
        position += 1
    return position
