"""The owners of a chart's objects, and their drift."""

from __future__ import annotations

from typing import Any

from olmkit.hybrid.helm import drift

OWNER = {
    "apiVersion": "demo.example.com/v1",
    "kind": "Cache",
    "metadata": {"name": "one", "namespace": "ns", "uid": "u1"},
}


def live(kind: str = "ConfigMap", namespace: str = "ns", **more: Any) -> dict[str, Any]:
    metadata = {"name": "c", "uid": "u2"} | ({"namespace": namespace} if namespace else {}) | more
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def test_an_object_of_the_same_namespace_gets_a_reference() -> None:
    found = drift.ownership(OWNER, live(), chart="cache")
    assert found is not None
    reference = found["metadata"]["ownerReferences"][0]
    assert (reference["uid"], reference["controller"]) == ("u1", True)
    assert found["metadata"]["labels"] == {drift.CHART_LABEL: "cache"}
    # With the UID, the server refuses to create the object again.
    assert found["metadata"]["uid"] == "u2"
    both = {"labels": {drift.CHART_LABEL: "cache"}, "ownerReferences": [{"uid": "u1"}]}
    assert drift.ownership(OWNER, live(**both), chart="cache") is None


def test_other_objects_get_annotations() -> None:
    for namespace in ("", "other"):
        found = drift.ownership(OWNER, live(namespace=namespace), chart="cache")
        assert found is not None
        assert found["metadata"]["annotations"] == {
            "operator-sdk/primary-resource": "ns/one",
            "operator-sdk/primary-resource-type": "Cache.demo.example.com",
        }
        assert "ownerReferences" not in found["metadata"]


def test_a_kept_object_is_recognized() -> None:
    assert drift.is_kept(live(annotations={"helm.sh/resource-policy": "keep"}))
    assert not drift.is_kept(live())


def test_fields_that_the_server_sets_are_not_drift() -> None:
    one = live(resourceVersion="1", generation=1, managedFields=[]) | {"status": {"a": 1}}
    other = live(resourceVersion="2", generation=2) | {"status": {"a": 2}}
    assert not drift.is_changed(one, other)


def test_drift_shows_no_secret() -> None:
    old = live("Secret") | {"data": {"password": "b2xk"}}
    new = live("Secret") | {"data": {"password": "bmV3"}}
    assert drift.is_changed(old, new)
    assert list(drift.differences(old, new)) == ["replace /data/password: '***'"]
    assert list(drift.differences(live(labels={"a": "1"}), live(labels={"a": "2"}))) == [
        "replace /metadata/labels/a: '2'"
    ]


def test_applied_objects_have_the_labels_of_helm() -> None:
    made = drift.as_helm_applies(live(labels={"a": "b"}), release="one", namespace="ns")
    assert made["metadata"]["labels"] == {"a": "b", "app.kubernetes.io/managed-by": "Helm"}
    assert made["metadata"]["annotations"]["meta.helm.sh/release-name"] == "one"
