"""One operator with a kind in Python, a kind with a chart and a kind with a playbook."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.hybrid import mixed, process
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.client import Client
from olmkit.runtime.manager import Manager
from olmkit.runtime.process import Operator
from olmkit.runtime.work.reconcile import Request
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.waiting import until

HERE = Path(__file__).parent
GROUP = "demo.example.com"
CONFIG = GVK("", "v1", "ConfigMap")
RESOURCES = [
    *(
        Resource(gvk=GVK(GROUP, "v1", kind), plural=plural, subresources=frozenset({"status"}))
        for kind, plural in (("Note", "notes"), ("Site", "sites"), ("Cache", "caches"))
    ),
    Resource(gvk=CONFIG, plural="configmaps"),
    Resource(gvk=GVK("", "v1", "Secret"), plural="secrets"),
    Resource(gvk=GVK("events.k8s.io", "v1", "Event"), plural="events"),
]
WATCHES = b"""\
- group: demo.example.com
  version: v1
  kind: Site
  chart: helm-charts/cache
- group: demo.example.com
  version: v1
  kind: Cache
  playbook: play.yml
  vars: {origin: $ORIGIN}
"""


def test_flags_of_all_kinds_and_of_the_operator_are_accepted() -> None:
    def nothing(_: Manager, __: Any, ___: Any) -> None:
        """No controllers."""

    operator = Operator(
        name="mixed",
        lock="mixed",
        add_controllers=nothing,
        add_flags=lambda parser: parser.add_argument("--own"),
        workers=3,
    )
    program = process.Program(
        name="mixed",
        workers=operator.workers,
        period=None,
        add_flags=mixed.add_flags,
        describe=mixed.build_operator,
        around=operator,
    )
    words = ["--helm=/bin/helm", "--run-timeout=1m", "--own=x", "--watches-file=w.yaml"]
    given = process.parse_flags(program, words)
    assert (given.own.helm, given.own.run_timeout, given.own.own) == ("/bin/helm", 60, "x")
    assert (given.workers, given.own.reconcile_period) == (3, None)


@contextlib.asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[Client, dict[str, str]]]:
    """A project in a directory, the double, and the environment of its operator."""
    chart = folder / "helm-charts" / "cache"
    chart.mkdir(parents=True)
    (chart / "Chart.yaml").write_text("name: cache\nversion: 0.1.0\n")
    (folder / "play.yml").write_text("[]\n")
    (folder / "watches.yaml").write_bytes(WATCHES)
    fake = HERE / "helm" / "fake_helm.py"
    helm = folder / "helm"
    helm.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fake}" "$@"\n')
    helm.chmod(0o700)
    async with ApiServer.of(RESOURCES).serving() as server:
        config = {
            "clusters": [{"name": "a", "cluster": {"server": server.url}}],
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "users": [{"name": "a", "user": {}}],
            "current-context": "a",
        }
        (folder / "kubeconfig").write_text(json.dumps(config))
        environment = os.environ | {
            "KUBECONFIG": str(folder / "kubeconfig"),
            "CALLS": str(folder / "calls"),
            "FAKE": str(HERE / "ansible" / "fake_ansible.py"),
        }
        async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
            yield Client(cluster, None, field_manager="test"), environment


async def operator(
    folder: Path, environment: dict[str, str], *words: str
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / "operator_with_watches.py"),
        f"--helm={folder / 'helm'}",
        "--health-probe-bind-address=0",
        *words,
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


async def create(client: Client, kind: str, **spec: Any) -> None:
    await client.create(
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": kind,
            "metadata": {"name": kind.lower(), "namespace": "ns"},
            "spec": spec,
        }
    )


def test_all_kinds_are_reconciled_in_one_process(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(tmp_path) as (client, environment):
            await create(client, "Note", text="hello")
            await create(client, "Site", size="1")
            await create(client, "Cache", config="made")
            process = await operator(tmp_path, environment)
            try:
                for name, data in (
                    ("note", {"text": "hello"}),
                    ("site", {"size": "1"}),
                    ("made", {"a": "b"}),
                ):

                    async def there(name: str = name, data: dict[str, str] = data) -> bool:
                        found = await client.get(CONFIG, Request(name, "ns"))
                        return found is not None and found["data"] == data

                    await until(there, seconds=120, what=name)
            finally:
                process.send_signal(signal.SIGTERM)
                output, _ = await process.communicate()
            assert process.returncode == 0, output.decode()

    asyncio.run(scenario())


def test_once_also_reconciles_the_kinds_of_the_file(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(tmp_path) as (client, environment):
            await create(client, "Site", size="1")
            await create(client, "Cache", config="made")
            process = await operator(tmp_path, environment, "--once", "--check")
            output, _ = await process.communicate()
            assert process.returncode == 1
            assert "Site ns/site:\n  install the release" in output.decode()
            assert "Cache ns/cache:" in output.decode()
            assert await client.get(CONFIG, Request("made", "ns")) is None

    asyncio.run(scenario())
