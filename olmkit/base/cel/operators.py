"""The operators and functions of CEL.

The types of the operands select the overload, and nothing is converted: `1 + 1.0` has no overload,
as in the reference.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from olmkit.base.cel import values
from olmkit.base.cel.literals import MAX_INT, MAX_UINT, MIN_INT, Uint
from olmkit.base.cel.times import Duration, Timestamp
from olmkit.base.cel.values import Budget, EvaluationError, compare, equal, no_overload
from olmkit.base.go import floats
from olmkit.base.go import matching as go_matching

_INT_TEXT = re.compile(r"[+-]?[0-9]{1,80}")
_UINT_TEXT = re.compile(r"[0-9]{1,80}")
_HEX_FLOAT = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_BOOL_TEXTS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def apply(function: str, operands: list[Any], budget: Budget) -> Any:
    """Evaluate a standard function, or raise `EvaluationError`."""
    budget.spend(sum(map(_weight, operands)))
    general = _GENERAL.get(function)
    if general is not None:
        return general(*operands, budget)
    overload = _OVERLOADS.get(function, {}).get(tuple(map(type, operands)))
    if overload is None:
        raise no_overload(function, *operands)
    try:
        result = overload(*operands)
    except (ValueError, OverflowError) as error:
        raise EvaluationError(str(error)) from None
    budget.spend(_weight(result))
    return result


def text_of(value: Any) -> str:
    """Return the result of `string(value)`, or raise `EvaluationError`."""
    overload = _OVERLOADS["string"].get((type(value),))
    if overload is None:
        raise no_overload("string", value)
    return str(overload(value))


def _weight(value: Any) -> int:
    """Return the steps that reading or creating a value costs."""
    if isinstance(value, (str, bytes)):
        return len(value) // 16
    return len(value) if type(value) is list else 0


# Arithmetic


def _int(value: int) -> int:
    if MIN_INT <= value <= MAX_INT:
        return int(value)
    raise EvaluationError("integer overflow")


def _uint(value: int) -> Uint:
    if 0 <= value <= MAX_UINT:
        return Uint(value)
    raise EvaluationError("unsigned integer overflow")


def _quotient(left: int, right: int) -> int:
    """Divide, rounding towards zero."""
    if right == 0:
        raise EvaluationError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    """Return the remainder, with the sign of the dividend."""
    if right == 0:
        raise EvaluationError("modulus by zero")
    _int(_quotient(left, right)) if type(left) is int else None
    return left - right * _quotient(left, right)


def _ratio(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _whole_numbers(function: Callable[[int, int], int]) -> dict[tuple[type, ...], Any]:
    """Return the overloads of an operator for the two integer types."""
    return {
        (int, int): lambda left, right: _int(function(left, right)),
        (Uint, Uint): lambda left, right: _uint(function(int(left), int(right))),
    }


def _add_duration(time: Timestamp, by: Duration) -> Timestamp:
    return Timestamp(time.nanoseconds + by.nanoseconds)


# Conversions


def _int_of_text(text: str) -> int:
    if not _INT_TEXT.fullmatch(text):
        raise EvaluationError("type conversion error from 'string' to 'int'")
    return _int(int(text))


def _uint_of_text(text: str) -> Uint:
    if not _UINT_TEXT.fullmatch(text):
        raise EvaluationError("type conversion error from 'string' to 'uint'")
    return _uint(int(text))


def _double_of_text(text: str) -> float:
    if not text.isascii() or text != text.strip():
        raise EvaluationError("type conversion error from 'string' to 'double'")
    value = float.fromhex(text) if _HEX_FLOAT.fullmatch(text) else float(text)
    if math.isinf(value) and "inf" not in text.lower():
        raise EvaluationError("type conversion error from 'string' to 'double'")
    return value


def _bool_of_text(text: str) -> bool:
    if text not in _BOOL_TEXTS:
        raise EvaluationError("type conversion error from 'string' to 'bool'")
    return _BOOL_TEXTS[text]


def _text_of_double(value: float) -> str:
    if math.isfinite(value):
        return floats.yaml_text(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _int_of_double(value: float) -> int:
    # The limits themselves are refused, as in the reference: doubles near them are not exact.
    if not MIN_INT < value < MAX_INT:
        raise EvaluationError("integer overflow")
    return int(value)


def _uint_of_double(value: float) -> Uint:
    if not 0 <= value < MAX_UINT:
        raise EvaluationError("unsigned integer overflow")
    return Uint(value)


# Functions for values of any type


def _contains(value: Any, container: Any, budget: Budget) -> bool:
    if type(container) is list:
        return any(equal(value, item, budget) for item in container)
    if type(container) is dict:
        return values.contains_key(container, value)
    raise no_overload("_in_", value, container)


def _matches(text: Any, pattern: Any, budget: Budget) -> bool:
    if type(text) is not str or type(pattern) is not str:
        raise no_overload("matches", text, pattern)
    try:
        return go_matching.matches(pattern, text, budget.spend)
    except go_matching.PatternError as error:
        raise EvaluationError(f"error parsing regexp: {error}") from None


_GENERAL: Final[Mapping[str, Callable[..., Any]]] = {
    "_==_": equal,
    "_!=_": lambda left, right, budget: not equal(left, right, budget),
    "_<_": lambda left, right, _: compare("_<_", left, right) < 0,
    "_<=_": lambda left, right, _: compare("_<=_", left, right) <= 0,
    "_>_": lambda left, right, _: compare("_>_", left, right) > 0,
    "_>=_": lambda left, right, _: compare("_>=_", left, right) >= 0,
    "_in_": _contains,
    "_[_]": lambda container, key, _: values.element(container, key),
    "matches": _matches,
    "dyn": lambda value, _: value,
    "type": lambda value, _: values.type_of(value),
}
_OVERLOADS: Final[Mapping[str, Mapping[tuple[type, ...], Callable[..., Any]]]] = {
    "!_": {(bool,): operator.not_},
    "-_": {
        (int,): lambda value: _int(-value),
        (float,): operator.neg,
        (Duration,): lambda value: Duration(-value.nanoseconds),
    },
    "_+_": {
        **_whole_numbers(operator.add),
        **dict.fromkeys(((kind, kind) for kind in (float, str, bytes, list)), operator.add),
        (Duration, Duration): lambda left, right: Duration(left.nanoseconds + right.nanoseconds),
        (Timestamp, Duration): _add_duration,
        (Duration, Timestamp): lambda by, time: _add_duration(time, by),
    },
    "_-_": {
        **_whole_numbers(operator.sub),
        (float, float): operator.sub,
        (Duration, Duration): lambda left, right: Duration(left.nanoseconds - right.nanoseconds),
        (Timestamp, Duration): lambda time, by: Timestamp(time.nanoseconds - by.nanoseconds),
        (Timestamp, Timestamp): lambda left, right: Duration(left.nanoseconds - right.nanoseconds),
    },
    "_*_": {**_whole_numbers(operator.mul), (float, float): operator.mul},
    "_/_": {**_whole_numbers(_quotient), (float, float): _ratio},
    "_%_": _whole_numbers(_remainder),
    "size": dict.fromkeys(((kind,) for kind in (str, bytes, list, dict)), len),
    "contains": {(str, str): lambda text, part: part in text},
    "startsWith": {(str, str): str.startswith},
    "endsWith": {(str, str): str.endswith},
    "bool": {(bool,): bool, (str,): _bool_of_text},
    "bytes": {(bytes,): bytes, (str,): lambda text: text.encode("utf-8", "replace")},
    "double": {
        **dict.fromkeys(((kind,) for kind in (int, Uint, float)), float),
        (str,): _double_of_text,
    },
    "int": {
        **dict.fromkeys(((kind,) for kind in (int, Uint)), _int),
        (float,): _int_of_double,
        (str,): _int_of_text,
        (Duration,): lambda value: value.nanoseconds,
        (Timestamp,): lambda time: time.seconds,
    },
    "uint": {
        **dict.fromkeys(((kind,) for kind in (int, Uint)), _uint),
        (float,): _uint_of_double,
        (str,): _uint_of_text,
    },
    "string": {
        (bool,): lambda value: "true" if value else "false",
        (float,): _text_of_double,
        (bytes,): lambda value: value.decode("utf-8"),
        **dict.fromkeys(((kind,) for kind in (str, int, Uint, Duration, Timestamp)), str),
    },
    "duration": {(Duration,): lambda value: value, (str,): Duration.parse},
    "timestamp": {
        (Timestamp,): lambda time: time,
        (str,): Timestamp.parse,
        (int,): lambda seconds: Timestamp(seconds * 10**9),
    },
    "getFullYear": {(Timestamp,): lambda time: time.moment.year},
    "getMonth": {(Timestamp,): lambda time: time.moment.month - 1},
    "getDate": {(Timestamp,): lambda time: time.moment.day},
    "getDayOfMonth": {(Timestamp,): lambda time: time.moment.day - 1},
    "getDayOfWeek": {(Timestamp,): lambda time: time.moment.isoweekday() % 7},
    "getDayOfYear": {(Timestamp,): lambda time: time.moment.timetuple().tm_yday - 1},
    "getHours": {
        (Timestamp,): lambda time: time.moment.hour,
        (Duration,): lambda value: value.part("h"),
    },
    "getMinutes": {
        (Timestamp,): lambda time: time.moment.minute,
        (Duration,): lambda value: value.part("m"),
    },
    "getSeconds": {
        (Timestamp,): lambda time: time.moment.second,
        (Duration,): lambda value: value.part("s"),
    },
    "getMilliseconds": {
        (Timestamp,): lambda time: time.milliseconds,
        (Duration,): lambda value: value.part("ms"),
    },
}
