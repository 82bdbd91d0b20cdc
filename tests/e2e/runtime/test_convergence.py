"""A real API server that is disconnected, paused, killed and compacted: no object is missed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.api import ClusterError, Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.manager import Manager
from olmkit.runtime.watch.predicate import GENERATION_CHANGED
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.reconcile import Request

if TYPE_CHECKING:
    from conftest import OperatorPlane

pytestmark = pytest.mark.e2e

KIND = GVK(group="cache.example.com", version="v1alpha1", kind="Memcached")
RUNS = int(os.environ.get("OLMKIT_RUNS", "25"))
NAMES = [f"m{number}" for number in range(20)]
CONVERGENCE = 2.0  # seconds after the last fault of the network
RESTARTED = 70.0  # after a restart: the delay while nothing listens, twice at most


@dataclass
class Line:
    """Forwards TCP connections to the API server, and closes them as an unreliable network does."""

    port: int
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            writer.transport.abort()
            return
        self.open |= {writer, far}
        tasks = [
            asyncio.create_task(_pump(reader, far)),
            asyncio.create_task(_pump(far_reader, writer)),
        ]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.open -= {writer, far}
        for one in (writer, far):
            one.close()

    def cut(self, *, hard: bool) -> None:
        for one in list(self.open):
            if hard:
                one.transport.abort()
            else:
                one.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()


@dataclass
class World:
    """What the controller saw last of each object, compared with the server's objects."""

    direct: HttpCluster
    resource: Resource
    line: Line
    seen: dict[str, tuple[str, int] | None] = field(default_factory=dict)
    manager: Manager | None = None

    async def reconcile(self, request: Request) -> None:
        assert self.manager is not None
        found = await self.manager.client.get(KIND, request)
        self.seen[request.name] = found and (
            found["metadata"]["uid"],
            found["metadata"]["generation"],
        )

    async def put(self, name: str, size: int) -> None:
        manifest = {
            "apiVersion": self.resource.api_version,
            "kind": "Memcached",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"size": size, "containerPort": 11211},
        }
        await self.direct.create(self.resource, manifest)

    async def drop(self, name: str) -> None:
        await self.direct.delete(self.resource, name, namespace="default")

    async def shake(self, source: random.Random) -> None:
        """Create, delete, and create again under the same name; some at the same time."""
        for name in source.sample(NAMES, 5):
            with contextlib.suppress(ClusterError):
                await self.drop(name)
            if source.random() < 0.8:
                with contextlib.suppress(ClusterError):
                    await self.put(name, source.randint(1, 5))

    async def missing(self) -> dict[str, Any]:
        page = await self.direct.list_page(self.resource, namespace="default")
        found = [json.loads(item)["metadata"] for item in page.items]
        truth = {one["name"]: (one["uid"], one["generation"]) for one in found}
        expected = dict.fromkeys(self.seen, None) | truth
        return {name: one for name, one in expected.items() if self.seen.get(name, 0) != one}

    async def converge(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while missing := await self.missing():
            assert loop.time() < end, missing
            await asyncio.sleep(0.05)


@asynccontextmanager
async def controlled(operator_plane: OperatorPlane) -> AsyncIterator[World]:
    line = Line(operator_plane.plane.port)
    server = await asyncio.start_server(line.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    words = json.loads(operator_plane.plane.kubeconfig.read_text())
    words["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    path = operator_plane.plane.folder / "line.kubeconfig"
    path.write_text(json.dumps(words))
    try:
        async with (
            operator_plane.cluster() as direct,
            HttpCluster(kubeconfig.load(paths=[path])) as cluster,
        ):
            resource = await direct.resource(KIND.api_version, KIND.kind)
            world = World(direct, resource, line)
            world.manager = manager = Manager(cluster, name="tests")
            builder = ControllerBuilder().watches_for(KIND, GENERATION_CHANGED)
            manager.add_controller(builder.build(world))
            running = asyncio.create_task(manager.run())
            try:
                await world.converge(30)
                yield world
            finally:
                manager.stop()
                await running
    finally:
        server.close()


def test_random_disconnects_and_compactions_are_recovered_at_once(
    operator_plane: OperatorPlane,
) -> None:
    source = random.Random(5)

    async def scenario() -> None:
        async with controlled(operator_plane) as world:
            for _ in range(RUNS):
                for _ in range(source.randint(1, 4)):
                    await world.shake(source)
                    world.line.cut(hard=source.random() < 0.5)
                    await world.shake(source)
                    if source.random() < 0.3:
                        await asyncio.to_thread(operator_plane.plane.compact)
                    await asyncio.sleep(source.choice([0, 0.05, 0.4]))
                await world.converge(CONVERGENCE)

    asyncio.run(scenario())


def test_a_server_that_is_paused_killed_and_compacted_loses_no_object(
    operator_plane: OperatorPlane,
) -> None:
    source = random.Random(6)
    plane = operator_plane.plane

    async def restart(world: World) -> None:
        """Events during the controller's absence cannot be watched afterward."""
        world.line.cut(hard=True)
        await world.shake(source)
        await asyncio.to_thread(plane.stop_server, hard=True)
        await asyncio.to_thread(plane.compact)
        await asyncio.to_thread(plane.start_server)

    async def pause(world: World) -> None:
        plane.pause_server()
        world.line.cut(hard=True)
        await asyncio.sleep(source.uniform(0.5, 4))
        plane.resume_server()

    async def scenario() -> None:
        async with controlled(operator_plane) as world:
            for fault in (restart, pause, restart, pause, pause, restart):
                await world.shake(source)
                await fault(world)
                await world.shake(source)
                await world.converge(RESTARTED)

    asyncio.run(scenario())
