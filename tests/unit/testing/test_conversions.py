"""What conversions lose: fields that the other version does not have, values that it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.runtime import CannotConvert, Manifest
from olmkit.testing import conversion_losses


def crd(**versions: dict[str, Any]) -> Manifest:
    """A CRD whose versions have these fields in `spec`."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "spec": {
            "versions": [
                {
                    "name": name,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "required": ["spec"],
                            "properties": {
                                "apiVersion": {"type": "string"},
                                "kind": {"type": "string"},
                                "metadata": {"type": "object"},
                                "spec": {"type": "object", "properties": fields},
                            },
                        }
                    },
                }
                for name, fields in versions.items()
            ]
        },
    }


def same(manifest: Manifest) -> Manifest:
    return manifest


def losses(definition: Manifest, forth: Any = same, back: Any = same) -> list[str]:
    return conversion_losses(definition, "v1", "v2", forth=forth, back=back)


def renamed(old: str, new: str) -> Any:
    def rename(manifest: Manifest) -> Manifest:
        spec = {new if key == old else key: value for key, value in manifest["spec"].items()}
        return {**manifest, "spec": spec}

    return rename


SIZE = {"size": {"type": "integer", "default": 3}}
EVERYTHING = {
    "flag": {"type": "boolean"},
    "size": {"type": "integer", "minimum": 1},
    "name": {"type": "string", "pattern": "^[a-z]+$"},
    "color": {"type": "string", "enum": ["red", "blue"]},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "items": {"type": "array", "items": {"type": "object", "properties": SIZE}},
    "either": {"x-kubernetes-int-or-string": True},
}


def test_the_same_types_lose_nothing() -> None:
    assert losses(crd(v1=EVERYTHING, v2=EVERYTHING)) == []


def test_a_field_that_the_other_version_lacks_is_lost() -> None:
    assert losses(crd(v1=SIZE, v2={})) == ["`.spec.size` was 1 and is 3"]


@pytest.mark.parametrize("name", EVERYTHING)
def test_each_kind_of_field_is_detected(name: str) -> None:
    rest = {key: value for key, value in EVERYTHING.items() if key != name}
    assert losses(crd(v1=EVERYTHING, v2=rest)) == [f"`.spec.{name}` is lost"]


def test_a_field_inside_an_item_is_lost() -> None:
    empty = {"type": "array", "items": {"type": "object"}}
    found = losses(crd(v1=EVERYTHING, v2=EVERYTHING | {"items": empty}))
    assert found == ["`.spec.items[0].size` was 1 and is 3"]


def test_a_default_that_is_returned_differently_is_a_change() -> None:
    other = {"size": {"type": "integer", "default": 4}}
    definition = crd(v1=SIZE, v2=other)
    dropping = renamed("size", "gone")
    assert "`.spec.size` was 3 and is 4" in losses(definition, forth=dropping)


def test_a_complete_conversion_loses_nothing() -> None:
    definition = crd(v1=SIZE, v2={"replicas": {"type": "integer", "default": 1}})
    forth, back = renamed("size", "replicas"), renamed("replicas", "size")
    assert losses(definition, forth, back) == []
    assert losses(definition, forth) == ["`.spec.size` was 1 and is 3"]


def test_each_value_of_an_enum_is_tried() -> None:
    colors = {"color": {"type": "string", "enum": ["red", "blue"]}}
    fewer = {"color": {"type": "string", "enum": ["red"]}}
    (found,) = losses(crd(v1=colors, v2=fewer))
    assert found.startswith('`v2` refuses `.spec.color`: Unsupported value: "blue"')


def test_a_value_that_cannot_be_converted_is_reported() -> None:
    def never(_: Manifest) -> Manifest:
        raise CannotConvert("not written")

    assert losses(crd(v1=SIZE, v2=SIZE), forth=never) == ["cannot convert: not written"]


def test_an_annotation_must_be_restored() -> None:
    def bare(manifest: Manifest) -> Manifest:
        return {**manifest, "metadata": {"name": manifest["metadata"]["name"]}}

    assert losses(crd(v1=SIZE, v2=SIZE), back=bare) == ["`.metadata.annotations` is lost"]


def test_an_unknown_version_is_reported_with_the_existing_ones() -> None:
    with pytest.raises(ValueError, match="no version `v3`, only `v1`, `v2`"):
        conversion_losses(crd(v1={}, v2={}), "v1", "v3", forth=same, back=same)
