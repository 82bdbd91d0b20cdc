from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube.crds import structural
from olmkit.kube.crds.schema_problems import SchemaFault


def _check(field: Any, **others: Any) -> list[tuple[SchemaFault, str]]:
    schema = {"type": "object", "properties": {"a": field}, **others}
    return [(problem.fault, problem.message) for problem in structural.check(schema)]


INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


ANY = {"x-kubernetes-preserve-unknown-fields": True}


def _item(key: Any) -> Any:
    return {"type": "object", "properties": {"k": key}, "required": ["k"]}


ITEM = _item({"type": "string"})
KEYED = {
    "type": "array",
    "items": ITEM,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
}


def _ruled(rule: str, **more: Any) -> Any:
    return {"type": "object", "x-kubernetes-validations": [{"rule": rule, **more}]}


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5, "default": "a"},
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"k": {"type": "string"}, "n": {"type": "integer", "default": 1}},
                "required": ["k"],
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k", "n"],
        },
        {"x-kubernetes-int-or-string": True, "anyOf": INT_OR_STRING, "default": 1},
        {"type": "string", "x-kubernetes-int-or-string": True, "anyOf": INT_OR_STRING},
        {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": INT_OR_STRING}]},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "x-kubernetes-validations": [{"rule": "self.a > 1"}]},
        {"type": "integer", "minimum": 1, "default": 2.0, "nullable": True},
        {"type": "object", "properties": {"b": {"type": "string"}}, "oneOf": [{"required": ["b"]}]},
        {"type": "string", "description": None},
    ],
)
def test_schemas_that_the_api_server_accepts_have_no_errors(field: Any) -> None:
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
        ({"type": "integer", "minimum": 3, "default": 1}, "default: Invalid value: 1"),
        ({"type": "integer", "allOf": [{"maximum": 3}], "default": 4}, "must be at most 3"),
        ({"type": "string", "enum": ["a"], "default": "b"}, "must be one of `a`"),
        ({**KEYED, "default": [{"k": "a"}, {}]}, "default[1]: Invalid value: {}: lacks"),
        (
            {"x-kubernetes-int-or-string": True, "default": True},
            "must be a whole number or a string",
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
        (_ruled("true", message="a\nb"), "message: Invalid value"),
        (_ruled("true", message=" "), "must be non-empty if specified"),
        (_ruled("true\n&& true"), "message must be specified if rule contains line breaks"),
        (_ruled("true", reason="Bad"), 'reason: Unsupported value: "Bad"'),
        (_ruled("true", optionalOldSelf=True), "if oldSelf is not used in rule"),
        ({"type": "object", "x-kubernetes-map-type": "bag"}, 'Unsupported value: "bag"'),
        ({"type": "object", "x-kubernetes-embedded-resource": True}, "properties: Required value"),
        (
            {**ANY, "x-kubernetes-embedded-resource": True},
            "type: Required value: must be object if x-kubernetes-embedded-resource is true",
        ),
        ({**KEYED, "x-kubernetes-list-type": "atomic"}, "must be map if"),
        ({**KEYED, "x-kubernetes-list-map-keys": ["k", "k"]}, "must not contain duplicate entries"),
        ({**KEYED, "items": {**ITEM, "required": []}}, "must have a default or be a required"),
        ({**KEYED, "items": {**ITEM, "nullable": True}}, "items.nullable: Forbidden"),
        ({**KEYED, "items": _item({"type": "string", "nullable": True})}, "k.nullable: Forbidden"),
        ({**KEYED, "items": _item({"type": "object"})}, "must be a scalar type"),
        (
            {"type": "array", "items": ITEM, "x-kubernetes-list-type": "set"},
            "must be atomic as item of a list with x-kubernetes-list-type=set",
        ),
    ],
)
def test_schemas_that_the_api_server_refuses_have_errors(field: Any, words: str) -> None:
    ((fault, message),) = _check(field)

    assert fault is SchemaFault.STRUCTURE
    assert words in message


def test_the_root_must_have_the_type_object() -> None:
    assert _check({"type": "string"}, type="array", items={"type": "string"}) == [
        (SchemaFault.STRUCTURE, 'type: Invalid value: "array": must be object at the root')
    ]
    assert [problem.message for problem in structural.check({})] == [
        "type: Required value: must not be empty at the root"
    ]


def test_the_root_cannot_preserve_unknown_fields() -> None:
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
    assert SchemaFault.TYPE in [fault for fault, _ in _check(field)]


def test_a_value_that_is_not_a_schema_cannot_be_read() -> None:
    assert _check("string") == [(SchemaFault.TYPE, "`properties.a` must be a mapping")]


def test_unknown_keywords_are_reported() -> None:
    assert _check({"type": "string", "desciprtion": "a"}) == [
        (SchemaFault.UNKNOWN, "`desciprtion` is not a schema keyword")
    ]


def test_without_structure_only_read_errors_are_reported() -> None:
    assert list(structural.check({"properties": {"a": {}}}, structural=False)) == []


def test_depth_is_limited() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(1000):
        schema = {"type": "object", "properties": {"a": schema}}

    (problem,) = structural.check(schema)

    assert problem.message.endswith("nested more than 150 levels deep")


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({"type": "integer", "minimum": 5, "maximum": 3}, "`minimum` 5 is greater than"),
        ({"type": "string", "minLength": 2, "allOf": [{"maxLength": 1}]}, "`minLength` 2"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": -1}, "`maxItems` is -1"),
        (
            {"type": "integer", "minimum": 3, "maximum": 3, "exclusiveMaximum": True},
            "both 3, which is excluded",
        ),
    ],
)
def test_limits_without_a_value_between_them_are_reported(field: Any, words: str) -> None:
    ((fault, message),) = _check(field)

    assert fault is SchemaFault.EMPTY
    assert words in message


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({"format": "int32", "maximum": 4294967295}, "`maximum` 4294967295 is not a number of"),
        ({"format": "int32", "minimum": -4294967295}, "`minimum` -4294967295 is not a number of"),
        ({"format": "int32", "multipleOf": 4294967296}, "`multipleOf` 4294967296 is not a"),
        ({"format": "int32", "maximum": 2147483648}, "`format: int32`"),
        ({"maximum": 9223372036854775807}, "is not a whole number of 64 bits after rounding"),
        ({"minimum": -9223372036854775808}, "is not a whole number of 64 bits after rounding"),
        ({"maximum": 18446744073709551615}, "is not a whole number of 64 bits"),
        ({"maximum": 10**400}, "is not a whole number of 64 bits"),
        ({"minimum": 0.5}, "`minimum` 0.5 is not a whole number of 64 bits"),
        ({"type": "number", "format": "float", "maximum": 1.0e300}, "`format: float`"),
        ({"format": "uint32", "maximum": 4294967295}, ""),
        ({"format": "int32", "maximum": 2147483647}, ""),
        ({"format": "int64", "maximum": 4294967295}, ""),
        ({"type": "number", "format": "int32", "maximum": 4294967295}, ""),
        ({"type": "number", "maximum": 0.5}, ""),
    ],
)
def test_bounds_fit_the_type_and_the_format(field: Any, words: str) -> None:
    """The same as in kube-apiserver 1.36, which refuses each value of these fields."""
    found = _check({"type": "integer", **field})

    assert [fault for fault, _ in found] == ([SchemaFault.BOUND] if words else [])
    assert words in " ".join(message for _, message in found)


def test_limits_can_be_equal() -> None:
    assert _check({"type": "integer", "minimum": 3, "maximum": 3}) == []
