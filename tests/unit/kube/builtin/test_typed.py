from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube.builtin import typed
from olmkit.kube.builtin.typed import TypeMisfit

CONTAINER = {"name": "a", "image": "b"}


def _found(value: Any, kind: str) -> list[tuple[TypeMisfit, tuple[str | int, ...]]]:
    return [(found.misfit, found.keys) for found in typed.read(value, kind)[1]]


def test_a_valid_object_is_unchanged() -> None:
    value = {"kind": "ConfigMap", "metadata": {"name": "a", "labels": {"b": "c"}}, "data": {}}

    assert typed.read(value, "ConfigMap") == (value, ())


@pytest.mark.parametrize(
    ("value", "keys"),
    [
        ({"data": []}, ("data",)),
        ({"immutable": "true"}, ("immutable",)),
        ({"immutable": 1}, ("immutable",)),
        ({"metadata": "a"}, ("metadata",)),
        ({"metadata": {"finalizers": {}}}, ("metadata", "finalizers")),
        ({"metadata": {"finalizers": [["a"]]}}, ("metadata", "finalizers", 0)),
        ({"metadata": {"generation": "1"}}, ("metadata", "generation")),
        ({"metadata": {"generation": True}}, ("metadata", "generation")),
        ({"metadata": {"generation": 1.5}}, ("metadata", "generation")),
        ({"data": {"a": []}}, ("data", "a")),
    ],
)
def test_a_value_of_a_wrong_type_is_removed_and_reported(
    value: Any, keys: tuple[str | int, ...]
) -> None:
    assert _found(value, "ConfigMap") == [(TypeMisfit.TYPE, keys)]


def test_null_matches_every_type_and_a_whole_float_is_an_integer() -> None:
    assert _found({"data": None, "metadata": {"generation": 2.0}}, "ConfigMap") == []


def test_numbers_and_booleans_count_as_strings_with_a_warning() -> None:
    value, found = typed.read({"data": {"a": True, "b": 1.5}}, "ConfigMap")

    assert value == {"data": {"a": "true", "b": "1.5"}}
    assert [difference.misfit for difference in found] == [TypeMisfit.TEXT, TypeMisfit.TEXT]


def test_the_case_of_keys_is_ignored() -> None:
    value, found = typed.read({"DATA": {"a": "b"}}, "ConfigMap")

    assert value == {"data": {"a": "b"}}
    assert [(difference.misfit, difference.wanted) for difference in found] == [
        (TypeMisfit.CASE, "data")
    ]


@pytest.mark.parametrize("keys", [("Data", "data", "DATA"), ("DATA", "data"), ("data", "Data")])
def test_of_several_spellings_the_one_that_sorts_last_counts(keys: tuple[str, ...]) -> None:
    value, _ = typed.read({key: {"a": key} for key in keys}, "ConfigMap")

    assert value == {"data": {"a": "data"}}


def test_of_two_other_spellings_the_one_that_sorts_last_counts() -> None:
    value, _ = typed.read({"dAta": {"a": "b"}, "DATA": {"a": "c"}}, "ConfigMap")

    assert value == {"data": {"a": "b"}}


def test_unknown_keys_are_removed_and_reported_except_for_a_status() -> None:
    value, found = typed.read({"datum": {}, "status": {"a": 1}}, "ConfigMap")

    assert value == {"status": {"a": 1}}
    assert [difference.keys for difference in found] == [("datum",)]


def test_missing_required_fields_are_reported() -> None:
    found = _found({"containers": [{"image": "a"}]}, "PodSpec")

    assert found == [(TypeMisfit.MISSING, ("containers", 0))]


@pytest.mark.parametrize("amount", ["500m", "1Gi", "1.5", ".5", "1e3", "-2", 1, 0.5])
def test_quantities_that_kubernetes_accepts_are_accepted(amount: Any) -> None:
    value = {**CONTAINER, "resources": {"limits": {"cpu": amount}}}

    assert _found(value, "Container") == []


@pytest.mark.parametrize("amount", ["1 Gi", "1gb", "many", "", True, []])
def test_quantities_that_kubernetes_refuses_are_refused(amount: Any) -> None:
    value = {**CONTAINER, "resources": {"limits": {"cpu": amount}}}

    assert _found(value, "Container") == [(TypeMisfit.TYPE, ("resources", "limits", "cpu"))]


def test_a_boolean_or_a_list_can_replace_a_schema_where_the_type_allows_it() -> None:
    schema = {"additionalProperties": True, "items": [{"type": "string"}], "properties": {}}

    assert _found(schema, "JSONSchemaProps") == []
    assert _found({"items": "a"}, "JSONSchemaProps") == [(TypeMisfit.TYPE, ("items",))]


def test_an_opaque_type_is_accepted_without_a_check() -> None:
    value = {"openAPIV3Schema": ["anything"]}

    read, found = typed.read(
        value, "CustomResourceValidation", opaque=frozenset({"JSONSchemaProps"})
    )

    assert (read, found) == (value, ())


def test_depth_is_limited() -> None:
    schema: dict[str, Any] = {}
    for _ in range(2000):
        schema = {"not": schema}

    typed.read(schema, "JSONSchemaProps")


def test_the_nearest_field_is_suggested() -> None:
    assert typed.closest_field("miniKubeVersion", "ClusterServiceVersionSpec") == "minKubeVersion"
    assert typed.closest_field("zzz", "ClusterServiceVersionSpec") == ""
    assert typed.closest_field("zzz", "NoSuchType") == ""


def test_types_are_known_by_name() -> None:
    assert typed.knows("ConfigMap")
    assert not typed.knows("Unheard")
