"""A catalog server with three pods, and the rollout of a new catalog during requests.

No call may fail, and no answer may mix both catalogs. The clients run on the node
and reach the pods through the Service.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.runtime.serve import self_signed

pytestmark = pytest.mark.e2e

CLUSTER = Path(__file__).parents[2] / "cluster"
BUNDLES = 40
CLIENT = """
import sys, time
from olmkit.edges.catalog.client import CatalogClient
import grpc
address, end = sys.argv[1], sys.argv[2]
import pathlib
print("ready", flush=True)
while not pathlib.Path(end).exists():
    # A connection lasts for some calls, as connections of OLM do.
    with CatalogClient(address, timeout=20) as client:
        for _ in range(5):
            try:
                found = client.ask("ListBundles")
            except grpc.RpcError as error:
                print("failed", error.code(), error.details(), flush=True)
                continue
            print("seen", len(found), *sorted({one["version"] for one in found}), flush=True)
"""


def catalog(folder: Path, version: str) -> Path:
    """A catalog in which every bundle has that version."""
    folder.mkdir()
    blobs: list[dict[str, Any]] = []
    for number in range(BUNDLES):
        package = f"package-{number}"
        bundle = f"{package}.v{version}"
        blobs += [
            {"schema": "olm.package", "name": package, "defaultChannel": "stable"},
            {"schema": "olm.channel", "package": package, "name": "stable",
             "entries": [{"name": bundle}]},
            {"schema": "olm.bundle", "package": package, "name": bundle,
             "image": f"quay.io/example/{package}:v{version}",
             "properties": [{"type": "olm.package",
                             "value": {"packageName": package, "version": version}}]},
        ]  # fmt: skip
    (folder / "catalog.json").write_text("\n".join(map(json.dumps, blobs)))
    return folder


@pytest.mark.parametrize("server", ["olmkit", "opm"])
def test_a_rolling_update_fails_no_call_and_mixes_no_answer(
    cluster: Any,
    run_olmkit: Any,
    namespace: str,
    eventually: Callable[..., Any],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    server: str,
) -> None:
    if server == "opm":
        more: list[Any] = ["--base", f"{cluster.registry}/opm:1"]
    else:
        wheels = request.getfixturevalue("wheels")
        more = ["--base", request.getfixturevalue("base"), "--wheels", wheels]
    images = [
        run_olmkit("catalog", "build", catalog(tmp_path / version, version), "--push", "--server",
               server, "-t", f"{cluster.registry}/shared-{server}:v{version}", *more).strip()
        for version in ("1.0.0", "2.0.0")
    ]  # fmt: skip
    cluster.kubectl("create", "namespace", namespace)
    words = ["--name", "shared", "-n", namespace, "--replicas", "3", "--max-replicas", "4"]

    would = run_olmkit("catalog", "deploy", images[0], *words, "--dry-run")
    assert "would create Deployment" in would
    run_olmkit("catalog", "deploy", images[0], *words)

    def replicas() -> int:
        status = cluster.get("deployment", "shared", "-n", namespace)["status"]
        return int(status.get("readyReplicas", 0))

    eventually(lambda: replicas() >= 3, what="the autoscaler makes three pods ready")

    def is_ready() -> bool:
        source = cluster.get("catalogsource", "shared", "-n", namespace)
        state = source.get("status", {}).get("connectionState", {})
        return bool(state.get("lastObservedState") == "READY")

    eventually(is_ready, what="OLM is connected")
    address = cluster.get("service", "shared", "-n", namespace)["spec"]["clusterIP"]
    end = tmp_path / "end"
    clients = [_client(cluster, f"{address}:50051", end) for _ in range(3)]
    try:
        for client in clients:
            assert client.stdout is not None
            assert client.stdout.readline() == "ready\n"
            assert client.stdout.readline().split() == ["seen", str(BUNDLES), "1.0.0"]
        run_olmkit("catalog", "deploy", images[1], *words)
        # Pods that end still answer on their connections.
        eventually(lambda: replicas() == 3 and not _others(cluster, namespace, images[1]),
                   what="only new pods are there")  # fmt: skip
        time.sleep(3)  # for some more answers
    finally:
        end.touch()
        said = [client.communicate(timeout=60)[0] for client in clients]
    for text in said:
        lines = set(text.splitlines())
        assert lines <= {f"seen {BUNDLES} 1.0.0", f"seen {BUNDLES} 2.0.0"}, lines
        assert text.splitlines()[-1] == f"seen {BUNDLES} 2.0.0"
    sys.stdout.write(f"  {sum(text.count('seen') for text in said)} answers\n")
    budget = cluster.get("poddisruptionbudget", "shared", "-n", namespace)
    assert budget["status"]["disruptionsAllowed"] == 1


FETCH = """
import ssl, sys, urllib.request
where, authority, path = sys.argv[1:]
tls = ssl.create_default_context(cafile=authority)
tls.check_hostname = False
with urllib.request.urlopen(where + path, context=tls, timeout=20) as answer:
    print(answer.read().decode())
"""


def test_one_deployment_serves_two_catalogs_over_both_protocols(
    cluster: Any,
    run_olmkit: Any,
    namespace: str,
    eventually: Callable[..., Any],
    base: str,
    wheels: Path,
    tmp_path: Path,
) -> None:
    stable, edge = (
        run_olmkit("catalog", "build", catalog(tmp_path / name, version), "--push", "--server",
               "olmkit", "-t", f"{cluster.registry}/several-{name}:v1", "--base", base,
               "--wheels", wheels).strip()
        for name, version in (("stable", "1.0.0"), ("edge", "2.0.0"))
    )  # fmt: skip
    cluster.kubectl("create", "namespace", namespace)
    certificate, key = self_signed.make()
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    cluster.kubectl("create", "secret", "tls", "web", "-n", namespace,
                    f"--cert={tmp_path}/tls.crt", f"--key={tmp_path}/tls.key")  # fmt: skip
    run_olmkit("catalog", "deploy", stable, "--name", "stable", "-n", namespace, "--replicas", "1",
           "--max-replicas", "1", "--also", f"edge={edge}", "--http-port", "8080",
           "--metrics-port", "9090", "--tls-secret", "web")  # fmt: skip

    def is_ready(name: str) -> bool:
        source = cluster.get("catalogsource", name, "-n", namespace)
        state = source.get("status", {}).get("connectionState", {})
        return bool(state.get("lastObservedState") == "READY")

    for name in ("stable", "edge"):
        eventually(lambda name=name: is_ready(name), what=f"OLM is connected to {name}")
    address = cluster.get("service", "stable", "-n", namespace)["spec"]["clusterIP"]

    def fetch(port: int, path: str) -> str:
        where = [f"https://{address}:{port}", str(tmp_path / "tls.crt"), path]
        return subprocess.run(
            [sys.executable, str(CLUSTER), "exec", sys.executable, "-c", FETCH, *where],
            env={**os.environ, "OLMKIT_CLUSTER": str(cluster.folder)},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        ).stdout

    for number, (name, version) in enumerate((("stable", "1.0.0"), ("edge", "2.0.0"))):
        lines = fetch(8080 + number, f"/catalogs/{name}/api/v1/metas?schema=olm.bundle")
        found = [json.loads(line)["name"] for line in lines.split("\n") if line]
        assert len(found) == BUNDLES
        assert all(one.endswith(version) for one in found)
        assert f'catalog="{name}"' in fetch(9090 + number, "/metrics")


def _others(cluster: Any, namespace: str, image: str) -> list[str]:
    """The pods of the server that have another image, including those that end."""
    pods = json.loads(cluster.kubectl("get", "pods", "-n", namespace, "-o", "json"))["items"]
    return [
        pod["metadata"]["name"]
        for pod in pods
        if image not in {one["image"] for one in pod["spec"]["containers"]}
    ]


def _client(cluster: Any, address: str, end: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(CLUSTER), "exec", sys.executable, "-c", CLIENT, address, str(end)],
        env={**os.environ, "OLMKIT_CLUSTER": str(cluster.folder), "GRPC_VERBOSITY": "NONE"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
