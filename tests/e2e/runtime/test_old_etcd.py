"""Watches of an API server with an etcd that reports no progress, compared with a current one.

Debian's etcd 3.4 is such a version. After a restart of the API server, nothing is sent on the
watch of a kind that does not change: no event and no bookmark.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.api import Resource, WatchEvent
from olmkit.kube.objects import GVK
from olmkit.runtime.manager import Manager
from olmkit.runtime.serve import probes
from olmkit.runtime.serve.probes import CheckFailed
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.reconcile import Request, Result
from olmkit.testing.control_plane import ControlPlane, Programs

pytestmark = pytest.mark.e2e

# Nothing else in the control plane creates or changes one.
QUIET = GVK(group="", version="v1", kind="Secret")
PATIENCE = 6.0  # seconds, instead of five minutes
IDLE = 2.0  # seconds, instead of two and a half minutes


class Impatient(HttpCluster):
    """Opens a silent watch again after two seconds, and counts the watches."""

    opened = 0

    def watch(self, resource: Resource, **options: Any) -> AsyncIterator[WatchEvent]:
        self.opened += resource.gvk == QUIET
        return super().watch(resource, **options, idle_timeout=IDLE)


class SeenNames:
    def __init__(self) -> None:
        self.names: set[str] = set()

    async def reconcile(self, request: Request) -> Result:
        self.names.add(request.name)
        return Result()


@pytest.fixture(scope="module", params=["3.4", "current"])
def plane(
    request: pytest.FixtureRequest,
    control_plane_programs: Programs,
    missing: Callable[[str], NoReturn],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ControlPlane]:
    """A control plane on Debian's etcd, and one on the etcd of the other tests."""
    programs = control_plane_programs
    if request.param == "3.4":
        etcd = shutil.which("etcd")
        if etcd is None:
            missing("etcd is not here: run scripts/system-packages --e2e")
        said = subprocess.run([etcd, "--version"], capture_output=True, text=True, check=True)
        if "etcd Version: 3.4." not in said.stdout:
            pytest.skip(f"this is not etcd 3.4: {said.stdout.splitlines()[0]}")
        programs = replace(programs, etcd=etcd)
    with ControlPlane(folder=tmp_path_factory.mktemp("plane"), programs=programs) as started:
        yield started


def _secret(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}


def test_a_silent_watch_is_healthy_and_an_unreachable_server_is_not(
    plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    seen = SeenNames()

    async def scenario() -> None:
        async with Impatient(kubeconfig.load(paths=[Path(plane.kubeconfig)])) as cluster:
            secrets = await cluster.resource("v1", "Secret")
            await cluster.create(secrets, _secret("first"))
            manager = Manager(cluster, name="quiet")
            manager.add_controller(ControllerBuilder().watches_for(QUIET).build(seen))
            live = probes.watches_kept(manager.cache, patience=PATIENCE)
            running = asyncio.create_task(manager.run())
            await _until(lambda: "first" in seen.names)

            await asyncio.to_thread(plane.stop_server, hard=True)
            with pytest.raises(CheckFailed):
                await _always(live, seconds=PATIENCE + 4)
            await asyncio.to_thread(plane.start_server)
            await _until_passes(live)
            caplog.clear()
            before = cluster.opened
            await _always(live, seconds=3 * PATIENCE)
            assert cluster.opened > before
            complaints = [one.message for one in caplog.records if one.levelno >= logging.WARNING]
            assert not complaints

            await cluster.create(secrets, _secret("second"))
            await _until(lambda: "second" in seen.names)
            manager.stop()
            await running

    with caplog.at_level(logging.INFO):
        asyncio.run(scenario())


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - the server brings it about
            await asyncio.sleep(0.05)


async def _always(live: probes.Check, *, seconds: float) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        await live()
        await asyncio.sleep(0.2)


async def _until_passes(live: probes.Check) -> None:
    async with asyncio.timeout(45):  # the delay between two attempts has grown
        while True:
            try:
                return await live()
            except CheckFailed:
                await asyncio.sleep(0.2)
