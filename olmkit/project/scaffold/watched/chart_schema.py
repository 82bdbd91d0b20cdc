"""Convert `values.schema.json` of a chart to the schema of `spec` in its CRD.

A CRD accepts only structural schemas
(https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema),
so unsupported keywords are omitted, and Helm checks them when it renders. Defaults stay in the
chart: a default in the CRD would be stored in each object and hide the default of a newer chart.
Values with a default in the chart are not required, since Helm checks the merged values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OPEN = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean"})
_PLAIN = (
    ("title", str),
    ("description", str),
    ("pattern", str),
    ("minLength", int),
    ("maxLength", int),
    ("minItems", int),
    ("maxItems", int),
    ("minimum", (int, float)),
    ("maximum", (int, float)),
    ("multipleOf", (int, float)),
)
_DEEPEST = 32


def spec_schema(schema: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of `spec`; an open object if the chart has none."""
    found = _structural(schema, values, schema, _DEEPEST) if isinstance(schema, Mapping) else {}
    if found.get("type") != "object":
        return open_object("values of the chart")
    return {"description": "values of the chart", **found}


def open_object(description: str) -> dict[str, Any]:
    """Return an object with any fields."""
    return {"description": description, "type": "object", _OPEN: True}


def _structural(schema: Any, value: Any, root: Any, depth: int) -> dict[str, Any]:
    schema = _resolve(schema, root)
    if not isinstance(schema, Mapping) or depth == 0:
        return {_OPEN: True}
    found: dict[str, Any] = {}
    kind, is_nullable = _type(schema)
    if kind in ("", "mixed"):
        return {_OPEN: True} | _texts(schema)
    if kind == "int-or-string":
        return {_INT_OR_STRING: True} | _texts(schema)
    found["type"] = kind
    if is_nullable:
        found["nullable"] = True
    for name, types in _PLAIN:
        said = schema.get(name)
        if isinstance(said, types) and not isinstance(said, bool):
            found[name] = said
    listed = schema.get("enum")
    if isinstance(listed, list) and listed and all(_is(kind, one) for one in listed):
        found["enum"] = listed
    if kind == "object":
        found |= _object(schema, value, root, depth)
    elif kind == "array":
        items = schema.get("items")
        found["items"] = _structural(items, None, root, depth - 1)
    return found


def _object(schema: Mapping[str, Any], value: Any, root: Any, depth: int) -> dict[str, Any]:
    given = value if isinstance(value, Mapping) else {}
    listed = schema.get("properties")
    properties = listed if isinstance(listed, Mapping) else {}
    rest = schema.get("additionalProperties", True)
    found: dict[str, Any] = {}
    if properties:
        found["properties"] = {
            str(name): _structural(one, given.get(name), root, depth - 1)
            for name, one in sorted(properties.items())
        }
    if isinstance(rest, Mapping) and not properties:
        found["additionalProperties"] = _structural(rest, None, root, depth - 1)
    elif rest is not False or not properties:
        found[_OPEN] = True
    needed = schema.get("required")
    names = needed if isinstance(needed, list) else []
    if missing := [one for one in names if isinstance(one, str) and one not in given]:
        found["required"] = sorted(set(missing))
    return found


def _resolve(schema: Any, root: Any) -> Any:
    """Return the schema that `$ref` names, if it is in the same document."""
    seen = 0
    while isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str):
        steps = schema["$ref"].split("/")
        seen += 1
        if steps[0] != "#" or seen > _DEEPEST:
            return None
        schema = root
        for step in steps[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            schema = schema.get(name) if isinstance(schema, Mapping) else None
    return schema


def _type(schema: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the type for a CRD, and whether null is allowed; empty: any."""
    value = schema.get("type")
    listed = value if isinstance(value, list) else [value]
    names = [one for one in listed if isinstance(one, str) and one != "null"]
    is_nullable = "null" in listed
    if set(names) == {"integer", "string"}:
        return "int-or-string", is_nullable
    if set(names) == {"integer", "number"}:
        return "number", is_nullable
    if len(names) > 1:
        return "mixed", is_nullable
    if not names and isinstance(schema.get("properties"), Mapping):
        return "object", False
    return (names[0] if names and names[0] in _TYPES else ""), is_nullable


def _texts(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: schema[name] for name in ("title", "description") if isinstance(schema.get(name), str)
    }


def _is(kind: str, value: Any) -> bool:
    if kind == "string":
        return isinstance(value, str)
    if kind in ("integer", "number"):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return kind == "boolean" and isinstance(value, bool)
