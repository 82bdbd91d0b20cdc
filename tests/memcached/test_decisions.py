"""The decisions of the operator, without a cluster."""

from __future__ import annotations

from typing import Any

import pytest
from memcached_operator import decisions
from memcached_operator.api.v1alpha1.memcached import Memcached

from olmkit.runtime import conditions

NOW = "2024-05-01T00:00:00Z"
IMAGE = "docker.io/library/memcached:1.6-alpine"


def memcached(size: int = 3, **status: Any) -> Memcached:
    return Memcached.from_manifest(
        {
            "apiVersion": "cache.example.com/v1alpha1",
            "kind": "Memcached",
            "metadata": {"name": "m", "namespace": "n", "uid": "u", "generation": 2},
            "spec": {"size": size, "containerPort": 11222},
            **({"status": status} if status else {}),
        }
    )


def deployed(available: int, *, generation: int = 1, seen: int = 1) -> dict[str, Any]:
    made = decisions.deployment_for(memcached(), IMAGE)
    made["metadata"]["generation"] = generation
    made["status"] = {"observedGeneration": seen, "availableReplicas": available}
    return made


def statuses(status: dict[str, Any]) -> dict[str, str]:
    return {one["type"]: one["status"] for one in status["conditions"]}


def test_the_deployment_runs_the_requested_image() -> None:
    made = decisions.deployment_for(memcached(), IMAGE)
    assert made["metadata"]["name"] == "m"
    assert made["spec"]["replicas"] == 3
    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert container["image"] == IMAGE
    assert container["command"][-2:] == ["-p", "11222"]
    assert container["ports"][0]["containerPort"] == 11222


def test_the_selector_matches_the_pods_and_has_no_value_that_changes() -> None:
    made = decisions.deployment_for(memcached(), IMAGE)
    selector = made["spec"]["selector"]["matchLabels"]
    assert selector == {
        "app.kubernetes.io/name": "memcached",
        "app.kubernetes.io/instance": "m",
    }
    labels = made["spec"]["template"]["metadata"]["labels"]
    assert selector.items() <= labels.items()
    assert labels["app.kubernetes.io/version"] == "1.6-alpine"


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("memcached", ""),
        ("memcached:1.6", "1.6"),
        ("registry:5000/memcached", ""),
        ("registry:5000/memcached:1.6", "1.6"),
        ("memcached:1.6@sha256:" + "0" * 64, "1.6"),
        ("memcached@sha256:" + "0" * 64, ""),
        ("memcached:" + "a" * 64, ""),
        ("", ""),
    ],
)
def test_an_image_has_a_version(image: str, version: str) -> None:
    assert decisions.image_version(image) == version


@pytest.mark.parametrize(
    ("deployment", "available"),
    [
        (deployed(3), "True"),
        (deployed(2), "False"),
        (deployed(3, generation=2, seen=1), "False"),
        ({}, "False"),
    ],
)
def test_available_shows_whether_all_pods_are_available(
    deployment: dict[str, Any], available: str
) -> None:
    status = decisions.status_from(memcached(), deployment, [], NOW)
    found = statuses(status)
    assert found["Available"] == available
    assert found["Progressing"] == ("False" if available == "True" else "True")
    assert all(one["observedGeneration"] == 2 for one in status["conditions"])


def test_degraded_has_the_message_of_a_failing_deployment() -> None:
    deployment = deployed(0)
    deployment["status"]["conditions"] = [
        {"type": "ReplicaFailure", "status": "True", "message": "quota exceeded"}
    ]
    status = decisions.status_from(memcached(), deployment, [], NOW)
    found = conditions.find(status["conditions"], "Degraded")
    assert found is not None
    assert (found["status"], found["message"]) == ("True", "quota exceeded")


def test_nodes_are_the_names_of_pods_that_are_not_being_deleted() -> None:
    pods = [
        {"metadata": {"name": "b"}},
        {"metadata": {"name": "a"}},
        {"metadata": {"name": "c", "deletionTimestamp": NOW}},
    ]
    assert decisions.status_from(memcached(), deployed(3), pods, NOW)["nodes"] == ["a", "b"]


def test_an_equal_status_is_not_written() -> None:
    first = decisions.status_from(memcached(), deployed(3), [], NOW)
    again = decisions.status_from(memcached(**first), deployed(3), [], "2025-01-01T00:00:00Z")
    assert again == first


def test_the_api_in_the_code_is_that_of_the_markers(root: Any) -> None:
    crd = (root / "operator/config/crd/bases/cache.example.com_memcacheds.yaml").read_text()
    gvk = Memcached.gvk
    assert f"group: {gvk.group}\n" in crd
    assert f"kind: {gvk.kind}\n" in crd
    assert f"name: {gvk.version}\n" in crd
