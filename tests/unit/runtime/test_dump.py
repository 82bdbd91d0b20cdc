"""The contents of a dump and a profile of a process."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import aiohttp
import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.runtime import dump
from olmkit.runtime.manager import Group, Manager
from olmkit.runtime.serve import debug_server
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.reconcile import Request
from olmkit.testing.apiserver.server import ApiServer

TOY = Resource(gvk=GVK(group="toys.example.com", version="v1", kind="Toy"), plural="toys")


class Sleeper:
    """A pass that does not end."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    async def reconcile(self, request: Request) -> None:
        password = "hunter2"
        await self._wait_for(request, password)

    async def _wait_for(self, _: Request, __: str) -> None:
        self.begun.set()
        await asyncio.Event().wait()


def test_a_dump_shows_where_a_pass_waits_and_no_values(capfd: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> tuple[str, str, list[tuple[int, str]]]:
        async with ApiServer.of([TOY]).serving() as api:
            async with HttpCluster(ClusterConfig(server=api.url)) as cluster:
                metadata = {"name": "bear", "namespace": "default"}
                toy = {"apiVersion": "toys.example.com/v1", "kind": "Toy", "metadata": metadata}
                await cluster.create(TOY, toy)
                manager = Manager(cluster, name="toys", graceful_shutdown_timeout=0)
                sleeper = Sleeper()
                manager.add_controller(ControllerBuilder().watches_for(TOY.gvk).build(sleeper))
                server = debug_server.server(("127.0.0.1", 0), manager)
                manager.add(server, Group.SERVERS)
                running = asyncio.create_task(manager.run(), name="the manager")
                await asyncio.wait_for(sleeper.begun.wait(), 20)
                give_back = dump.on_signal(manager)
                os.kill(os.getpid(), signal.SIGUSR1)
                printed = capfd.readouterr().err
                give_back()
                answers = await _ask(server.port)
                manager.stop()
                await running
                return printed, answers[0][1], answers

    before = signal.getsignal(signal.SIGUSR1)
    printed, tasks, answers = asyncio.run(scenario())
    assert signal.getsignal(signal.SIGUSR1) is before
    for text in (printed, tasks):
        assert "controller toy: 0 waiting, 1 of 1 workers busy\n  default/bear for " in text
        assert f"watch {TOY.gvk}: synced" in text
        assert "task the manager: Manager.run" in text
        assert "Sleeper.reconcile" in text
        assert "Sleeper._wait_for" in text
        assert "thread MainThread" in text
        assert "hunter2" not in text
    assert [status for status, _ in answers] == [200, 200, 400, 400, 400, 403, 409]
    assert "_run_once" in answers[1][1]
    stack, _, count = answers[1][1].splitlines()[0].rpartition(" ")
    assert ";" in stack
    assert int(count) > 0


async def _ask(port: int) -> list[tuple[int, str]]:
    url = f"http://127.0.0.1:{port}/debug"
    found: list[tuple[int, str]] = []

    async def get(path: str, **headers: str) -> None:
        async with session.get(url + path, headers=headers) as answer:
            found.append((answer.status, await answer.text()))

    async with aiohttp.ClientSession() as session:
        await get("/tasks")
        await get("/profile?seconds=0.3")
        for wrong in ("0", "61", "nan"):
            await get(f"/profile?seconds={wrong}")
        await get("/tasks", Host="rebound.example.com")
        async with asyncio.TaskGroup() as group:
            first = group.create_task(session.get(f"{url}/profile?seconds=0.5"))
            await asyncio.sleep(0.1)
            await get("/profile?seconds=0.1")
        first.result().release()
    return found


@pytest.mark.parametrize("host", [None, "10.0.0.7", "example.com", "::"])
def test_the_debug_server_only_listens_on_loopback(host: str | None) -> None:
    manager = Manager.__new__(Manager)
    with pytest.raises(ConfigurationError, match="it must be a loopback address"):
        debug_server.server((host, 6060), manager)


def test_a_profile_shows_running_functions() -> None:
    with dump.Profile(period=0.002) as taken:
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            sum(range(1000))
    assert "test_a_profile_shows_running_functions" in taken.folded()
