"""Reading objects is lenient: what is missing or odd counts as empty."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube import objects
from olmkit.kube.objects import GVK, ObjectKey

DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "n", "labels": {"a": "b", "odd": 3}},
    "spec": {"template": {"spec": {"containers": []}}},
}


def test_an_object_says_what_it_is() -> None:
    assert objects.gvk(DEPLOYMENT) == GVK(group="apps", version="v1", kind="Deployment")
    assert str(objects.gvk(DEPLOYMENT)) == "apps/v1, Kind=Deployment"
    assert str(GVK.parse("v1", "Pod")) == "/v1, Kind=Pod"
    assert objects.key(DEPLOYMENT) == ObjectKey(
        group="apps", kind="Deployment", namespace="n", name="d"
    )
    assert objects.labels_of(DEPLOYMENT) == {"a": "b"}
    assert objects.annotations_of(DEPLOYMENT) == {}


@pytest.mark.parametrize("odd", [None, 3, [], {"metadata": 3}, {"metadata": {"name": []}}])
def test_what_is_not_an_object_is_empty(odd: Any) -> None:
    assert objects.name(odd) == objects.namespace(odd) == ""
    assert objects.labels_of(odd) == {}


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Pod", {"x": 1}),
        ("Deployment", {"template": {"spec": {"x": 1}}}),
        ("CronJob", {"jobTemplate": {"spec": {"template": {"spec": {"x": 1}}}}}),
    ],
)
def test_the_pod_spec_is_found(kind: str, spec: dict[str, Any]) -> None:
    assert objects.pod_spec({"kind": kind, "spec": spec}) == {"x": 1}


def test_only_known_kinds_have_no_namespace() -> None:
    assert objects.is_cluster_scoped(GVK(group="", version="v1", kind="Namespace"))
    assert not objects.is_cluster_scoped(GVK(group="other.io", version="v1", kind="Namespace"))


def test_texts_are_taken_from_scalars() -> None:
    assert [objects.scalar_text(value) for value in ("a", True, False, 1, 1.5, None, [], {})] == [
        "a", "true", "false", "1", "1.5", "", "", ""
    ]  # fmt: skip
