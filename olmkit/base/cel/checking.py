"""Infer the type of a CEL expression.

`check` finds undeclared names and operands of incompatible types, with the messages of cel-go.
`dyn` is compatible with every type; its type is checked during evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from olmkit.base.cel.expressions import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    TYPE_NAMES,
    UINT,
    CelError,
    Expr,
    Type,
    list_of,
    map_of,
)

_NUMBERS: Final = frozenset({INT, UINT, DOUBLE})
_TIMES: Final = frozenset({TIMESTAMP, DURATION})
# Standard functions and methods: number of arguments (including a method's target), result.
_FUNCTIONS: Final[Mapping[str, tuple[int, Type]]] = {
    "size": (1, INT),
    "contains": (2, BOOL),
    "startsWith": (2, BOOL),
    "endsWith": (2, BOOL),
    "matches": (2, BOOL),
    "int": (1, INT),
    "uint": (1, UINT),
    "double": (1, DOUBLE),
    "string": (1, STRING),
    "bytes": (1, BYTES),
    "bool": (1, BOOL),
    "dyn": (1, DYN),
    "type": (1, TYPE),
    "duration": (1, DURATION),
    "timestamp": (1, TIMESTAMP),
    **dict.fromkeys(
        (
            "getDate",
            "getDayOfMonth",
            "getDayOfWeek",
            "getDayOfYear",
            "getFullYear",
            "getHours",
            "getMilliseconds",
            "getMinutes",
            "getMonth",
            "getSeconds",
        ),
        (1, INT),
    ),
}


def check(
    expr: Expr,
    variables: Mapping[str, Type],
    functions: Mapping[str, tuple[int, Type]] | None = None,
    objects: Mapping[str, Mapping[str, Type]] | None = None,
) -> Type:
    """Return the type of the expression's result.

    `functions` are additional ones: the number of arguments (below 0: any), and the type of the
    result. `objects` has the fields of object types, by the name of the type. Raises `CelError` for
    undeclared names and for operands of incompatible types.
    """
    try:
        checker = _Checker({**_FUNCTIONS, **(functions or {})}, objects or {})
        return checker.type_of(expr, dict(variables))
    except RecursionError:
        raise CelError("the expression is nested too deeply", 0) from None


@dataclass(slots=True)
class _Checker:
    functions: Mapping[str, tuple[int, Type]]
    objects: Mapping[str, Mapping[str, Type]]
    depth: int = field(default=0)

    def type_of(self, expr: Expr, scope: dict[str, Type]) -> Type:
        match expr.op:
            case "literal":
                return expr.type
            case "name":
                return self._name(expr, scope)
            case "select":
                return self._select(expr, scope)
            case "has":
                self.type_of(expr.operands[0], scope)
                return BOOL
            case "list":
                return list_of(_common_type([self.type_of(item, scope) for item in expr.operands]))
            case "map":
                types = [self.type_of(item, scope) for item in expr.operands]
                return map_of(_common_type(types[::2]), _common_type(types[1::2]))
            case "macro":
                return self._macro(expr, scope)
            case _:
                return self._call(expr, scope)

    def _name(self, expr: Expr, scope: Mapping[str, Type]) -> Type:
        if expr.text in scope:
            return scope[expr.text]
        if expr.text in TYPE_NAMES:
            return TYPE
        raise CelError(f"undeclared reference to '{expr.text}' (in container '')", expr.offset)

    def _select(self, expr: Expr, scope: dict[str, Type]) -> Type:
        target = self.type_of(expr.operands[0], scope)
        if target == DYN:
            return DYN
        if target.name in self.objects:
            return self.objects[target.name].get(expr.text, DYN)
        if target.name == "map":
            return target.parts[1]
        raise CelError(f"type '{target}' does not support field selection", expr.offset)

    def _macro(self, expr: Expr, scope: dict[str, Type]) -> Type:
        target = self.type_of(expr.operands[0], scope)
        if target == DYN:
            element = DYN
        elif target.name in ("list", "map"):
            element = target.parts[0]
        else:
            raise CelError(
                f"expression of type '{target}' cannot be range of a comprehension "
                "(must be list, map, or dynamic)",
                expr.operands[0].offset,
            )
        inner = {**scope, expr.names[0]: element}
        bodies = [self.type_of(body, inner) for body in expr.operands[1:]]
        conditions = bodies if expr.text != "map" else bodies[:-1]
        for body, found in zip(expr.operands[1:], conditions, strict=False):
            if found not in (BOOL, DYN):
                raise CelError(f"expected type 'bool' but found '{found}'", body.offset)
        match expr.text:
            case "map":
                return list_of(bodies[-1])
            case "filter":
                return list_of(element)
            case _:
                return BOOL

    def _call(self, expr: Expr, scope: dict[str, Type]) -> Type:
        types = [self.type_of(operand, scope) for operand in expr.operands]
        if expr.text.startswith("_") or expr.text in ("!_", "-_"):
            result = _operator(expr.text, types)
            if result is None:
                raise CelError(
                    f"found no matching overload for '{expr.text}' applied to "
                    f"'({', '.join(map(str, types))})'",
                    expr.offset,
                )
            return result
        known = self.functions.get(expr.text)
        if known is None:
            raise CelError(f"undeclared reference to '{expr.text}' (in container '')", expr.offset)
        count, result = known
        if len(types) != count and count >= 0:
            raise CelError(
                f"found no matching overload for '{expr.text}' applied to "
                f"'({', '.join(map(str, types))})'",
                expr.offset,
            )
        return result


def _operator(name: str, types: list[Type]) -> Type | None:
    """Return the result type of an operator, or `None` without an overload for the operands."""
    first, last = types[0], types[-1]
    match name:
        case "_||_" | "_&&_":
            return BOOL if all(found in (BOOL, DYN) for found in types) else None
        case "!_":
            return BOOL if first in (BOOL, DYN) else None
        case "-_":
            return first if first in (INT, DOUBLE, DYN) else None
        case "_==_" | "_!=_":
            return BOOL if _fit(first, last) else None
        case "_<_" | "_<=_" | "_>_" | "_>=_":
            both_numbers = first in _NUMBERS and last in _NUMBERS
            ordered = first.name not in ("list", "map") and _fit(first, last)
            return BOOL if both_numbers or ordered else None
        case "_in_":
            return BOOL if last == DYN or last.name in ("list", "map") else None
        case "_?_:_":
            if first not in (BOOL, DYN) or not _fit(types[1], last):
                return None
            return DYN if last == DYN else types[1]
        case "_[_]":
            if first == DYN:
                return DYN
            return first.parts[-1] if first.name in ("list", "map") else None
        case "_+_" | "_-_" if first in _TIMES or last in _TIMES:
            return DYN
        case "_+_":
            if DYN in (first, last):
                return DYN
            addable = {*_NUMBERS, STRING, BYTES}
            return (
                first if _fit(first, last) and (first in addable or first.name == "list") else None
            )
        case _:
            if DYN in (first, last):
                return DYN
            return first if first == last and first in _NUMBERS else None


def _fit(left: Type, right: Type) -> bool:
    if DYN in (left, right) or NULL in (left, right) or left == right:
        return True
    if left.name.startswith("object#") and right.name.startswith("object#"):
        return True
    return left.name == right.name and bool(left.parts) and all(map(_fit, left.parts, right.parts))


def _common_type(types: list[Type]) -> Type:
    """Return the common type of all, or `dyn`."""
    return types[0] if types and all(found == types[0] for found in types) else DYN
