"""Literals in Python source text, and constants of the sources that have a literal value."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from olmkit.apis.model import MISSING, Missing
from olmkit.apis.python import bases
from olmkit.apis.python.names import Module, Names

_TOO_DEEP = 60
# The values of Python types called without arguments; an empty list or mapping is not a default.
_EMPTY: dict[str, Any] = {
    **dict.fromkeys(f"builtins.{name}" for name in ("list", "dict", "set", "tuple", "frozenset")),
    "builtins.str": "",
    "builtins.int": 0,
    "builtins.float": 0.0,
    "builtins.bool": False,
}
_ARITHMETIC = {ast.Add: int.__add__, ast.Sub: int.__sub__, ast.Mult: int.__mul__}
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Literals:
    """Reads the values of one module."""

    module: Module
    names: Names

    def value(self, expression: ast.expr) -> Any:
        """Return the value of a literal, or of a constant of the sources; `MISSING` for others."""
        return _plain(self, expression)

    def default_value(self, expression: ast.expr) -> Any:
        """Return the value of a default; None for no default and for an empty list or mapping.

        A model without arguments is `{}`: the API server fills it with the defaults of its
        fields, as the model does. Returns `MISSING` for a value that the source does not show.
        """
        if isinstance(expression, ast.Call):
            has_arguments = expression.args or expression.keywords
            return MISSING if has_arguments else self.made_by(expression.func)
        value = self.value(expression)
        return None if isinstance(value, (list, dict)) and not value else value

    def made_by(self, factory: ast.expr) -> Any:
        """Return the value of a `default_factory`, like `default_value`."""
        if isinstance(factory, ast.Lambda):
            takes_nothing = not ast.unparse(factory.args)
            return self.default_value(factory.body) if takes_nothing else MISSING
        dotted = self.names.dotted(self.module, factory)
        if dotted in _EMPTY:
            return _EMPTY[dotted]
        declared = self.names.declared(dotted)
        if declared is None:
            return MISSING
        module = self.names.modules[declared.module]
        node = module.classes.get(declared.name)
        is_model = node is not None and bases.sort_of(self.names, module, node) is bases.Sort.MODEL
        return {} if is_model else MISSING

    def resolved(self, expression: ast.expr) -> tuple[Module, ast.expr]:
        """Return the final expression of a name, and the module that contains it."""
        module = self.module
        for _ in range(_TOO_DEEP):
            found = Literals(module, self.names).constant(expression)
            if found is None:
                break
            module, expression = found
        return module, expression

    def constant(self, expression: ast.expr) -> tuple[Module, ast.expr] | None:
        """Return the value of a constant or an enumeration member, and its place."""
        dotted = self.names.dotted(self.module, expression).removesuffix(".value")
        declared = self.names.declared(dotted)
        if declared:
            module = self.names.modules[declared.module]
            value = module.assigned.get(declared.name)
            return (module, value) if value is not None else None
        head, _, name = dotted.rpartition(".")
        owner = self.names.declared(head)
        if owner is None:
            return None
        module = self.names.modules[owner.module]
        node = module.classes.get(owner.name)
        if node is None:
            return None
        for statement in node.body:
            match statement:
                case (
                    ast.Assign(targets=[ast.Name(id=target), *_], value=value)
                    | ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value)
                ) if target == name:
                    return module, bases.member(self.names, module, node, name, value)
        return None


def _plain(literals: Literals, expression: ast.expr, depth: int = 0) -> Any:
    if depth > _TOO_DEEP:
        return MISSING
    match expression:
        case ast.Constant(value=value):
            return value if _is_json(value) else MISSING
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number if _is_json(number) else MISSING
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
            return _compute(
                _ARITHMETIC[type(operator)],
                _plain(literals, left, depth + 1),
                _plain(literals, right, depth + 1),
            )
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return _all([_plain(literals, item, depth + 1) for item in items])
        case ast.Dict(keys=keys, values=values):
            names = [_plain(literals, key, depth + 1) if key else MISSING for key in keys]
            found = _all([_plain(literals, value, depth + 1) for value in values])
            if isinstance(found, Missing) or not all(isinstance(name, str) for name in names):
                return MISSING
            return dict(zip(names, found, strict=True))
        case ast.Name() | ast.Attribute():
            target = literals.constant(expression)
            if target is None:
                return MISSING
            module, meant = target
            return _plain(Literals(module, literals.names), meant, depth + 1)
        case _:
            return MISSING


def _compute(operator: Callable[[int, int], int], left: Any, right: Any) -> Any:
    """Compute arithmetic of integers, such as `60 * 60`; `MISSING` for anything else."""
    if type(left) is not int or type(right) is not int:
        return MISSING
    result = operator(left, right)
    return result if abs(result) <= _LARGEST else MISSING


def _is_json(value: object) -> bool:
    """Return whether JSON, in UTF-8, can represent a value without parts."""
    match value:
        case str():
            return is_text(value)
        case float():
            return math.isfinite(value)
        case _:
            return value is None or type(value) in (int, bool)


def is_text(value: str) -> bool:
    """Return whether UTF-8 can represent a string: not half a surrogate pair."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _all(items: list[Any]) -> Any:
    return MISSING if any(isinstance(item, Missing) for item in items) else items


def format_expression(expression: ast.expr) -> str:
    """Return the text of an expression for messages, truncated if it is long."""
    try:
        text = ast.unparse(expression)
    except RecursionError:
        return "…"
    return text if len(text) <= 80 else text[:79] + "…"
