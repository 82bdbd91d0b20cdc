"""Resolve YAML scalars by the rules of Go's yaml.v2, which Kubernetes uses.

They are those of YAML 1.1 with exceptions: dates and base-60 numbers remain strings, `0o17` and
`09` are numbers, and integers beyond 64 bits turn into floats. PyYAML's own resolver differs in
each of these.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import re
from typing import Final

from olmkit.base.go import floats

PREFIX: Final = "tag:yaml.org,2002:"
STR: Final = PREFIX + "str"
BOOL: Final = PREFIX + "bool"
INT: Final = PREFIX + "int"
FLOAT: Final = PREFIX + "float"
NULL: Final = PREFIX + "null"
TIMESTAMP: Final = PREFIX + "timestamp"
BINARY: Final = PREFIX + "binary"
MERGE: Final = PREFIX + "merge"

Scalar = str | int | float | bool | None

# Every plain scalar that is neither a string nor a number.
WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True),
    **dict.fromkeys(("on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
    **dict.fromkeys(("~", "null", "Null", "NULL", ""), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
# Only these can start a word of the table or a number.
_FIRST: Final = frozenset("yYnNtTfFoO~.+-0123456789")
_INTEGER: Final = re.compile(
    r"[+-]?(?:0[bB][01]+|0[oO][0-7]+|0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)", re.ASCII
)
# One more form that Go parses, in its second attempt for binary numbers.
_SIGNED_BINARY: Final = re.compile(r"0b[+-][01]+", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_FRACTION: Final = re.compile(r"\.[0-9]+(?:_[0-9]+)*(?:[eE][-+]?[0-9]+(?:_[0-9]+)*)?", re.ASCII)
_TIMESTAMP: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)"
    r"| (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?)?",
    re.ASCII,
)
_RESOLVABLE: Final = frozenset((STR, BOOL, INT, FLOAT, NULL, TIMESTAMP))


class ScalarError(ValueError):
    """A scalar that is invalid for its tag; the message says why."""


def plain(text: str) -> Scalar:
    """Return the value of an unquoted scalar without a tag."""
    if text and text[0] not in _FIRST:
        return text
    if text in WORDS:
        return WORDS[text]
    first = text[0]
    if first == "." or first in "+-0123456789":
        return _number(text)
    return text


def plain_of_kustomize(text: str) -> Scalar:
    """Return the value of an unquoted scalar by the rules of kustomize's newer parser.

    Only `true` and `false` are booleans, and a date is a timestamp, written in full.
    """
    value = plain(text)
    if isinstance(value, bool) and text.lower() not in ("true", "false"):
        return text
    if isinstance(value, str) and is_timestamp(value):
        return _full_timestamp(value)
    return value


def _full_timestamp(text: str) -> str:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:  # pragma: no cover - the caller has checked
        return text
    year, month, day, *clock = (int(part or 0) for part in match.groups())
    hour, minute, second = (max(a, b) for a, b in zip(clock[:3], clock[3:], strict=True))
    fraction = re.search(r"[.,](\d+)", text)
    digits = fraction[1].rstrip("0") if fraction else ""
    zone = re.search(r"[+-]\d\d:\d\d$", text[10:])
    return (
        f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        + (f".{digits}" if digits else "")
        + (zone[0] if zone else "Z")
    )


def parse_tagged(tag: str | None, text: str) -> Scalar:
    """Return the value of a tagged scalar; an unknown tag leaves the text unchanged.

    Raises `ScalarError` if the text does not have the type of its tag, like `gopkg.in/yaml`.
    """
    if tag is None:
        return plain(text)
    if tag == BINARY:
        return _binary(text)
    if tag == STR or tag not in _RESOLVABLE:
        return text
    if tag == TIMESTAMP and is_timestamp(text):
        return text
    value = plain(text)
    kind = _kind(value)
    if kind == tag:
        return value
    if kind == INT and tag == FLOAT and -(2**63) <= int(value or 0) < 2**63:
        return float(value or 0)
    short = "!!" + tag.removeprefix(PREFIX)
    raise ScalarError(f"cannot decode !!{kind.removeprefix(PREFIX)} `{text}` as a {short}")


def key(value: Scalar) -> str:
    """Return the value of a mapping's key as the string for JSON.

    Raises `ScalarError` for null and for integers beyond 64 bits.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return floats.key_text(value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return str(value)
    raise ScalarError("a null or an integer beyond 64 bits cannot be a key")


def _number(text: str) -> Scalar:
    if text[0] == ".":
        # A leading point is parsed by Go's float parser, which is strict with underscores.
        return _float(text) if _FRACTION.fullmatch(text) else text
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits):
        value = _integer(digits)
        if -(2**63) <= value < 2**63 or (value < 2**64 and digits[0] not in "+-"):
            return value
    if _FLOAT.fullmatch(digits):
        number = _float(digits)
        return text if isinstance(number, str) else number
    if _SIGNED_BINARY.fullmatch(digits) and len(digits) <= 67:
        value = int(digits[2:], 2)
        if -(2**63) <= value < 2**63:
            return value
    return text


def _integer(digits: str) -> int:
    sign = -1 if digits[0] == "-" else 1
    digits = digits.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0":
        letter = digits[1].lower()
        base = {"b": 2, "o": 8, "x": 16}.get(letter, 8)
        digits = digits[2:] if letter in "box" else digits[1:]
        return sign * int(digits, base)
    # Beyond 20 digits no integer fits 64 bits, and Python's own parser is slow or refuses.
    return sign * (int(digits) if len(digits) <= 20 else 2**65)


def _float(text: str) -> float | str:
    value = float(text)
    return text if value in (float("inf"), float("-inf")) else value


def _kind(value: Scalar) -> str:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return INT
    return FLOAT if isinstance(value, float) else STR


def is_timestamp(text: str) -> bool:
    """Return whether Go parses the text as a timestamp (and still keeps it as a string)."""
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        return False
    year, month, day, *clock = (int(part or 0) for part in match.groups())
    hour, minute, second = (max(a, b) for a, b in zip(clock[:3], clock[3:], strict=True))
    try:
        # Go supports the year 0, Python does not; a leap year replaces it.
        datetime.datetime(year or 2000, month, day, hour, minute, second, tzinfo=datetime.UTC)
    except ValueError:
        return False
    return True


def _binary(text: str) -> str:
    try:
        data = base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError):
        raise ScalarError("!!binary value contains invalid base64 data") from None
    # In the conversion through JSON, each byte that is not UTF-8 becomes a replacement character.
    readable = data.decode("utf-8", "surrogateescape")
    return re.sub("[\udc80-\udcff]", "\ufffd", readable)
