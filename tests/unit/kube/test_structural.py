from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube import structural
from olmkit.kube.structural import Fault


def _check(field: Any, **others: Any) -> list[tuple[Fault, str]]:
    schema = {"type": "object", "properties": {"a": field}, **others}
    return [(problem.fault, problem.message) for problem in structural.check(schema)]


INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5, "default": "a"},
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        {
            "type": "array",
            "items": {"type": "object", "properties": {"k": {"type": "string"}}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        },
        {"x-kubernetes-int-or-string": True, "anyOf": INT_OR_STRING, "default": 1},
        {"type": "string", "x-kubernetes-int-or-string": True, "anyOf": INT_OR_STRING},
        {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": INT_OR_STRING}]},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "x-kubernetes-validations": [{"rule": "self.a > 1"}]},
        {"type": "integer", "minimum": 1.5, "default": 2.0, "nullable": True},
        {"type": "object", "properties": {"b": {"type": "string"}}, "oneOf": [{"required": ["b"]}]},
        {"type": "string", "description": None},
    ],
)
def test_what_the_api_server_takes(field: Any) -> None:
    assert _check(field) == []


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({}, "properties.a.type: Required value: must not be empty for specified object fields"),
        ({"type": "objct"}, 'properties.a.type: Unsupported value: "objct"'),
        ({"type": "array"}, "properties.a.items: Required value: must be specified"),
        (
            {"type": "array", "items": {}},
            "properties.a.items.type: Required value: must not be empty for specified array items",
        ),
        ({"type": "array", "items": [{"type": "string"}]}, "items must be a schema object"),
        (
            {
                "type": "array",
                "items": {"type": "object"},
                "x-kubernetes-list-type": "map",
            },
            "x-kubernetes-list-map-keys: Required value",
        ),
        (
            {
                "type": "array",
                "items": {"type": "object"},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
            },
            "entries must all be names of item properties",
        ),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, "quadratic"),
        ({"type": "string", "x-kubernetes-list-type": "set"}, "must be array"),
        ({"type": "string", "x-kubernetes-map-type": "atomic"}, "must be object"),
        ({"type": "string", "pattern": "["}, "must be a valid regular expression"),
        ({"type": "string", "pattern": "(?=a)"}, "must be a valid regular expression"),
        ({"type": "integer", "default": "a"}, "must be of type integer"),
        ({"type": "boolean", "default": 1}, "must be of type boolean"),
        (
            {"x-kubernetes-int-or-string": True, "default": True},
            "must be of type integer or string",
        ),
        ({"type": "string", "$ref": "#/a"}, "$ref is not supported"),
        ({"type": "string", "anyOf": [{"type": "string"}]}, "anyOf[0].type: Forbidden"),
        ({"type": "string", "not": {"description": "a"}}, "not.description: Forbidden"),
        (
            {"type": "string", "allOf": [{"oneOf": [{"nullable": True}]}]},
            "allOf[0].oneOf[0].nullable: Forbidden: must be false to be structural",
        ),
        (
            {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
            "must be true or undefined",
        ),
        (
            {
                "type": "object",
                "properties": {"b": {"type": "string"}},
                "additionalProperties": {"type": "string"},
            },
            "mutual exclusive",
        ),
        (
            {"type": "object", "x-kubernetes-validations": [{"rule": "self >"}]},
            "compilation failed",
        ),
        ({"type": "object", "x-kubernetes-validations": [{}]}, "rule is not specified"),
    ],
)
def test_what_the_api_server_refuses(field: Any, words: str) -> None:
    ((fault, message),) = _check(field)

    assert fault is Fault.STRUCTURE
    assert words in message


def test_the_root_has_a_type_and_it_is_object() -> None:
    assert _check({"type": "string"}, type="array", items={"type": "string"}) == [
        (Fault.STRUCTURE, 'type: Invalid value: "array": must be object at the root')
    ]
    assert [problem.message for problem in structural.check({})] == [
        "type: Required value: must not be empty at the root"
    ]


def test_the_root_is_not_open() -> None:
    (problem,) = structural.check({"type": "object", "additionalProperties": {"type": "string"}})

    assert problem.message == "additionalProperties: Forbidden: must not be used at the root"


@pytest.mark.parametrize(
    "field",
    [
        {"type": "integer", "minimum": "1"},
        {"type": ["string"]},
        {"type": "string", "nullable": "true"},
        {"type": "string", "maxLength": 1.5},
        {"type": "object", "required": "a"},
    ],
)
def test_a_keyword_of_a_wrong_type_cannot_be_read(field: Any) -> None:
    assert Fault.TYPE in [fault for fault, _ in _check(field)]


def test_what_is_no_schema_cannot_be_read() -> None:
    assert _check("string") == [(Fault.TYPE, "`properties.a` must be a mapping")]


def test_unknown_keywords_are_said() -> None:
    assert _check({"type": "string", "desciprtion": "a"}) == [
        (Fault.UNKNOWN, "`desciprtion` is no keyword of a schema")
    ]


def test_without_structure_only_reading_counts() -> None:
    assert list(structural.check({"properties": {"a": {}}}, structural=False)) == []


def test_depth_is_bounded() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(1000):
        schema = {"type": "object", "properties": {"a": schema}}

    (problem,) = structural.check(schema)

    assert problem.message.endswith("nested too deeply")
