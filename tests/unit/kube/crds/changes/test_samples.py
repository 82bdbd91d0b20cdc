from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.kube.crds import instances
from olmkit.kube.crds.changes import samples, schemas

VECTORS = Path(__file__).parents[4] / "vectors" / "crd_changes.yaml"
CASES: dict[str, dict[str, Any]] = documents.load(VECTORS.read_bytes(), "").value
# There is no example if only defaults or removed fields make the difference.
WITHOUT = {
    "field removed from an object that must not be empty",
    "default exceeds the number of fields",
    "default next to a condition",
    "object becomes a whole Kubernetes object",
}


def schema_of(spec: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", **spec}}}


@pytest.mark.parametrize("name", CASES)
def test_each_refusing_change_has_an_example(name: str) -> None:
    old, new = schema_of(CASES[name]["old"]), schema_of(CASES[name]["new"])
    for change in schemas.compare_schemas(old, new):
        if not change.refuses and not change.refuses_stored:
            continue

        found = samples.witness(old, new, change)

        if name in WITHOUT:
            continue
        assert found is not samples.NONE, change
        assert list(instances.differences(found, old)) == []
        if change.rule == "rule-added":
            assert found == {"spec": {"a": 1}}
            continue
        assert list(
            instances.differences(found, new, by_server=change.refuses, cleans=change.refuses)
        )


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "a"),
        ({"type": "string", "enum": ["x"]}, "x"),
        ({"type": "string", "format": "date"}, "2020-01-01"),
        ({"type": "string", "minLength": 4}, "example"),
        ({"type": "integer", "minimum": 7}, 7),
        ({"type": "integer", "multipleOf": 4}, 0),
        ({"type": "boolean"}, False),
        ({"x-kubernetes-int-or-string": True}, 1),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, ["a", ""]),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {}),
        ({"type": "object", "required": ["a"], "properties": {"a": {"type": "boolean"}}},
         {"a": False}),
        ({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1},
         {"key0": 1}),
    ],
)  # fmt: skip
def test_a_minimal_value_is_valid(schema: Any, value: Any) -> None:
    found = samples.minimal(schema)

    assert samples.fits(found, schema)
    assert found == value or schema.get("minLength") or schema["type"] == "array"


def test_an_example_shows_its_change_and_no_other_one() -> None:
    old = schema_of({"properties": {"a": {"type": "string", "enum": ["x", "z"]}}})
    new = schema_of({"properties": {"a": {"type": "string", "enum": ["x"]},
                                    "b": {"type": "integer"}},
                 "required": ["b"]})  # fmt: skip

    found = {one.rule: samples.witness(old, new, one) for one in schemas.compare_schemas(old, new)}

    assert found["enum-value-removed"] == {"spec": {"a": "z"}}
    assert found["required-added"] == {"spec": {}}


def test_without_a_valid_value_there_is_no_example() -> None:
    assert samples.minimal({"type": "integer", "minimum": 3, "maximum": 2}) is samples.NONE


def test_a_recursive_schema_ends() -> None:
    schema: dict[str, Any] = {"type": "object", "required": ["a"], "properties": {}}
    schema["properties"]["a"] = schema

    assert samples.minimal(schema) is samples.NONE


def test_a_very_large_list_is_not_built() -> None:
    schema = {"type": "array", "items": {"type": "string"}, "minItems": 10**9}

    assert samples.minimal(schema) is samples.NONE
