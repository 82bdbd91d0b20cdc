"""The objects of a catalog server with several pods are consistent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click
import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.catalog.serving.serve import serve
from olmkit.kube import rollout
from olmkit.olm import catalog_deployment, install_objects
from olmkit.olm.catalog_deployment import CatalogDeployment, FurtherCatalog

WANTED = CatalogDeployment(
    name="shared", namespace="olm", image="quay.io/example/catalog@sha256:" + "a" * 64
)

EDGE = (FurtherCatalog(name="edge", image="quay.io/e/edge:v1"),)


def objects(wanted: CatalogDeployment) -> dict[str, Any]:
    return {one["kind"]: one for one in catalog_deployment.served_objects(wanted)}


def test_all_objects_only_select_the_pods_of_this_catalog() -> None:
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


def test_only_one_of_deployment_and_autoscaler_sets_the_number_of_pods() -> None:
    scaled = objects(replace(WANTED, replicas=3, max_replicas=5))
    assert "replicas" not in scaled["Deployment"]["spec"]
    assert scaled["HorizontalPodAutoscaler"]["spec"]["minReplicas"] == 3
    fixed = objects(replace(WANTED, replicas=3, max_replicas=3))
    assert fixed["Deployment"]["spec"]["replicas"] == 3
    assert "HorizontalPodAutoscaler" not in fixed


def test_a_pod_drains_before_it_ends_and_is_replaced_before_it_is_removed() -> None:
    spec = objects(replace(WANTED, drain=7))["Deployment"]["spec"]
    container = spec["template"]["spec"]["containers"][0]
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert container["lifecycle"] == {"preStop": {"sleep": {"seconds": 7}}}
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] == 37
    undrained = objects(replace(WANTED, drain=0))["Deployment"]["spec"]["template"]["spec"]
    assert "lifecycle" not in undrained["containers"][0]
    assert {"startupProbe", "readinessProbe", "livenessProbe"} <= container.keys()


def test_objects_are_in_the_order_of_applying_and_have_the_label_of_olmkit() -> None:
    made = catalog_deployment.served_objects(WANTED)
    assert all(install_objects.is_ours(one) for one in made)
    assert [one["kind"] for one in rollout.sort_for_apply(made)][-1] == "CatalogSource"


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
        {"tls_secret": "web"},
        {"tls_secret": "a b", "http_port": 8080},
        {"http_port": 443},
        {"http_port": 50051},
        {"further": EDGE, "http_port": 8080, "metrics_port": 8081},
        {"further": EDGE, "metrics_port": 65535},
        {"further": EDGE, "http_port": 50052},
        {"further": (*EDGE, *EDGE)},
        {"further": (FurtherCatalog(name="shared", image="quay.io/e/edge:v1"),)},
        {"further": (FurtherCatalog(name="a.b", image="quay.io/e/edge:v1"),)},
        {"further": (FurtherCatalog(name="edge", image="not an image"),)},
    ],
)
def test_objects_that_the_cluster_would_refuse_are_refused(wrong: dict[str, Any]) -> None:
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


def test_each_catalog_has_a_container_ports_and_a_catalog_source() -> None:
    wanted = replace(WANTED, further=EDGE, http_port=8080, metrics_port=9090, tls_secret="web")
    made = catalog_deployment.served_objects(wanted)
    sources = [one for one in made if one["kind"] == "CatalogSource"]
    assert [(one["metadata"]["name"], one["spec"]["address"]) for one in sources] == [
        ("shared", "shared.olm.svc:50051"),
        ("edge", "shared.olm.svc:50052"),
    ]
    by_kind = objects(wanted)
    pod = by_kind["Deployment"]["spec"]["template"]["spec"]
    assert len({one["name"] for one in pod["containers"]}) == 2
    assert [one["image"] for one in pod["containers"]] == [WANTED.image, "quay.io/e/edge:v1"]
    numbers = [port["containerPort"] for one in pod["containers"] for port in one["ports"]]
    assert numbers == [50051, 8080, 9090, 50052, 8081, 9091]
    assert [port["port"] for port in by_kind["Service"]["spec"]["ports"]] == numbers
    ingress = by_kind["NetworkPolicy"]["spec"]["ingress"][0]["ports"]
    assert [port["port"] for port in ingress] == numbers
    assert [one["readinessProbe"]["grpc"]["port"] for one in pod["containers"]] == [50051, 50052]
    mounted = {one["name"] for one in pod["containers"][1]["volumeMounts"]}
    assert mounted == {one["name"] for one in pod["volumes"]}


def test_variables_of_services_are_not_passed_to_the_server() -> None:
    assert objects(WANTED)["Deployment"]["spec"]["template"]["spec"]["enableServiceLinks"] is False


def test_the_server_has_each_option_that_a_container_sets() -> None:
    wanted = replace(WANTED, further=EDGE, http_port=8080, metrics_port=9090, tls_secret="web")
    set_by_us = set(wanted.containers[1].variables)
    read = {option.envvar for option in serve.params if isinstance(option, click.Option)}
    assert set_by_us == {
        f"OLMKIT_SERVE_{name}"
        for name in ("PORT", "HTTP_PORT", "METRICS_PORT", "NAME", "TLS_CERT", "TLS_KEY")
    }
    assert set_by_us <= read
    assert WANTED.containers[0].variables == {}
