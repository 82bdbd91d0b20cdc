"""Fields by path."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.kube.objects import GVK
from olmkit.project.kustomize import fields
from olmkit.project.kustomize.fields import FieldSpec, Lists


@pytest.mark.parametrize(
    ("path", "create", "result"),
    [
        ("a/b", False, {"a": {"b": "new"}, "l": [{"x": 1}, {"x": 2}]}),
        ("l/x", False, {"a": {"b": 1}, "l": [{"x": "new"}, {"x": "new"}]}),
        ("l[]/x", False, {"a": {"b": 1}, "l": [{"x": "new"}, {"x": "new"}]}),
        ("c/d", False, {"a": {"b": 1}, "l": [{"x": 1}, {"x": 2}]}),
        ("c/d", True, {"a": {"b": 1}, "l": [{"x": 1}, {"x": 2}], "c": {"d": "new"}}),
        ("a/b/c", False, {"a": {"b": 1}, "l": [{"x": 1}, {"x": 2}]}),
    ],
)
def test_a_field_is_changed_in_every_place_of_its_path(
    path: str, create: bool, result: dict[str, Any]
) -> None:
    value: dict[str, Any] = {"a": {"b": 1}, "l": [{"x": 1}, {"x": 2}]}
    fields.update(value, FieldSpec(path=path, create=create), lambda _: "new")
    assert value == result


def test_a_slash_can_be_part_of_a_step() -> None:
    assert fields.steps("metadata/annotations/a.b\\/c") == ("metadata", "annotations", "a.b/c")


def test_a_spec_applies_to_its_kinds() -> None:
    api = GVK(group="apps", version="v1", kind="Deployment")
    assert FieldSpec(path="x").applies(api)
    assert FieldSpec(path="x", kind="Deployment", group="apps").applies(api)
    assert not FieldSpec(path="x", version="v2").applies(api)


def test_configurations_add_to_the_lists() -> None:
    text = b"""
nameReference:
- kind: Issuer
  group: cert-manager.io
  fieldSpecs: [{kind: Certificate, path: spec/issuerRef/name}]
images: [{kind: Thing, path: spec/image}]
varReference: [{path: metadata/annotations}]
"""
    lists = fields.configuration(documents.load(text, "c.yaml"))
    joined = Lists().joined(lists).joined(lists)
    assert joined == lists
    assert lists.references[0].kind == "Issuer"
    assert lists.images == (FieldSpec(path="spec/image", kind="Thing"),)


@pytest.mark.parametrize("key", ["templateLabels", "odd"])
def test_other_lists_are_refused(key: str) -> None:
    with pytest.raises(InputError, match=key):
        fields.configuration(documents.load(f"{key}: []".encode(), "c.yaml"))
