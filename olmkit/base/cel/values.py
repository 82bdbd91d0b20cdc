"""The values of CEL, and their comparison.

A value is a Python one: bool, int (CEL's `int`), `Uint`, float, str, bytes, None, list, dict,
`Duration`, `Timestamp`, and a `Type` for the result of `type(x)`. A bool is never a number here,
and numbers of all three types compare by value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from olmkit.base.cel import expressions
from olmkit.base.cel.expressions import Type
from olmkit.base.cel.literals import Uint
from olmkit.base.cel.times import Duration, Timestamp

MAX_STEPS: Final = 1_000_000

_TYPES: Final[dict[type, Type]] = {
    bool: expressions.BOOL,
    int: expressions.INT,
    Uint: expressions.UINT,
    float: expressions.DOUBLE,
    str: expressions.STRING,
    bytes: expressions.BYTES,
    type(None): expressions.NULL,
    list: Type("list"),
    dict: Type("map"),
    Type: expressions.TYPE,
    Duration: expressions.DURATION,
    Timestamp: expressions.TIMESTAMP,
}
_NUMBERS: Final = (int, Uint, float)
_ORDERED: Final = (bool, str, bytes, Duration, Timestamp)


class EvaluationError(ValueError):
    """An expression cannot be evaluated: a missing key, invalid operands, an overflow."""


@dataclass(slots=True)
class Budget:
    """The remaining cost of an evaluation, in steps: a node, an element, a few characters."""

    left: int = MAX_STEPS

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise OverBudgetError


class OverBudgetError(EvaluationError):
    """The cost limit is exceeded; unlike other errors, `||` and `&&` never absorb this one."""

    def __init__(self) -> None:
        super().__init__(f"the expression needs more than {MAX_STEPS:,} steps")


def type_of(value: Any) -> Type:
    """Return the CEL type of a value without element types, or raise `EvaluationError`."""
    found = _TYPES.get(type(value))
    if found is None:
        raise EvaluationError(f"unsupported value of type {type(value).__name__}")
    return found


def no_overload(function: str, *values: Any) -> EvaluationError:
    """Return cel-go's error for a function without an overload for these types."""
    types = ", ".join(str(type_of(value)) for value in values)
    return EvaluationError(f"no such overload: {function}({types})")


def equal(left: Any, right: Any, budget: Budget) -> bool:
    """Return whether two values are the same; those of different types are not, except numbers."""
    budget.spend(1)
    kind = type(left)
    if kind in _NUMBERS and type(right) in _NUMBERS:
        return bool(left == right)
    if kind is not type(right):
        return False
    if kind is list:
        return len(left) == len(right) and all(
            equal(one, other, budget) for one, other in zip(left, right, strict=True)
        )
    if kind is dict:
        return len(left) == len(right) and all(
            key in right and equal(value, right[key], budget) for key, value in left.items()
        )
    return bool(left == right)


def compare(operator: str, left: Any, right: Any) -> int:
    """Return a negative number, 0 or a positive one, if `left` is less, equal or greater.

    `operator` is for the message. Raises `EvaluationError` for types without an order between
    them, and for NaN.
    """
    kind, other = type(left), type(right)
    if not (kind in _NUMBERS and other in _NUMBERS) and (kind is not other or kind not in _ORDERED):
        raise no_overload(operator, left, right)
    if (kind is float and math.isnan(left)) or (other is float and math.isnan(right)):
        raise EvaluationError("NaN values cannot be ordered")
    return int(left > right) - int(left < right)


def element(container: Any, key: Any) -> Any:
    """Return the value at `key` of a list or map; integers of any type are valid keys.

    Raises `EvaluationError` for a missing key, and for containers and keys of other types.
    """
    if type(container) is dict:
        if not contains_key(container, key):
            raise EvaluationError(f"no such key: {key}")
        return container[key]
    if type(container) is not list or type(key) not in _NUMBERS:
        raise no_overload("_[_]", container, key)
    if not (0 <= key < len(container)) or key != int(key):
        raise EvaluationError(f"index out of bounds: {key}")
    return container[int(key)]


def contains_key(container: dict[Any, Any], key: Any) -> bool:
    """Return whether a map has the key; lists and maps are never keys."""
    try:
        return key in container
    except TypeError:  # lists and maps are not keys
        return False
