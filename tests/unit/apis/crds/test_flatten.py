"""Merging schemas: the result for a keyword that both schemas have."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.apis.crds import flatten


@pytest.mark.parametrize(
    ("destination", "source", "merged"),
    [
        ({}, {"type": "string"}, {"type": "string"}),
        ({"enum": [1]}, {"enum": [2]}, {"enum": [1]}),
        ({"required": ["b"]}, {"required": ["a", "b"]}, {"required": ["a", "b"]}),
        (
            {"properties": {"a": {"type": "string"}}},
            {"properties": {"a": {"maxLength": 1}, "b": {}}},
            {"properties": {"a": {"type": "string", "maxLength": 1}, "b": {}}},
        ),
        (
            {"additionalProperties": {"type": "string"}},
            {"additionalProperties": {"maxLength": 1}},
            {"additionalProperties": {"type": "string", "maxLength": 1}},
        ),
        (
            {flatten.RULES: [{"rule": "type"}]},
            {flatten.RULES: [{"rule": "field"}]},
            {flatten.RULES: [{"rule": "field"}, {"rule": "type"}]},
        ),
        (
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]},
            {"x-kubernetes-list-type": "atomic"},
            {"x-kubernetes-list-type": "atomic", "x-kubernetes-list-map-keys": ["a"]},
        ),
        ({"minProperties": 1}, {"minProperties": 1}, {"minProperties": 1}),
        (
            {"minProperties": 1},
            {"minProperties": 2},
            {"allOf": [{"minProperties": 1}, {"minProperties": 2}]},
        ),
        (
            {"type": "string", "minLength": 4, "pattern": "a"},
            {"minLength": 4, "pattern": "b"},
            {
                "type": "string",
                "allOf": [{"minLength": 4, "pattern": "a"}, {"minLength": 4, "pattern": "b"}],
            },
        ),
        ({"description": "a"}, {"description": "b", "title": "c"}, {"description": "a"}),
    ],
)
def test_schemas_are_merged(destination: Any, source: Any, merged: Any) -> None:
    flatten.merge(destination, source)
    assert destination == merged


def test_different_types_cannot_be_merged() -> None:
    with pytest.raises(flatten.TypesDifferError):
        flatten.merge({"type": "string"}, {"type": "integer"})


def test_title_and_description_of_the_field_take_precedence() -> None:
    kind = {"type": "string", "description": "of the type", "title": "T"}
    assert flatten.merge_reference(kind, {"description": "of the field"}) == {
        "type": "string",
        "description": "of the field",
        "title": "T",
    }
    assert kind["description"] == "of the type"
