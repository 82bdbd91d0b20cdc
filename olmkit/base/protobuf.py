"""The wire format of protocol buffers, for messages of strings.

The registry API consists of strings and messages of strings, so a message is a concatenation of
(tag, length, bytes), in any order. With this module, responses can be composed from stored pieces
without decoding them, and the server does not need the protobuf library.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10  # 64 bits in groups of seven


def varint(value: int) -> bytes:
    """Return an unsigned number, seven bits per byte, lowest first."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def head(number: int, length: int) -> bytes:
    """Return the header of field `number` with `length` bytes."""
    return varint(number << 3 | _BYTES) + varint(length)


def message(number: int, data: bytes) -> bytes:
    """Return a field with an encoded message or text; present even if empty."""
    return head(number, len(data)) + data


def string(number: int, text: str) -> bytes:
    """Return a string field; absent if empty, as in proto3."""
    if not text:
        return b""
    data = utf8(text)
    return head(number, len(data)) + data


def enum(number: int, value: int) -> bytes:
    """Return a number field; absent if zero."""
    return varint(number << 3 | _VARINT) + varint(value) if value else b""


def utf8(text: str) -> bytes:
    """Return UTF-8, with the replacement character for lone surrogates."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def struct_message(value: dict[str, Any]) -> bytes:
    """Return a `google.protobuf.Struct`; keys are sorted, so that equal values have equal bytes."""
    return b"".join(
        message(1, string(1, key) + message(2, _struct_value(item)))
        for key, item in sorted(value.items())
    )


def _struct_value(value: Any) -> bytes:
    # Each kind is one alternative of a oneof: it is written even if it is zero or empty.
    match value:
        case None:
            return b"\x08\x00"
        case bool():
            return b"\x20" + varint(value)
        case int() | float():
            return b"\x11" + struct.pack("<d", value)
        case str():
            return message(3, utf8(value))
        case dict():
            return message(5, struct_message(value))
        case list():
            return message(6, b"".join(message(1, _struct_value(item)) for item in value))
        case _:
            raise TypeError(f"a {type(value).__name__} is not a JSON value")


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field, in order; `ValueError` if `data` is not a message."""
    at = 0
    end = len(data)
    while at < end:
        tag, at = _varint_at(data, at)
        number, kind = tag >> 3, tag & 7
        if not number:
            raise ValueError("a field has number 0")
        if kind == _VARINT:
            value, at = _varint_at(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            length, at = _varint_at(data, at)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError(f"field {number} has the unknown kind {kind}")
        if length > end - at:
            raise ValueError(f"field {number} is cut off")
        yield number, data[at : at + length]
        at += length


def strings(data: bytes, count: int) -> list[str]:
    """Return the string fields 1 to `count` of a message; absent ones are empty, the last one wins.

    Raises `ValueError` if `data` is not such a message.
    """
    found = [""] * count
    for number, value in fields(data):
        if number <= count:
            if not isinstance(value, bytes):
                raise ValueError(f"field {number} is not text")
            found[number - 1] = value.decode()
    return found


def _varint_at(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(_MAX_VARINT_BYTES):
        if at >= len(data):
            raise ValueError("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value, at
    raise ValueError(f"a number has more than {_MAX_VARINT_BYTES} bytes")
