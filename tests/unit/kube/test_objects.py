"""Reading objects is lenient: missing and invalid values count as empty."""

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


def test_an_object_has_its_kind_and_name() -> None:
    assert objects.gvk(DEPLOYMENT) == GVK(group="apps", version="v1", kind="Deployment")
    assert str(objects.gvk(DEPLOYMENT)) == "apps/v1, Kind=Deployment"
    assert str(GVK.parse("v1", "Pod")) == "/v1, Kind=Pod"
    assert objects.key(DEPLOYMENT) == ObjectKey(
        group="apps", kind="Deployment", namespace="n", name="d"
    )
    assert objects.labels_of(DEPLOYMENT) == {"a": "b"}
    assert objects.annotations_of(DEPLOYMENT) == {}


@pytest.mark.parametrize("odd", [None, 3, [], {"metadata": 3}, {"metadata": {"name": []}}])
def test_a_value_that_is_not_an_object_is_empty(odd: Any) -> None:
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


def test_only_known_kinds_are_cluster_scoped() -> None:
    assert objects.is_cluster_scoped(GVK(group="", version="v1", kind="Namespace"))
    assert not objects.is_cluster_scoped(GVK(group="other.io", version="v1", kind="Namespace"))


def test_strings_are_read_from_scalars() -> None:
    assert [objects.scalar_text(value) for value in ("a", True, False, 1, 1.5, None, [], {})] == [
        "a", "true", "false", "1", "1.5", "", "", ""
    ]  # fmt: skip
