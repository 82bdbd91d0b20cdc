"""One catalog served in every supported way, and OLM installs from each.

By OLM's own pod from an image of olmkit with the server of olmkit or opm (its probes run
`grpc_health_probe` in the container), by its pod from a data image, by
`olmkit catalog serve`, and by `opm serve`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

PACKAGE = "memcached-operator"
PORT = 15300
CLUSTER = Path(__file__).parents[2] / "cluster"


@pytest.fixture(scope="module")
def folder(catalog_of: Callable[..., Path]) -> Path:
    return catalog_of("0.0.1")


@pytest.fixture
def installed(cluster: Any, run_olmkit: Any, namespace: str) -> Iterator[Callable[..., None]]:
    """Install with arguments, and check; everything is removed again."""

    def install(*words: str) -> None:
        run_olmkit("install", PACKAGE, "-n", namespace, *words)
        csv = cluster.get("csv", f"{PACKAGE}.v0.0.1", "-n", namespace)
        assert csv["status"]["phase"] == "Succeeded"

    yield install
    run_olmkit.try_("uninstall", PACKAGE, "-n", namespace, "--delete-crds", "--yes", code=None)


@pytest.mark.parametrize("server", ["none", "olmkit", "opm", "opm-cached"])
def test_the_pod_of_olm_serves_an_image_of_olmkit(
    cluster: Any,
    run_olmkit: Any,
    base: str,
    wheels: Path,
    folder: Path,
    installed: Callable[..., None],
    server: str,
) -> None:
    tag = f"{cluster.registry}/catalog:server-{server}"
    more = {
        "none": ["--server", "none"],
        "olmkit": ["--server", "olmkit", "--base", base, "--wheels", wheels],
        "opm": ["--server", "opm", "--base", f"{cluster.registry}/opm:1"],
        "opm-cached": ["--server", f"{cluster.registry}/opm:1", "--opm-cache"],
    }[server]
    run_olmkit("catalog", "build", folder, "-t", tag, "--push", *more)

    installed("--catalog", tag)


def test_the_opm_of_the_cluster_serves_files_and_a_cache(
    cluster: Any,
    run_olmkit: Any,
    namespace: str,
    folder: Path,
    eventually: Callable[..., Any],
) -> None:
    """OLM copies both directories out of the image; its opm ends if the cache does not match."""
    tag = f"{cluster.registry}/catalog:with-cache"
    pinned = run_olmkit("catalog", "build", folder, "-t", tag, "--push", "--opm-cache").strip()
    cluster.kubectl("create", "namespace", namespace)
    source = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": "cached", "namespace": namespace},
        "spec": {
            "sourceType": "grpc",
            "image": pinned,
            "grpcPodConfig": {
                "securityContextConfig": "restricted",
                "extractContent": {"catalogDir": "/configs", "cacheDir": "/cache"},
            },
        },
    }
    cluster.apply(json.dumps(source))

    def is_ready() -> bool:
        found = cluster.get("catalogsource", "cached", "-n", namespace)
        state = found.get("status", {}).get("connectionState", {})
        return bool(state.get("lastObservedState") == "READY")

    eventually(is_ready, what="OLM is connected")
    pods = json.loads(cluster.kubectl("get", "pods", "-n", namespace, "-o", "json"))["items"]
    (container,) = pods[0]["spec"]["containers"]
    assert "--cache-dir=/extracted-catalog/cache" in container["args"]
    log = cluster.kubectl("logs", "-n", namespace, pods[0]["metadata"]["name"])
    assert "found existing cache contents" in log
    assert "building cache" not in log


def test_olmkit_serves_on_this_machine(
    cluster: Any,
    run_olmkit: Any,
    folder: Path,
    installed: Callable[..., None],
) -> None:
    words = ["catalog", "serve", folder, "--host", cluster.outside, "--port", str(PORT)]
    process = run_olmkit.start(*words)
    try:
        assert process.stdout is not None
        assert "serving" in process.stdout.readline()
        installed("--catalog-address", f"{cluster.outside}:{PORT}")
    finally:
        process.terminate()
        process.communicate()


def test_opm_serves_on_this_machine(
    cluster: Any, folder: Path, tmp_path: Path, installed: Callable[..., None]
) -> None:
    opm = str(cluster.programs["opm"] / "opm")
    words = [opm, "serve", str(folder), "-p", str(PORT), "--cache-dir", str(tmp_path / "cache")]
    words += ["--cache-enforce-integrity=false", "--termination-log", str(tmp_path / "end")]
    process = subprocess.Popen(
        [sys.executable, str(CLUSTER), "exec", *words, "--pprof-addr", "127.0.0.1:0"],
        env={"OLMKIT_CLUSTER": str(cluster.folder), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        # The processes of OLM connect to it; they run on the node.
        installed("--catalog-address", f"127.0.0.1:{PORT}")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
