from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube.builtin import fits, typed

CRD = "CustomResourceDefinition"


def schema(**value: Any) -> dict[str, Any]:
    return {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": value}}]}}


FITTING = [
    pytest.param(None, id="nothing"),
    pytest.param({"spec": None, "unknown": [1]}, id="unknown fields"),
    pytest.param(schema(type="object", properties={"a": {"items": {"type": "x"}}}), id="items"),
    pytest.param(schema(items=[{"type": "x"}], additionalProperties=True), id="choices"),
    pytest.param(schema(additionalProperties={"type": "x"}), id="the other choice"),
    pytest.param(schema(dependencies={"a": ["b"], "c": {"type": "d"}}), id="dependencies"),
    pytest.param(schema(enum=[1, "a", None, {"b": []}], default=1.5, maximum=1.5), id="values"),
    pytest.param(schema(minLength=3, nullable=True, required=["a"]), id="scalars"),
]
UNSURE = [
    pytest.param([], id="a list at the top"),
    pytest.param(schema(type=["object"]), id="a list for a text"),
    pytest.param(schema(type=5), id="a number for a text"),
    pytest.param(schema(nullable="yes"), id="a text for a truth value"),
    pytest.param(schema(minLength=1.0), id="a fraction for a whole number"),
    pytest.param(schema(minLength=2**40), id="a large number"),
    pytest.param(schema(required="a"), id="a text for a list"),
    pytest.param(schema(properties=[1]), id="a list for a mapping"),
    pytest.param(schema(additionalProperties="x"), id="none of the choices"),
    pytest.param(schema(items=[1]), id="a number for a schema"),
    pytest.param({"spec": {"versions": {"a": 1}}}, id="a mapping for a list"),
]


@pytest.mark.parametrize("value", FITTING)
def test_a_valid_object_is_accepted_at_once(value: Any) -> None:
    assert fits.fits(value, CRD)
    assert not [
        found
        for found in typed.read(value, CRD)[1]
        if found.misfit in (typed.TypeMisfit.TYPE, typed.TypeMisfit.TEXT)
    ]


@pytest.mark.parametrize("value", UNSURE)
def test_unusual_values_are_left_to_the_exact_check(value: Any) -> None:
    assert not fits.fits(value, CRD)


def test_quantities_and_ports_are_accepted() -> None:
    assert fits.fits({"httpGet": {"port": "http"}}, "Probe")
    assert not fits.fits({"limits": {"cpu": "500m"}}, "ResourceRequirements")


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        ((), CRD),
        (("spec", "versions", 0, "name"), "s"),
        (("spec", "versions", 0, "schema", "openAPIV3Schema"), "JSONSchemaProps"),
        (("spec", "nothing", "below"), ""),
    ],
)
def test_a_place_has_a_type(keys: tuple[Any, ...], kind: str) -> None:
    assert typed.kind_at(CRD, keys) == kind


@pytest.mark.parametrize(
    ("keys", "kind"),
    [
        (("items",), "JSONSchemaPropsOrArray"),
        (("items", 0), "JSONSchemaProps"),
        (("properties", "items"), "JSONSchemaProps"),
        (("dependencies", "a"), "JSONSchemaPropsOrStringArray"),
        (("dependencies", "a", 0), "s"),
        (("additionalProperties", "type"), "s"),
    ],
)
def test_a_place_in_a_schema_has_a_type(keys: tuple[Any, ...], kind: str) -> None:
    assert typed.kind_at("JSONSchemaProps", keys) == kind
