"""One operator with kinds in Python, with Helm and with Ansible, and a real API server."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.api import NoSuchKind, NotFound
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.work.reconcile import Request
from olmkit.testing.control_plane import ControlPlane

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        importlib.util.find_spec("ansible") is None, reason="needs the extra `ansible`"
    ),
]

GROUP = "demo.example.com"
CONFIG = GVK("", "v1", "ConfigMap")
OPERATOR = Path(__file__).parents[2] / "unit" / "hybrid" / "operator_with_watches.py"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
WATCHES = f"""\
- {{group: {GROUP}, version: v1, kind: Chartered, chart: chart}}
- {{group: {GROUP}, version: v1, kind: Played, role: played}}
"""
TEMPLATE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {text: "{{ .Values.text }}"}
"""
TASKS = """\
- set_fact:
    config: "{{ lookup('file', lookup('env', 'KUBECONFIG')) | from_json }}"
- uri:
    url: "{{ config.clusters[0].cluster.server }}/api/v1/namespaces/default/configmaps/\
{{ ansible_operator_meta.name }}?fieldManager=play&force=true"
    method: PATCH
    headers: {Content-Type: application/apply-patch+yaml}
    body_format: json
    status_code: [200, 201]
    body:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ ansible_operator_meta.name }}"}
      data: {text: "{{ text }}"}
"""
KINDS = ("Note", "Chartered", "Played")


def crd(kind: str) -> Manifest:
    lower = kind.lower()
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": OPEN, "status": OPEN}}
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{lower}s.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind,
                "plural": f"{lower}s",
                "singular": lower,
                "listKind": f"{kind}List",
            },
            "scope": "Namespaced",
            "versions": [version],
        },
    }


async def until(what: Callable[[], Any]) -> Any:
    async with asyncio.timeout(240):
        while True:
            with contextlib.suppress(NoSuchKind, NotFound):
                if found := await what():
                    return found
            await asyncio.sleep(0.2)


def test_all_three_reconcile_their_objects(
    apiserver: ControlPlane, built_program: Callable[[str], str], tmp_path: Path
) -> None:
    for name, text in (
        ("watches.yaml", WATCHES),
        ("chart/Chart.yaml", "{apiVersion: v2, name: chart, version: 0.1.0}\n"),
        ("chart/templates/map.yaml", TEMPLATE),
        ("roles/played/tasks/main.yml", TASKS),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    async def scenario(client: Client) -> None:
        for kind in KINDS:
            await client.create(crd(kind))
        for kind in KINDS:

            async def create(kind: str = kind) -> Any:
                metadata = {"name": f"of-{kind.lower()}", "namespace": "default"}
                return await client.create(
                    {
                        "apiVersion": f"{GROUP}/v1",
                        "kind": kind,
                        "metadata": metadata,
                        "spec": {"text": "first"},
                    }
                )

            await until(create)

        async def has(text: str) -> bool:
            found = [
                await client.get(CONFIG, Request(f"of-{kind.lower()}", "default")) for kind in KINDS
            ]
            return all(one is not None and one["data"] == {"text": text} for one in found)

        await until(lambda: has("first"))
        for kind in KINDS:
            gvk, name = GVK(GROUP, "v1", kind), Request(f"of-{kind.lower()}", "default")

            async def change(gvk: GVK = gvk, name: Request = name) -> Any:
                owner = await client.require(gvk, name)
                return await client.patch(owner, {**owner, "spec": {"text": "second"}})

            await until(change)
        await until(lambda: has("second"))

    async def whole() -> None:
        config = kubeconfig.load(paths=[apiserver.kubeconfig], environment={})
        async with HttpCluster(config) as cluster:
            await scenario(Client(cluster, None, field_manager="test"))

    helm = Path(built_program("helm")).parent / "helm"
    words = [
        *(sys.executable, str(OPERATOR), f"--kubeconfig={apiserver.kubeconfig}"),
        *(f"--helm={helm}", "--health-probe-bind-address=0"),
    ]
    environment = os.environ | {"WATCH_NAMESPACE": "default", "ANSIBLE_GATHERING": "explicit"}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=log, stderr=log)
    try:
        asyncio.run(whole())
    finally:
        process.terminate()
        process.wait(60)
        print((tmp_path / "log").read_text()[-4000:])  # noqa: T201 - shown when it fails
