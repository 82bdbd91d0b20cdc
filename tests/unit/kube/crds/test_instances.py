from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube.crds import instances

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 5},
                "mode": {"type": "string", "enum": ["a", "b"]},
                "name": {"type": "string", "maxLength": 3, "minLength": 1, "pattern": "^[a-z]+$"},
                "port": {"x-kubernetes-int-or-string": True},
                "list": {"type": "array", "maxItems": 1, "items": {"type": "boolean"}},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "none": {"type": "string", "nullable": True},
                "wide": {"type": "number"},
                "look": {"type": "string", "pattern": "^(?=a)"},
                "slow": {"type": "string", "pattern": "^(a+)+$"},
            },
        },
        "metadata": {"type": "object"},
    },
}


def _found(**spec: Any) -> list[tuple[tuple[str | int, ...], str]]:
    value = {"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}, "spec": spec}
    return list(instances.differences(value, SCHEMA))


@pytest.mark.parametrize(
    "spec",
    [
        {"size": 1},
        {"size": 2.0},
        {"size": 5, "mode": "a", "name": "abc", "port": "http", "list": [True]},
        {"size": 1, "port": 80, "map": {"a": "b"}, "free": {"x": [1]}, "none": None, "wide": 1},
        {"size": 1, "slow": "a" * 100 + "b"},
    ],
)
def test_a_valid_object_has_no_errors(spec: Any) -> None:
    assert _found(**spec) == []


@pytest.mark.parametrize(
    ("spec", "keys", "words"),
    [
        ({}, ("spec",), "lacks the required field `size`"),
        ({"size": "1"}, ("spec", "size"), "must be of type integer, not string"),
        ({"size": True}, ("spec", "size"), "must be of type integer, not boolean"),
        ({"size": 1.5}, ("spec", "size"), "must be of type integer, not number"),
        ({"size": 0}, ("spec", "size"), "must be at least 1"),
        ({"size": 6}, ("spec", "size"), "must be at most 5"),
        ({"size": None}, ("spec", "size"), "must not be null"),
        ({"size": 1, "mode": "c"}, ("spec", "mode"), "must be one of `a`, `b`"),
        ({"size": 1, "name": "abcd"}, ("spec", "name"), "must have at most 3 characters"),
        ({"size": 1, "name": "A"}, ("spec", "name"), "must match `^[a-z]+$`"),
        ({"size": 1, "port": 1.5}, ("spec", "port"), "must be a whole number or a string"),
        ({"size": 1, "list": [1]}, ("spec", "list", 0), "must be of type boolean, not integer"),
        ({"size": 1, "list": [True, True]}, ("spec", "list"), "must have at most 1 items"),
        ({"size": 1, "map": {"a": 1}}, ("spec", "map", "a"), "must be of type string, not integer"),
        ({"size": 1, "other": 1}, ("spec", "other"), "is not in the schema"),
    ],
)
def test_an_invalid_value_is_reported_with_its_place(
    spec: Any, keys: tuple[str | int, ...], words: str
) -> None:
    assert _found(**spec) == [(keys, words)]


def test_an_object_without_spec_is_reported() -> None:
    assert list(instances.differences({"kind": "A"}, SCHEMA)) == [
        ((), "lacks the required field `spec`")
    ]


@pytest.mark.parametrize("name", [[], {}, None, 1, ["a"]])
def test_a_required_name_of_a_wrong_type_is_left_to_the_check_of_the_schema(name: Any) -> None:
    assert (
        list(instances.differences({"a": 1}, {"required": [name], "properties": {"a": {}}})) == []
    )
