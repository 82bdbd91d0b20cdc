"""Write JSON text byte for byte like Go's `encoding/json`.

Catalogs contain JSON inside JSON (base64 of manifests, values of properties), so the text itself is
compared and hashed, not only its value. Keys are sorted by code point; `<`, `>` and `&` are escaped
where Go does so by default.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from olmkit.base.go import floats

_HTML: Final = ((b"<", b"\\u003c"), (b">", b"\\u003e"), (b"&", b"\\u0026"))
# Go always escapes these two: JavaScript treats them as line ends.
_SEPARATORS: Final = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))
# Ends of numbers that Go writes differently, or similar text inside a string.
_WHOLE: Final = re.compile(rb"\.0(?:[,\]}]|\Z)")
_EXPONENT: Final = re.compile(rb"e[-0-9][0-9]*(?:[,\]}]|\Z)")

_sorted: Final = msgspec.json.Encoder(order="sorted")
_as_is: Final = msgspec.json.Encoder()


def compact(value: Any, *, escape_html: bool = True, sort: bool = True) -> bytes:
    """Return compact JSON, with sorted keys or in the order of the mappings."""
    encoder = _sorted if sort else _as_is
    data = encoder.encode(value)
    if _WHOLE.search(data) or _EXPONENT.search(data):
        data = encoder.encode(_format_floats(value))
    if escape_html:
        for plain, escaped in _HTML:
            if plain in data:
                data = data.replace(plain, escaped)
    return escape_separators(data)


def escape_separators(data: bytes) -> bytes:
    """Escape the two line ends of JavaScript in JSON text, which are valid in strings."""
    if b"\xe2\x80" in data:
        for plain, escaped in _SEPARATORS:
            data = data.replace(plain, escaped)
    return data


def squeeze(text: bytes) -> bytes:
    """Remove the spaces between the tokens of JSON text; tokens are not changed."""
    return msgspec.json.format(text, indent=-1)


def indent(text: bytes, width: int = 4) -> bytes:
    """Indent JSON text with a line for each value; tokens are not changed."""
    return msgspec.json.format(text, indent=width)


def _format_floats(value: Any) -> Any:
    """Return `value` with each float as the text that Go writes for it."""
    if type(value) is float:
        return msgspec.Raw(floats.json_text(value).encode())
    if type(value) is dict:
        return {key: _format_floats(item) for key, item in value.items()}
    if type(value) is list:
        return [_format_floats(item) for item in value]
    return value
