"""Transformations of an overlay for all its resources."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import Location
from olmkit.base.documents import Document
from olmkit.project.kustomize import fields as kustomize_fields
from olmkit.project.kustomize import transforms as kustomize_transforms
from olmkit.project.kustomize.fields import Lists
from olmkit.project.kustomize.resources import Resource

AT = Location(path="k", line=1)
DIGEST = "sha256:" + "a" * 64


def resource(kind: str, api_version: str = "v1", **fields: Any) -> Resource:
    value = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **fields}
    return Resource(value, Document(value, path="x"))


def pod(image: str) -> Resource:
    return resource("Pod", spec={"containers": [{"image": image}]})


@pytest.mark.parametrize(
    ("image", "entry", "result"),
    [
        ("controller:latest", {"name": "controller", "newTag": "v1"}, "controller:v1"),
        ("controller", {"name": "controller", "newName": "r.io/c"}, "r.io/c"),
        ("controller:v1", {"name": "controller", "newName": "r.io/c"}, "r.io/c:v1"),
        (f"c@{DIGEST}", {"name": "c", "newTag": "v1"}, "c:v1"),
        ("c:v1", {"name": "c", "digest": DIGEST}, f"c@{DIGEST}"),
        ("c", {"name": "c", "newTag": "v1", "digest": DIGEST}, f"c:v1@{DIGEST}"),
        ("r.io:5000/c:v1", {"name": "r.io:5000/c", "newTag": "v2"}, "r.io:5000/c:v2"),
        ("other:v1", {"name": "c", "newTag": "v2"}, "other:v1"),
        ("prefix/c:v1", {"name": "c", "newTag": "v2"}, "prefix/c:v1"),
        ("c:v1", {"name": "c", "newTag": 2}, "c:2"),
    ],
)
def test_images_are_changed(image: str, entry: dict[str, Any], result: str) -> None:
    found = pod(image)
    kustomize_transforms.set_images([found], entry, AT, Lists())
    assert found.value["spec"]["containers"][0]["image"] == result


def test_images_in_definitions_are_unchanged() -> None:
    found = resource("CustomResourceDefinition", spec={"containers": [{"image": "c:v1"}]})
    kustomize_transforms.set_images([found], {"name": "c", "newTag": "v2"}, AT, Lists())
    assert found.value["spec"]["containers"][0]["image"] == "c:v1"


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("a", ("a", "", "")),
        ("r:5000/a", ("r:5000/a", "", "")),
        ("r:5000/a:v1", ("r:5000/a", "v1", "")),
        (f"a:v1@{DIGEST}", ("a", "v1", DIGEST)),
    ],
)
def test_an_image_has_a_name_a_tag_and_a_digest(image: str, parts: tuple[str, str, str]) -> None:
    assert kustomize_transforms.split_image(image) == parts


def test_namespaces_are_set_on_namespaced_resources() -> None:
    space, node, thing = resource("Namespace"), resource("Node"), resource("Thing", "a.io/v1")
    kustomize_transforms.set_namespace([space, node, thing], "n", Lists())
    assert space.value["metadata"] == {"name": "n"}
    assert node.value["metadata"] == {"name": "x"}
    assert thing.value["metadata"] == {"name": "x", "namespace": "n"}


def test_definitions_and_namespaces_get_no_prefix() -> None:
    kinds = [resource("CustomResourceDefinition"), resource("Namespace"), resource("Secret")]
    kustomize_transforms.add_affixes(kinds, "a-", "-z", Lists())
    assert [item.name for item in kinds] == ["x", "x", "a-x-z"]


def test_labels_are_added_to_selectors_on_request() -> None:
    found = resource("Deployment", "apps/v1", spec={"template": {}})
    specs = (kustomize_fields.LABELS, *kustomize_fields.SELECTORS)
    kustomize_transforms.add_pairs([found], {"a": "b"}, specs)
    assert found.value["metadata"]["labels"] == {"a": "b"}
    assert found.value["spec"]["selector"]["matchLabels"] == {"a": "b"}
    assert found.value["spec"]["template"] == {}


def test_replicas_are_set() -> None:
    found = resource("Deployment", "apps/v1")
    kustomize_transforms.set_replicas([found], "x", 3, AT, Lists())
    assert found.value["spec"]["replicas"] == 3
