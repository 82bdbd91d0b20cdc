"""Parse CEL literals.

Numbers have 64 bits; strings may be raw or bytes, with one quote or three, and have their own
escapes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final


class Uint(int):
    """A number of the type `uint`; a plain `int` is CEL's `int`."""


MIN_INT: Final = -(2**63)
MAX_INT: Final = 2**63 - 1
MAX_UINT: Final = 2**64 - 1

_SIMPLE: Final = {
    **dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)),
    **{sign: sign for sign in "\\'\"`?"},
}
_ESCAPE = re.compile(
    r"""\\(?:(?P<simple>[abfnrtv\\'"`?])|[xX](?P<hex>[0-9A-Fa-f]{2})|(?P<octal>[0-3][0-7]{2})
    |u(?P<short>[0-9A-Fa-f]{4})|U(?P<long>[0-9A-Fa-f]{8})|(?P<bad>.|$))""",
    re.VERBOSE | re.DOTALL,
)


def number(kind: str, text: str) -> int | float:
    """Return the number of a token, or raise `ValueError` if it is out of range."""
    if kind == "float":
        value = float(text)
        if math.isinf(value):
            raise ValueError("invalid double literal")
        return value
    digits = text.rstrip("uU")
    if len(digits) > 80:  # Python does not parse thousands of digits
        raise ValueError(f"invalid {kind} literal")
    whole = int(digits, 16 if "0x" in digits else 10)
    if kind == "uint" and whole <= MAX_UINT:
        return Uint(whole)
    if kind == "int" and MIN_INT <= whole <= MAX_INT:
        return whole
    raise ValueError(f"invalid {kind} literal")


def string(text: str) -> str | bytes:
    """Return the value of a string with its prefix and quotes; `ValueError` for a bad escape."""
    prefix = re.split("['\"]", text, maxsplit=1)[0].lower()
    body = text[len(prefix) :]
    width = 3 if len(body) >= 6 and body.startswith(("'''", '"""')) else 1
    body = body[width:-width].replace("\r\n", "\n").replace("\r", "\n")
    if "b" in prefix:
        if "r" in prefix:
            return body.encode("utf-8", "replace")
        parts = _unescape(body, lambda code: bytes([code]))
        return b"".join(part if isinstance(part, bytes) else _encode(part) for part in parts)
    return body if "r" in prefix else "".join(_unescape(body, chr))


def _unescape(body: str, of_code: Callable[[int], Any]) -> list[Any]:
    r"""Yield the parts of a string; `of_code` converts the number of a `\x41` or `\101`."""
    parts: list[Any] = []
    position = 0
    for match in _ESCAPE.finditer(body):
        parts.append(body[position : match.start()])
        position = match.end()
        kind, digits = match.lastgroup, match.group(match.lastgroup or 0)
        if kind == "simple":
            parts.append(_SIMPLE[digits])
        elif kind in ("hex", "octal"):
            parts.append(of_code(int(digits, 16 if kind == "hex" else 8)))
        elif kind in ("short", "long") and of_code is chr and _is_character(int(digits, 16)):
            parts.append(chr(int(digits, 16)))
        else:
            raise ValueError("invalid escape in a string")
    parts.append(body[position:])
    return parts


def _is_character(code: int) -> bool:
    return code <= 0x10FFFF and not 0xD800 <= code < 0xE000


def _encode(part: str) -> bytes:
    return part.encode("utf-8", "replace")
