"""The operator's image, pushed to a registry, read by skopeo, run by Docker and by containerd."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.api import ClusterError, NotFound
from olmkit.testing.control_plane import ControlPlane
from olmkit.testing.registry import free_port

pytestmark = pytest.mark.e2e

CRDS = Path(__file__).resolve().parent.parent.parent.parent / "operator/config/crd/bases"
IMAGE = "MEMCACHED_IMAGE=memcached:1.6"
MEMCACHED = {
    "apiVersion": "cache.example.com/v1alpha1",
    "kind": "Memcached",
    "metadata": {"namespace": "default"},
    "spec": {"size": 2},
}


def test_skopeo_reads_and_copies_it(
    operator_image: str, skopeo: Callable[..., bytes], tmp_path: Path
) -> None:
    told = json.loads(skopeo("inspect", "--tls-verify=false", f"docker://{operator_image}"))
    assert told["Labels"]["org.opencontainers.image.title"] == "memcached-operator"
    assert f"@{told['Digest']}" in operator_image
    words = ("copy", "-q", "--src-tls-verify=false", f"docker://{operator_image}")
    skopeo(*words, f"oci:{tmp_path}/copy:v1")
    skopeo(*words, f"docker-archive:{tmp_path}/copy.tar:operator:v1")


def test_a_second_build_sends_nothing(
    operator_image: str,
    operator_project: Path,
    base_image: str,
    olmkit: Callable[..., str],
    own_wheel: Any,
) -> None:
    again = json.loads(
        olmkit(
            *("image", "build", "-C", operator_project, "--base", base_image, "--sbom"),
            *("-t", operator_image.partition("@")[0] + ":v0.0.2", "--push", "-o", "json"),
            **own_wheel.environment,
        )
    )
    assert again["result"]["reference"] == operator_image
    assert [piece["outcome"] for piece in again["result"]["pieces"]] == ["present"]


def test_docker_runs_it(
    operator_image: str, docker: Callable[..., str], apiserver: ControlPlane
) -> None:
    port = free_port()
    docker("pull", operator_image)
    config = _readable(apiserver)
    name = docker(
        *("run", "--detach", "--network", "host", "--read-only", "--cap-drop", "ALL"),
        *("--volume", f"{config}:/kubeconfig:ro", "--env", IMAGE, operator_image, *_flags(port)),
    ).strip()
    try:
        asyncio.run(_works(apiserver, port, "in-docker"))
        docker("stop", "--time", "20", name)
        assert docker("inspect", "-f", "{{.State.ExitCode}}", name).strip() == "0"
    except BaseException:
        print(docker("logs", name))  # noqa: T201 - what is seen when it fails
        raise
    finally:
        docker("rm", "--force", name)
        docker("rmi", "--force", operator_image)


def test_containerd_runs_it(
    operator_image: str, ctr: Callable[..., str], apiserver: ControlPlane
) -> None:
    port = free_port()
    ctr("image", "pull", "--plain-http", operator_image)
    mount = f"type=bind,src={_readable(apiserver)},dst=/kubeconfig,options=rbind:ro"
    ctr(
        *("run", "--detach", "--net-host", "--read-only", "--mount", mount, "--env", IMAGE),
        *(operator_image, "operator", "python", "-m", "memcached_operator", *_flags(port)),
    )
    try:
        asyncio.run(_works(apiserver, port, "in-containerd"))
        ctr("task", "kill", "--signal", "SIGTERM", "operator")
        deadline = time.monotonic() + 20
        while "STOPPED" not in ctr("task", "list") and time.monotonic() < deadline:
            time.sleep(0.1)
        assert "STOPPED" in ctr("task", "list")
    finally:
        ctr("task", "rm", "--force", "operator")
        ctr("container", "rm", "operator")
        ctr("image", "rm", operator_image)


def _readable(plane: ControlPlane) -> Path:
    """Return the administrator's kubeconfig for another user than root, with its certificate."""
    value = json.loads(plane.kubeconfig.read_bytes())
    for entry in value["clusters"]:
        certificate = Path(entry["cluster"].pop("certificate-authority")).read_bytes()
        entry["cluster"]["certificate-authority-data"] = base64.b64encode(certificate).decode()
    path = plane.folder / "container.kubeconfig"
    path.write_text(json.dumps(value))
    path.chmod(0o644)
    return path


def _flags(port: int) -> tuple[str, ...]:
    return (
        "--kubeconfig=/kubeconfig",
        f"--health-probe-bind-address=127.0.0.1:{port}",
    )


async def _works(plane: ControlPlane, port: int, name: str) -> None:
    """Assert that probes answer, and that a Memcached gets its Deployment."""
    async with asyncio.timeout(180):
        await _install(plane)
        for probe in ("healthz", "readyz"):
            await asyncio.to_thread(_wait_for, port, probe)
        async with HttpCluster(kubeconfig.load(paths=[plane.kubeconfig])) as cluster:
            kind = await cluster.resource(MEMCACHED["apiVersion"], MEMCACHED["kind"])
            wanted = {**MEMCACHED, "metadata": {"name": name, "namespace": "default"}}
            await cluster.create(kind, wanted)
            deployments = await cluster.resource("apps/v1", "Deployment")
            made = None
            while made is None:
                await asyncio.sleep(0.1)
                with contextlib.suppress(NotFound):
                    made = await cluster.get(deployments, name, namespace="default")
            assert made["spec"]["replicas"] == 2


async def _install(plane: ControlPlane) -> None:
    """Create the CRDs; a server that already has them keeps them."""
    while True:
        async with HttpCluster(kubeconfig.load(paths=[plane.kubeconfig])) as cluster:
            crds = await cluster.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
            for path in sorted(CRDS.glob("*.yaml")):
                for document in documents.load_all(path.read_bytes(), str(path)):
                    name = document.value["metadata"]["name"]
                    try:
                        await cluster.get(crds, name)
                    except NotFound:
                        await cluster.create(crds, document.value)
            try:
                await cluster.list_page(
                    await cluster.resource(MEMCACHED["apiVersion"], MEMCACHED["kind"])
                )
            except ClusterError:
                await asyncio.sleep(0.2)
            else:
                return


def _wait_for(port: int, probe: str) -> None:
    """Return when the probe reports success."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with (
            contextlib.closing(connection),
            contextlib.suppress(OSError, http.client.HTTPException),
        ):
            connection.request("GET", f"/{probe}")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.2)
    raise TimeoutError(probe)
