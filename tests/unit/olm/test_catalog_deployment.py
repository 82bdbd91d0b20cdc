"""The objects of a catalog server that several pods share fit each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube import rollout
from olmkit.olm import catalog_deployment, install_objects
from olmkit.olm.catalog_deployment import CatalogDeployment

WANTED = CatalogDeployment(
    name="shared", namespace="olm", image="quay.io/example/catalog@sha256:" + "a" * 64
)


def objects(wanted: CatalogDeployment) -> dict[str, Any]:
    return {one["kind"]: one for one in catalog_deployment.served_objects(wanted)}


def test_everything_selects_the_pods_of_this_catalog_alone() -> None:
    made = objects(WANTED)
    pods = made["Deployment"]["spec"]["template"]["metadata"]["labels"]
    for chosen in (
        made["Deployment"]["spec"]["selector"]["matchLabels"],
        made["Service"]["spec"]["selector"],
        made["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        made["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
    ):
        assert chosen.items() <= pods.items()
        assert "shared" in chosen.values()


def test_the_catalog_source_names_the_service() -> None:
    made = objects(WANTED)
    assert made["CatalogSource"]["spec"]["address"] == "shared.olm.svc:50051"
    assert made["Service"]["metadata"] == made["CatalogSource"]["metadata"]
    assert made["Service"]["spec"]["ports"][0]["targetPort"] == 50051


def test_only_one_of_deployment_and_autoscaler_says_how_many_pods() -> None:
    scaled = objects(replace(WANTED, replicas=3, max_replicas=5))
    assert "replicas" not in scaled["Deployment"]["spec"]
    assert scaled["HorizontalPodAutoscaler"]["spec"]["minReplicas"] == 3
    fixed = objects(replace(WANTED, replicas=3, max_replicas=3))
    assert fixed["Deployment"]["spec"]["replicas"] == 3
    assert "HorizontalPodAutoscaler" not in fixed


def test_a_pod_drains_before_it_ends_and_no_pod_goes_before_another_is_ready() -> None:
    spec = objects(replace(WANTED, drain=7))["Deployment"]["spec"]
    container = spec["template"]["spec"]["containers"][0]
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert container["lifecycle"] == {"preStop": {"sleep": {"seconds": 7}}}
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] == 37
    undrained = objects(replace(WANTED, drain=0))["Deployment"]["spec"]["template"]["spec"]
    assert "lifecycle" not in undrained["containers"][0]
    assert {"startupProbe", "readinessProbe", "livenessProbe"} <= container.keys()


def test_the_order_is_that_of_applying_and_all_is_ours() -> None:
    made = catalog_deployment.served_objects(WANTED)
    assert all(install_objects.is_ours(one) for one in made)
    assert [one["kind"] for one in rollout.ordered(made)][-1] == "CatalogSource"


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "1st"},
        {"name": "a.b"},
        {"namespace": "A"},
        {"image": "not an image"},
        {"replicas": 0},
        {"replicas": 9, "max_replicas": 3},
        {"max_replicas": 1000},
        {"memory": "much"},
        {"cpu": "-1"},
        {"secrets": ("a b",)},
    ],
)
def test_what_the_cluster_would_refuse_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        replace(WANTED, **wrong)


def test_a_cluster_catalog_is_polled_only_by_its_tag() -> None:
    made = catalog_deployment.cluster_catalog("mine", "quay.io/e/c:v1", priority=3, poll_minutes=9)
    assert made["spec"] == {
        "priority": 3,
        "source": {"type": "Image", "image": {"ref": "quay.io/e/c:v1", "pollIntervalMinutes": 9}},
    }
    with pytest.raises(ConfigurationError, match="cannot be polled"):
        catalog_deployment.cluster_catalog("mine", WANTED.image, poll_minutes=9)
