"""Floating-point numbers as text, in the two forms of Go's libraries.

Catalogs and manifests are compared byte by byte, so a number must be written like in Go tools: the
shortest digits that read back to the same value, with the exponent where Go's `encoding/json` or
`yaml.v2` puts one.
"""

from __future__ import annotations

import math
import struct
from typing import Final

# Up to this number, a double represents every integer.
EXACT: Final = 2**53


def normal(value: float) -> int | float:
    """Return the number that JSON text has for a double: one without a fraction is an integer.

    So `1.0` becomes 1, as in Go's `encoding/json`. A number with an exponent remains a float, and
    so does `-0`.
    """
    if value.is_integer() and abs(value) < 1e21 and (value or math.copysign(1, value) > 0):
        return int(value) if abs(value) <= EXACT else int(json_text(value))
    return value


def json_text(value: float) -> str:
    """Format like `encoding/json`: an exponent below 1e-6 and from 1e21; `-0` stays `-0`."""
    negative, digits, point = _shortest(repr(value))
    if value != 0 and (point < -5 or point > 21):
        return negative + _exponent_form(digits, point, width=1)
    return negative + _plain_form(digits, point)


def yaml_text(value: float) -> str:
    """Format like `yaml.v2`: an exponent below 1e-4 and from 1e6."""
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    return _general_form(repr(value))


def key_text(value: float) -> str:
    """Format a number as a JSON key converted from YAML: rounded to 32 bits."""
    try:
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        single = math.copysign(math.inf, value)
    if math.isnan(single) or math.isinf(single):
        return yaml_text(single)
    for precision in range(1, 10):
        text = f"{single:.{precision - 1}e}"
        if struct.pack("f", float(text)) == struct.pack("f", single):
            break
    else:  # pragma: no cover - nine digits always suffice for 32 bits
        text = repr(single)
    return _general_form(text)


def _general_form(text: str) -> str:
    negative, digits, point = _shortest(text)
    if digits != "0" and (point < -3 or point > 6):
        return negative + _exponent_form(digits, point, width=2)
    return negative + _plain_form(digits, point)


def _shortest(text: str) -> tuple[str, str, int]:
    """Return sign, digits without outer zeros, and the position of the point."""
    negative = ""
    if text[0] == "-":
        negative, text = "-", text[1:]
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    point = len(whole) + (int(exponent) if exponent else 0)
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    stripped = stripped.rstrip("0")
    if not stripped:
        return negative, "0", 1
    return negative, stripped, point


def _plain_form(digits: str, point: int) -> str:
    if point <= 0:
        return "0." + "0" * -point + digits
    if point >= len(digits):
        return digits + "0" * (point - len(digits))
    return digits[:point] + "." + digits[point:]


def _exponent_form(digits: str, point: int, *, width: int) -> str:
    exponent = point - 1
    sign = "-" if exponent < 0 else "+"
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{mantissa}e{sign}{abs(exponent):0{width}d}"
