"""`values.schema.json` → a schema that a CRD accepts."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.project.scaffold.watched import chart_schema

OPEN = {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        ({"type": "string", "default": "a"}, {"type": "string"}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"type": ["integer", "string"]}, {"x-kubernetes-int-or-string": True}),
        ({"type": ["boolean", "string"]}, OPEN),
        ({"type": ["integer", "number"], "minimum": 1}, {"type": "number", "minimum": 1}),
        ({"oneOf": [{"type": "string"}]}, OPEN),
        ({"type": "array"}, {"type": "array", "items": OPEN}),
        ({"type": "integer", "enum": [1, "two"]}, {"type": "integer"}),
        ({"type": "object"}, {"type": "object"} | OPEN),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "object", "additionalProperties": {"type": "string"}},
        ),
        (
            {"properties": {"a": {"type": "string"}}, "additionalProperties": False},
            {"type": "object", "properties": {"a": {"type": "string"}}},
        ),
        ({"$ref": "#/definitions/port"}, {"type": "integer", "maximum": 65535}),
        ({"$ref": "https://example.com/schema.json"}, OPEN),
        ({"$ref": "#/definitions/loop"}, OPEN),
        (True, OPEN),
    ],
)
def test_a_property_is_converted_to_a_structural_schema(
    schema: Any, wanted: dict[str, Any]
) -> None:
    root = {
        "type": "object",
        "properties": {"it": schema},
        "definitions": {
            "port": {"type": "integer", "maximum": 65535},
            "loop": {"$ref": "#/definitions/loop"},
        },
    }
    assert chart_schema.spec_schema(root, {})["properties"]["it"] == wanted


def test_a_property_with_a_value_in_the_chart_is_not_required() -> None:
    schema = {
        "type": "object",
        "required": ["size", "host"],
        "properties": {"size": {"type": "integer"}, "host": {"type": "string"}},
    }
    assert chart_schema.spec_schema(schema, {"size": 1})["required"] == ["host"]


@pytest.mark.parametrize("schema", [None, [], {"type": "string"}, {"type": "array"}])
def test_without_a_schema_of_an_object_the_spec_is_open(schema: Any) -> None:
    assert chart_schema.spec_schema(schema, {}) == chart_schema.open_object("values of the chart")


def test_a_recursive_schema_ends() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    found = chart_schema.spec_schema(schema, {})
    depth = 0
    while "properties" in found:
        found, depth = found["properties"]["next"], depth + 1
    assert 2 < depth < 100
