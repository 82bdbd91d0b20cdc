"""An Ansible operator as a whole with failures around it, on the API server double."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import Location
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.connection import Connection
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.run_proxy import RunProxy
from olmkit.edges.programs.ansible.runs import RunContent
from olmkit.hybrid.ansible.controllers import AnsibleEntry, AnsibleOperator
from olmkit.hybrid.ansible.reconciler import RunSettings
from olmkit.hybrid.ansible.watches import AnsibleWatch
from olmkit.kube.api import NotFound, Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.client import Client
from olmkit.runtime.manager import Manager
from olmkit.runtime.metrics import Registry
from olmkit.runtime.work.reconcile import Request
from olmkit.testing import tasks
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.faults import Fault, FaultProxy
from olmkit.testing.waiting import until
from tests.processes import wait_for_end
from tests.unit.hybrid.ansible import runners

CACHE = GVK("demo.example.com", "v1", "Cache")
CONFIG = GVK("", "v1", "ConfigMap")
RESOURCES = [
    Resource(gvk=CACHE, plural="caches", subresources=frozenset({"status"})),
    Resource(gvk=CONFIG, plural="configmaps"),
    Resource(gvk=GVK("events.k8s.io", "v1", "Event"), plural="events"),
]
HERE = Path(__file__).parent
FAKE = (sys.executable, str(HERE / "fake_ansible.py"))
both = pytest.mark.parametrize("runner", runners.NAMES)
LIMIT = 300.0  # seconds; a busy machine needs time


@dataclass(eq=False)
class Harness:
    """The double, a client of it, and the proxy between it and the operator."""

    folder: Path
    client: Client
    proxy: FaultProxy
    runner: str
    is_away: bool = False
    registry: Registry = field(default_factory=Registry)

    @contextlib.asynccontextmanager
    async def operator(
        self, command: Sequence[str], *, workers: int = 1, **environment: str
    ) -> AsyncIterator[Manager]:
        """The operator in this process, through the proxy."""
        config = ClusterConfig(server=f"http://{self.proxy.host}")
        content = RunContent(playbook=self.folder / "play.yml")
        watch = AnsibleWatch(gvk=CACHE, at=Location("watches.yaml"), playbook="play.yml")
        operator = AnsibleOperator(
            entries=[
                AnsibleEntry(
                    watch=watch, content=content, finalizing=content, workers=workers, verbosity=0
                )
            ],
            runner=runners.runner(
                self.runner, command, {"PATH": "/usr/bin:/bin", **environment}, self.folder
            ),
            proxy=RunProxy(Connection(config, user_agent="test")),
            settings=RunSettings(folder=self.folder / "runs"),
            now=lambda: "2026-01-01T00:00:00Z",
            clock=time.monotonic,
        )
        async with HttpCluster(config) as cluster:
            manager = Manager(cluster, name="test", registry=self.registry)
            operator.add_controllers(manager)
            try:
                async with tasks.running(manager):
                    yield manager
            finally:
                operator.close()

    async def create(self, name: str, **spec: Any) -> None:
        await self.client.create(
            {
                "apiVersion": CACHE.api_version,
                "kind": "Cache",
                "metadata": {"name": name, "namespace": "ns"},
                "spec": spec,
            }
        )

    async def change(self, name: str, **spec: Any) -> None:
        owner = await self.client.require(CACHE, Request(name, "ns"))
        await self.client.patch(owner, {**owner, "spec": spec})

    async def has_condition(self, name: str, type_: str) -> bool:
        owner = await self.client.require(CACHE, Request(name, "ns"))
        listed = owner.get("status", {}).get("conditions", [])
        return any(one["type"] == type_ and one["status"] == "True" for one in listed)

    def errors(self) -> int:
        """Return how many passes raised an error."""
        line = 'controller_runtime_reconcile_errors_total{controller="cache-v1-controller"} '
        return int(float(self.registry.render().partition(line)[2].partition("\n")[0] or 0))

    async def config(self, name: str) -> Any:
        return await self.client.get(CONFIG, Request(name, "ns"))

    def left(self, name: str) -> Path:
        return self.folder / "runs" / "demo.example.com" / "v1" / "Cache" / "ns" / name


@contextlib.asynccontextmanager
async def harness(folder: Path, runner: str = runners.NAMES[0]) -> AsyncIterator[Harness]:
    def plan(_: str, __: str) -> Fault | None:
        return Fault.CUT_BEFORE if made.is_away else None

    async with ApiServer.of(RESOURCES).serving() as server:
        async with FaultProxy(upstream=server.url, plan=plan) as proxy:
            async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
                made = Harness(folder, Client(cluster, None, field_manager="test"), proxy, runner)
                yield made


@both
def test_two_hundred_objects_have_one_run_each_with_four_at_a_time(
    tmp_path: Path, runner: str
) -> None:
    async def scenario() -> None:
        async with harness(tmp_path, runner) as found:
            names = [f"one-{number}" for number in range(200)]
            for name in names:
                await found.create(name)
            log = tmp_path / "log"
            log.touch()
            fake = ("/bin/sh", str(HERE / "fake_run.sh"))
            async with found.operator(fake, workers=4, LOG=str(log), TOGETHER="4"):

                async def all_done() -> bool:
                    if log.read_text().count("end ") < len(names):
                        return False
                    return all([await found.has_condition(name, "Successful") for name in names])

                await until(all_done, seconds=LIMIT)
            running, most = set(), 0
            for line in log.read_text().splitlines():
                word, _, name = line.partition(" ")
                if word == "start":
                    assert name not in running
                    running.add(name)
                else:
                    running.remove(name)
                most = max(most, len(running))
            assert most == 4
            assert sorted(log.read_text().split("\n")) == sorted(
                ["", *(f"{word} {name}" for word in ("start", "end") for name in names)]
            )

    asyncio.run(scenario())


@both
def test_an_api_server_that_stops_during_a_run_causes_one_more_run(
    tmp_path: Path, runner: str
) -> None:
    async def scenario() -> None:
        async with harness(tmp_path, runner) as found:
            go = tmp_path / "go"
            await found.create("one", config="made", wait=str(go))
            async with found.operator(FAKE):
                await until(found.left("waits").exists, seconds=LIMIT)
                found.is_away = True
                go.touch()
                # The run's request fails, so it ends; its result cannot be written.
                calls = found.left("calls")
                await until(lambda: found.errors() >= 1, seconds=LIMIT)
                assert await found.config("made") is None
                found.is_away = False

                async def done() -> bool:
                    return await found.has_condition("one", "Successful")

                await until(done, seconds=LIMIT)
                assert await found.config("made") is not None
                assert len(calls.read_text().splitlines()) >= 2

    asyncio.run(scenario())


def test_a_run_that_its_operator_left_cannot_reach_the_cluster(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with harness(tmp_path) as found:
            go = tmp_path / "go"
            (tmp_path / "play.yml").write_text("[]\n")
            (tmp_path / "watches.yaml").write_text(
                "- {group: demo.example.com, version: v1, kind: Cache, playbook: play.yml}\n"
            )
            await found.create("one", config="late", wait=str(go))
            words = (sys.executable, str(HERE.parent / "operator_with_watches.py"))
            kubeconfig = tmp_path / "kubeconfig"
            kubeconfig.write_text(
                f"clusters: [{{name: a, cluster: {{server: 'http://{found.proxy.host}'}}}}]\n"
                "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
                "users: [{name: a, user: {}}]\ncurrent-context: a\n"
            )
            environment = os.environ | {
                "FAKE": FAKE[1],
                "KUBECONFIG": str(kubeconfig),
                "TMPDIR": str(tmp_path),
            }

            async def start() -> asyncio.subprocess.Process:
                return await asyncio.create_subprocess_exec(
                    *words,
                    "--health-probe-bind-address=0",
                    cwd=tmp_path,
                    env=environment,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                )

            def waiting() -> Path | None:
                return next(tmp_path.rglob("waits"), None)

            operator = await start()
            file = await until(waiting, seconds=LIMIT)
            left = int(await until(file.read_text, seconds=LIMIT))
            operator.kill()
            await operator.wait()
            await found.change("one", config="now")
            operator = await start()
            try:

                async def done() -> bool:
                    return await found.has_condition("one", "Successful")

                await until(done, seconds=LIMIT)
                assert await found.config("now") is not None
                go.touch()
                await asyncio.to_thread(wait_for_end, left, LIMIT)
                assert await found.config("late") is None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(left, signal.SIGKILL)
                operator.send_signal(signal.SIGTERM)
                await operator.wait()

    asyncio.run(scenario())


@both
def test_a_deleted_object_of_a_run_is_not_reconciled_again(tmp_path: Path, runner: str) -> None:
    async def scenario() -> None:
        async with harness(tmp_path, runner) as found:
            go = tmp_path / "go"
            await found.create("one", config="made", wait=str(go))
            async with found.operator(FAKE):
                await until(found.left("waits").exists, seconds=LIMIT)
                with contextlib.suppress(NotFound):
                    await found.client.delete(CACHE, Request("one", "ns"))
                go.touch()
                await until(lambda: not found.left("one").exists(), seconds=LIMIT)
                await found.create("two", config="other")

                async def done() -> bool:
                    return await found.has_condition("two", "Successful")

                await until(done, seconds=LIMIT)
                assert found.errors() == 0

    asyncio.run(scenario())
