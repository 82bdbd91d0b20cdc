"""Find fields in validation rules of CRDs that the schema does not have.

The API server gives rules the types of the schema, and refuses a rule that selects a missing field:
the most frequent error in rules. Values without a schema (dynamic values, results of functions) may
have any field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base.cel.expressions import Expr

_Scope = Mapping[str, Any]
_ESCAPES = (("__dot__", "."), ("__dash__", "-"), ("__slash__", "/"), ("__underscores__", "__"))
_METADATA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
}
_OF_OBJECTS = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": _METADATA,
}
_TEXT = {"type": "string"}


def unknown(rule: Expr, schema: Any, *, is_object: bool = False) -> Iterator[Expr]:
    """Yield the selections of fields that `schema`, the schema of the rule, does not have.

    `is_object`: it is the schema of a whole object, which always has metadata.
    """
    whole = schema
    if is_object and isinstance(schema, dict):
        whole = {**schema, "properties": {**schema.get("properties", {}), **_OF_OBJECTS}}
    yield from _Walk().faults(rule, {"self": whole, "oldSelf": whole})


class _Walk:
    """Walks an expression with the schemas of its parts, or None if unknown."""

    def faults(self, expr: Expr, scope: _Scope) -> Iterator[Expr]:
        match expr.op:
            case "select" | "has":
                yield from self.faults(expr.operands[0], scope)
                owner = self.schema(expr.operands[0], scope)
                if _is_closed(owner) and _unescape(expr.text) not in owner["properties"]:
                    yield expr
            case "macro":
                yield from self.faults(expr.operands[0], scope)
                inner = {**scope, expr.names[0]: self._element(expr.operands[0], scope)}
                for body in expr.operands[1:]:
                    yield from self.faults(body, inner)
            case _:
                for operand in expr.operands:
                    yield from self.faults(operand, scope)

    def schema(self, expr: Expr, scope: _Scope) -> Any:
        """Return the schema of the value of an expression."""
        match expr.op:
            case "name":
                return scope.get(expr.text)
            case "select":
                owner = self.schema(expr.operands[0], scope)
                if not isinstance(owner, dict):
                    return None
                fields = owner.get("properties")
                if isinstance(fields, dict):
                    return fields.get(_unescape(expr.text))
                return owner.get("additionalProperties")
            case "call" if expr.text == "_[_]":
                owner = self.schema(expr.operands[0], scope)
                if not isinstance(owner, dict):
                    return None
                return owner.get("items") or owner.get("additionalProperties")
            case "macro" if expr.text == "filter":
                return self.schema(expr.operands[0], scope)
            case _:
                return None

    def _element(self, target: Expr, scope: _Scope) -> Any:
        """Return the type over which a macro iterates: items of a list, keys of a map."""
        schema = self.schema(target, scope)
        if not isinstance(schema, dict):
            return None
        return schema.get("items") or (_TEXT if schema.get("type") == "object" else None)


def _is_closed(schema: Any) -> bool:
    """Return whether a value has the fields that its schema names, and no others."""
    return (
        isinstance(schema, dict)
        and schema.get("type") == "object"
        and isinstance(schema.get("properties"), dict)
        and bool(schema["properties"])
        and not schema.get("additionalProperties")
        and not schema.get("x-kubernetes-preserve-unknown-fields")
        and not schema.get("x-kubernetes-embedded-resource")
        and not schema.get("x-kubernetes-int-or-string")
    )


def _unescape(name: str) -> str:
    """Return the field that a name in a rule means: `__dash__` is a dash, `__if__` is `if`."""
    for escape, text in _ESCAPES:
        name = name.replace(escape, text)
    is_word = name.startswith("__") and name.endswith("__") and len(name) > 4
    return name[2:-2] if is_word else name
