"""Evaluate CEL expressions.

The expression should have been checked (`checking.check`); dynamic types are checked here. As in
the reference, `||`, `&&`, `all` and `exists` have a value even if an operand has an error, if
another operand decides. Expressions are untrusted, so the work is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from olmkit.base.cel import operators
from olmkit.base.cel import values as cel_values
from olmkit.base.cel.expressions import TYPE_NAMES, Expr, Type
from olmkit.base.cel.values import Budget, EvaluationError, OverBudgetError

Functions = Mapping[str, Callable[..., Any]]


def evaluate(expr: Expr, variables: Mapping[str, Any], functions: Functions | None = None) -> Any:
    """Return the value of the expression.

    Values are those of `cel_values`. `functions` are additional ones: they get values and return
    one, or raise `EvaluationError`. Raises that error for errors of CEL (a missing key, operands of
    the wrong types, overflow), and for an expression that needs more than `cel_values.MAX_STEPS`
    steps or is nested too deeply.
    """
    try:
        return _Evaluator(functions or {}).value(expr, variables)
    except RecursionError:
        raise EvaluationError("the expression or a value is nested too deeply") from None


class _Evaluator:
    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._budget = Budget()

    def value(self, expr: Expr, scope: Mapping[str, Any]) -> Any:
        self._budget.spend(1)
        match expr.op:
            case "literal":
                return expr.value
            case "name":
                return _look_up(expr.text, scope)
            case "select":
                return self._select(expr, scope)
            case "has":
                return self._has(expr, scope)
            case "list":
                return self._values(expr.operands, scope)
            case "map":
                return self._map(expr, scope)
            case "macro":
                return self._macro(expr, scope)
            case _:
                return self._call(expr, scope)

    def _values(self, operands: Iterable[Expr], scope: Mapping[str, Any]) -> list[Any]:
        return [self.value(operand, scope) for operand in operands]

    def _select(self, expr: Expr, scope: Mapping[str, Any]) -> Any:
        owner = self.value(expr.operands[0], scope)
        if type(owner) is not dict or expr.text not in owner:
            raise EvaluationError(f"no such key: {expr.text}")
        return owner[expr.text]

    def _has(self, expr: Expr, scope: Mapping[str, Any]) -> bool:
        owner = self.value(expr.operands[0], scope)
        if type(owner) is list:
            raise EvaluationError("unsupported index type 'string' in list")
        return type(owner) is dict and expr.text in owner

    def _map(self, expr: Expr, scope: Mapping[str, Any]) -> dict[Any, Any]:
        values = self._values(expr.operands, scope)
        try:
            return dict(zip(values[::2], values[1::2], strict=True))
        except TypeError:
            raise EvaluationError("a list or a map is not a key") from None

    def _call(self, expr: Expr, scope: Mapping[str, Any]) -> Any:
        match expr.text:
            case "_||_":
                return self._combine(True, ((operand, scope) for operand in expr.operands))
            case "_&&_":
                return self._combine(False, ((operand, scope) for operand in expr.operands))
            case "_?_:_":
                condition, then, otherwise = expr.operands
                return self.value(then if self._holds(condition, scope) else otherwise, scope)
            case _:
                pass
        operands = self._values(expr.operands, scope)
        function = self._functions.get(expr.text)
        if function is not None:
            return function(*operands)
        return operators.apply(expr.text, operands, self._budget)

    def _holds(self, condition: Expr, scope: Mapping[str, Any]) -> bool:
        value = self.value(condition, scope)
        if not isinstance(value, bool):
            raise cel_values.no_overload("_?_:_", value)
        return value

    def _combine(self, by: bool, conditions: Iterable[tuple[Expr, Mapping[str, Any]]]) -> bool:
        """Return `by` if one of the conditions has this value, even if others have errors."""
        fault: EvaluationError | None = None
        for condition, scope in conditions:
            try:
                if self._holds(condition, scope) is by:
                    return by
            except OverBudgetError:
                raise
            except EvaluationError as error:
                fault = fault or error
        if fault is not None:
            raise fault
        return not by

    def _macro(self, expr: Expr, scope: Mapping[str, Any]) -> Any:
        target = self.value(expr.operands[0], scope)
        if type(target) not in (list, dict):
            raise EvaluationError(f"no list or map to go over: {cel_values.type_of(target)}")
        first, last = expr.operands[1], expr.operands[-1]
        elements = ((item, {**scope, expr.names[0]: item}) for item in target)
        match expr.text:
            case "exists":
                return self._combine(True, ((first, inner) for _, inner in elements))
            case "all":
                return self._combine(False, ((first, inner) for _, inner in elements))
            case "exists_one":
                return sum(self._holds(first, inner) for _, inner in elements) == 1
            case "filter":
                return [item for item, inner in elements if self._holds(first, inner)]
            case _:
                return [
                    self.value(last, inner)
                    for _, inner in elements
                    if len(expr.operands) == 2 or self._holds(first, inner)
                ]


def _look_up(name: str, scope: Mapping[str, Any]) -> Any:
    if name in scope:
        return scope[name]
    if name in TYPE_NAMES:
        return Type(name)
    raise EvaluationError(f"no such attribute: {name}")
