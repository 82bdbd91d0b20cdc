"""The order in which objects are applied."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube import rollout


def new_object(kind: str, api: str = "v1", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def test_dependencies_come_first_and_webhooks_last() -> None:
    heap = [
        new_object("Cache", "example.com/v1"),
        new_object("ValidatingWebhookConfiguration", "admissionregistration.k8s.io/v1"),
        new_object("Deployment", "apps/v1"),
        new_object("ConfigMap"),
        new_object("ClusterRole", "rbac.authorization.k8s.io/v1"),
        new_object("Issuer", "cert.k8s.io/v1"),
        new_object("CustomResourceDefinition", "apiextensions.k8s.io/v1"),
        new_object("ServiceAccount"),
        new_object("Namespace"),
    ]

    assert [one["kind"] for one in rollout.sort_for_apply(heap)] == [
        "Namespace",
        "CustomResourceDefinition",
        "ServiceAccount",
        "ConfigMap",
        "ClusterRole",
        "Issuer",
        "Deployment",
        "ValidatingWebhookConfiguration",
        "Cache",
    ]


def deployment(*containers: str) -> dict[str, Any]:
    pod = {"containers": [{"name": name, "image": "old"} for name in containers]}
    return new_object("Deployment", "apps/v1", template={"spec": pod})


def images(manifest: dict[str, Any]) -> list[str]:
    return [one["image"] for one in manifest["spec"]["template"]["spec"]["containers"]]


@pytest.mark.parametrize(
    ("containers", "expected"),
    [(("manager", "proxy"), ["new", "old"]), (("only",), ["new"])],
)
def test_the_operators_container_gets_the_image(
    containers: tuple[str, ...], expected: list[str]
) -> None:
    before = deployment(*containers)

    (after,) = rollout.with_image([before], "new")

    assert images(after) == expected
    assert "new" not in images(before), "the input is not changed"


def test_an_invalid_image_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="`manager`"):
        rollout.with_image([deployment("a", "b"), new_object("ConfigMap")], "new")


def test_deployments_are_waited_for() -> None:
    assert len(rollout.workloads([deployment("a"), new_object("ConfigMap")])) == 1
