"""The keywords of a schema for limits that are next to a type in the code."""

from __future__ import annotations

from typing import Any

from olmkit.apis.crds import schema_markers
from olmkit.apis.crds.flatten import Schema
from olmkit.apis.model import Constraint


def limit_keywords(constraint: Constraint, schema: Schema) -> Schema:
    keyword, value = constraint.keyword, constraint.value
    kind = schema.get("type")
    if keyword in ("minimum size", "maximum size"):
        form = {"string": "Length", "array": "Items", "object": "Properties"}.get(str(kind))
        if form is None and schema.get("x-kubernetes-int-or-string"):
            form = "Length"
        return {keyword[:3] + form: value} if form else {}
    if keyword == "pattern":
        return {"pattern": value} if schema_markers.is_textual(schema) else {}
    if not schema_markers.is_numeric(schema):
        return {}
    if kind == "integer" and not float(value).is_integer():
        return {}
    if kind == "integer":
        value = int(value)
    if keyword == "exclusive minimum":
        return {"minimum": value, "exclusiveMinimum": True}
    if keyword == "exclusive maximum":
        return {"maximum": value, "exclusiveMaximum": True}
    return {keyword: value}


def require_content(schema: Schema, *, is_reference: bool) -> None:
    keyword = {"string": "minLength", "array": "minItems", "object": "minProperties"}.get(
        str(schema.get("type")), "minProperties" if is_reference else ""
    )
    if keyword:
        schema.setdefault(keyword, 1)


def is_of_type(value: Any, kind: str) -> bool:
    match kind:
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return True
