"""An unchanged scaffolded project on a real cluster."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

PACKAGE = "pond-operator"
PONDS = "ponds.v1alpha1.nature.example.com"
KIND = ("--group", "nature", "--kind", "Pond")


@pytest.fixture(scope="module")
def scaffolded(cluster: Any, run_olmkit: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions, all webhooks, and pods with an image that the cluster has."""
    place = tmp_path_factory.mktemp("scaffolded") / PACKAGE
    run_olmkit.tell("A project, a kind in two versions, and its webhooks")
    image = f"{cluster.registry}/{PACKAGE}:v0.0.1"
    run_olmkit("init", place, "--domain", "example.com", "--image", image)
    run_olmkit("create", "api", "-C", place, *KIND, "--version", "v1alpha1",
           "--image", f"{cluster.registry}/memcached:1", "--image-container-port", "11211",
           "--image-container-command", "memcached,-p,11211", "--run-as-user", "1001")  # fmt: skip
    run_olmkit("create", "api", "-C", place, *KIND, "--version", "v1beta1", "--no-controller")
    run_olmkit("create", "webhook", "-C", place, *KIND, "--version", "v1alpha1", "--defaulting",
           "--validation", "--conversion")  # fmt: skip
    conversion = place / "pond_operator/conversions/pond_v1beta1.py"
    text = conversion.read_text()
    conversion.write_text(re.sub(r"raise CannotConvert\(.*\)", "return manifest", text))
    return place


@pytest.fixture(scope="module")
def image(cluster: Any, run_olmkit: Any, scaffolded: Path, base: str, wheels: Path) -> str:
    name = f"{cluster.registry}/{PACKAGE}:v0.0.1"
    run_olmkit("image", "build", "-C", scaffolded, "-t", name, "--push", "--base", base,
           "--wheels", wheels)  # fmt: skip
    return name


def is_available(cluster: Any, namespace: str, name: str) -> bool:
    status = (cluster.get(PONDS, name, "-n", namespace) or {}).get("status") or {}
    found = {one["type"]: one["status"] for one in status.get("conditions", [])}
    return found == {"Available": "True", "Degraded": "False"}


def test_it_is_deployed_and_its_sample_is_reconciled(
    cluster: Any, run_olmkit: Any, scaffolded: Path, image: str, eventually: Callable[..., Any]
) -> None:
    run_olmkit("deploy", "-C", scaffolded, "--image", image)
    sample = (scaffolded / "config/samples/nature_v1alpha1_pond.yaml").read_text()
    cluster.kubectl("apply", "-n", "default", "-f", "-", text=sample)
    eventually(lambda: is_available(cluster, "default", "pond-sample"), what="it is available")
    deployment = cluster.get("deployment", "pond-sample", "-n", "default")
    assert deployment["spec"]["replicas"] == 1
    cluster.kubectl("patch", PONDS, "pond-sample", "-n", "default", "--type", "merge",
                    "-p", '{"spec": {"size": 2}}')  # fmt: skip
    eventually(
        lambda: (
            cluster.get("deployment", "pond-sample", "-n", "default")["status"].get("readyReplicas")
            == 2
        ),
        what="it has grown",
    )
    cluster.kubectl("delete", PONDS, "pond-sample", "-n", "default")
    eventually(
        lambda: cluster.get("deployment", "pond-sample", "-n", "default") is None,
        what="what it owned is gone",
    )
    run_olmkit("undeploy", "-C", scaffolded, "--yes", "--delete-operands")


def test_it_is_installed_through_a_subscription_with_webhooks_and_both_versions(
    cluster: Any,
    run_olmkit: Any,
    scaffolded: Path,
    image: str,
    namespace: str,
    tmp_path: Path,
    eventually: Callable[..., Any],
) -> None:
    assert image
    run_olmkit("bundle", "generate", "-C", scaffolded, "--version", "0.0.1")
    done = run_olmkit.try_("bundle", "validate", scaffolded / "bundle")
    assert "warning" not in done.out + done.err
    reference = f"{cluster.registry}/{PACKAGE}-bundle:v0.0.1"
    run_olmkit("bundle", "build", scaffolded / "bundle", "-t", reference, "--push")
    (tmp_path / "catalog.yaml").write_text(run_olmkit("catalog", "init", PACKAGE, "-c", "alpha"))
    run_olmkit("catalog", "add", tmp_path, reference, "--channel", "alpha")
    catalog = f"{cluster.registry}/ponds:latest"
    run_olmkit("catalog", "build", tmp_path, "-t", catalog, "--push")
    done = run_olmkit.try_("install", PACKAGE, "--catalog", catalog, "-n", namespace)
    assert f"`{PACKAGE}.v0.0.1` is installed and healthy" in done.out

    for version, name in (("v1alpha1", "old"), ("v1beta1", "new")):
        spec = "{size: 1, containerPort: 11211}" if version == "v1alpha1" else "{}"
        text = (
            f"apiVersion: nature.example.com/{version}\nkind: Pond\n"
            f"metadata: {{name: {name}, namespace: {namespace}}}\nspec: {spec}\n"
        )
        # The conversion changes nothing, so a v1beta1 object without a port is refused.
        if version == "v1beta1":
            assert "containerPort" in cluster.refused("apply", "-f", "-", text=text)
        else:
            cluster.apply(text)
    eventually(lambda: is_available(cluster, namespace, "old"), what="it is available")
    as_beta = cluster.get("ponds.v1beta1.nature.example.com", "old", "-n", namespace)
    assert as_beta["apiVersion"] == "nature.example.com/v1beta1"
    run_olmkit("uninstall", PACKAGE, "-n", namespace, "--delete-operands", "--delete-crds", "--yes")
    assert "pond" not in cluster.kubectl("get", "crd,clusterrole,clusterrolebinding", "-o", "name")


def test_a_project_that_became_namespaced_works_in_its_namespace_and_on_nodes(
    cluster: Any,
    run_olmkit: Any,
    base: str,
    wheels: Path,
    tmp_path: Path,
    eventually: Callable[..., Any],
) -> None:
    place, own = tmp_path / "pen-operator", "pen-operator-system"
    image = f"{cluster.registry}/pen-operator:v0.0.1"
    run_olmkit("init", place, "--domain", "example.com", "--image", image)
    run_olmkit("create", "api", "-C", place, "--group", "farm", "--version", "v1", "--kind", "Pen",
           "--image", f"{cluster.registry}/memcached:1", "--run-as-user", "1001")  # fmt: skip
    run_olmkit("create", "api", "-C", place, "--group", "core", "--version", "v1", "--kind", "Node",
           "--no-resource")  # fmt: skip
    run_olmkit("edit", "-C", place, "--namespaced")
    run_olmkit("image", "build", "-C", place, "-t", image, "--push", "--base", base,
           "--wheels", wheels)  # fmt: skip

    run_olmkit("deploy", "-C", place, "--image", image)
    sample = (place / "config/samples/farm_v1_pen.yaml").read_text()
    for namespace in ("default", own):
        cluster.kubectl("apply", "-n", namespace, "-f", "-", text=sample)

    eventually(lambda: cluster.get("deployment", "pen-sample", "-n", own), what="its pods")

    def log() -> str:
        pods = ("-l", "control-plane=controller-manager")
        return str(cluster.kubectl("logs", "-n", own, *pods, "--tail=-1"))

    eventually(lambda: "reconciling" in log(), what="a Node is reconciled")
    assert "forbidden" not in log().lower()
    assert cluster.get("deployment", "pen-sample", "-n", "default") is None
    run_olmkit("undeploy", "-C", place, "--yes", "--delete-operands")
