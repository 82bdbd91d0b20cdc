"""Literals in Python source text, and constants of the sources that stand for one."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from olmkit.apis.model import MISSING, Missing
from olmkit.apis.python_names import Module, Names

_TOO_DEEP = 60


@dataclass(frozen=True, slots=True)
class Literals:
    """Reads values out of one module."""

    module: Module
    names: Names

    def value(self, expression: ast.expr) -> Any:
        """The value of a literal, or of a constant of the sources; `MISSING` for others."""
        return _plain(expression, self._constant)

    def default(self, expression: ast.expr) -> Any:
        """A default as the schema knows it: literals, not empty; `MISSING` for all others."""
        value = self.value(expression)
        if value is None or (isinstance(value, (list, dict)) and not value):
            return MISSING
        return value

    def _constant(self, expression: ast.expr) -> ast.expr | None:
        """What a name that stands for a literal or an enumeration's member was given."""
        dotted = self.names.dotted(self.module, expression)
        if dotted.endswith(".value"):
            dotted = dotted.removesuffix(".value")
        declared = self.names.declared(dotted)
        if declared:
            return self.names.modules[declared.module].assigned.get(declared.name)
        head, _, member = dotted.rpartition(".")
        enumeration = self.names.declared(head)
        if enumeration:
            module = self.names.modules[enumeration.module]
            body = module.classes.get(enumeration.name)
            for statement in body.body if body else ():
                if isinstance(statement, ast.Assign) and any(
                    isinstance(target, ast.Name) and target.id == member
                    for target in statement.targets
                ):
                    return statement.value
        return None


def _plain(
    expression: ast.expr, constant: Callable[[ast.expr], ast.expr | None], depth: int = 0
) -> Any:
    if depth > _TOO_DEEP:
        return MISSING
    match expression:
        case ast.Constant(value=value):
            return value if value is None or type(value) in (str, int, float, bool) else MISSING
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return _all([_plain(item, constant, depth + 1) for item in items])
        case ast.Dict(keys=keys, values=values):
            names = [_plain(key, constant, depth + 1) if key else MISSING for key in keys]
            found = _all([_plain(value, constant, depth + 1) for value in values])
            if isinstance(found, Missing) or not all(isinstance(name, str) for name in names):
                return MISSING
            return dict(zip(names, found, strict=True))
        case ast.Name() | ast.Attribute():
            target = constant(expression)
            return MISSING if target is None else _plain(target, constant, depth + 1)
        case _:
            return MISSING


def _all(items: list[Any]) -> Any:
    return MISSING if any(isinstance(item, Missing) for item in items) else items


def shown(expression: ast.expr) -> str:
    """The text of an expression for messages, cut when it is long."""
    try:
        text = ast.unparse(expression)
    except RecursionError:
        return "…"
    return text if len(text) <= 80 else text[:79] + "…"
