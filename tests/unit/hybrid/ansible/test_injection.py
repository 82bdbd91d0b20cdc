"""Requests of a run: their meaning, and the owner of the objects that they create."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.hybrid import primaries
from olmkit.hybrid.ansible import injection
from olmkit.hybrid.ansible.injection import ApiPath
from olmkit.kube.objects import GVK

OWNER: dict[str, Any] = {
    "apiVersion": "cache.example.com/v1",
    "kind": "Memcached",
    "metadata": {"name": "one", "namespace": "ns", "uid": "u-1"},
}
REFERENCE = {"apiVersion": "cache.example.com/v1", "kind": "Memcached", "name": "one", "uid": "u-1"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/namespaces/ns/pods", ("", "v1", "pods", "ns", "", "")),
        ("/api/v1/namespaces/ns/pods/a/log", ("", "v1", "pods", "ns", "a", "log")),
        ("/api/v1/namespaces/ns", ("", "v1", "namespaces", "", "ns", "")),
        ("/api/v1/namespaces/ns/finalize", ("", "v1", "namespaces", "", "ns", "finalize")),
        ("/apis/apps/v1/deployments", ("apps", "v1", "deployments", "", "", "")),
        ("/apis/apps/v1", None),
        ("/api", None),
        ("/version", None),
        ("/openapi/v3/apis/apps/v1", None),
    ],
)
def test_a_path_has_its_parts(path: str, expected: tuple[str, ...] | None) -> None:
    found = injection.parse_path(path)
    parts = (
        (found.group, found.version, found.plural, found.namespace, found.name, found.subresource)
        if found
        else None
    )
    assert parts == expected


def test_only_post_and_apply_create_objects() -> None:
    path = ApiPath(group="", version="v1", plural="configmaps", namespace="ns", name="a")
    assert injection.creates("POST", path, "application/json")
    assert injection.creates("PATCH", path, "application/apply-patch+yaml")
    assert not injection.creates("PATCH", path, "application/merge-patch+json")
    assert not injection.creates("PUT", path, "application/json")
    assert not injection.creates("POST", path, "application/vnd.kubernetes.protobuf")
    below = ApiPath(group="", version="v1", plural="pods", name="a", subresource="eviction")
    assert not injection.creates("POST", below, "application/json")


def test_an_object_next_to_its_owner_gets_a_reference() -> None:
    made = injection.add_owner({"kind": "ConfigMap"}, OWNER, namespace="ns")
    assert made["metadata"]["ownerReferences"] == [REFERENCE]
    other = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u-2"}
    manifest = {"metadata": {"ownerReferences": [other, {**REFERENCE, "uid": "old"}]}}
    made = injection.add_owner(manifest, OWNER, namespace="ns")
    assert made["metadata"]["ownerReferences"] == [other, REFERENCE]
    assert injection.add_owner(made, OWNER, namespace="ns") == made
    assert injection.belongs(made, OWNER)


@pytest.mark.parametrize("namespace", ["", "elsewhere"])
def test_in_another_namespace_annotations_name_the_owner(namespace: str) -> None:
    manifest = {"metadata": {"annotations": {"a": "b"}}}
    made = injection.add_owner(manifest, OWNER, namespace=namespace)
    assert made["metadata"]["annotations"] == {
        "a": "b",
        "operator-sdk/primary-resource": "ns/one",
        "operator-sdk/primary-resource-type": "Memcached.cache.example.com",
    }
    assert injection.belongs(made, OWNER)
    assert not injection.belongs(manifest, OWNER)
    kind = GVK(group="cache.example.com", version="v2", kind="Memcached")
    assert primaries.find_owner(made["metadata"]["annotations"], kind) == ("ns", "one")
    assert (
        primaries.find_owner(made["metadata"]["annotations"], kind._replace(kind="Other")) is None
    )


def test_an_owner_without_a_namespace_can_own_any_object() -> None:
    owner = {**OWNER, "metadata": {"name": "one", "uid": "u-1"}}
    made = injection.add_owner({}, owner, namespace="elsewhere")
    assert [one["uid"] for one in made["metadata"]["ownerReferences"]] == ["u-1"]


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"{", b'{"metadata": []}'])
def test_another_value_is_not_an_object(body: bytes) -> None:
    assert injection.read(body) is None
