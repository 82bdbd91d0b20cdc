"""A small cluster on loopback, a connection to it that fails on command, and the operator."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from memcached_operator import wiring
from memcached_operator.api.v1alpha1.memcached import Memcached
from memcached_operator.reconcilers.memcached import Settings

from olmkit.runtime import (
    ClusterConfig,
    HttpCluster,
    Manager,
    Manifest,
    Request,
    Resource,
    Result,
    conditions,
)
from olmkit.testing import BUILT_IN, ApiServer, Fault, FaultProxy

NOW = "2024-05-01T00:00:00Z"
RESOURCES = [
    Resource(gvk=Memcached.gvk, plural="memcacheds", subresources=frozenset({"status"})),
    *BUILT_IN,
]

Plan = Callable[[str, str], Fault | int | None]


class Stage:
    """What a test changes and inspects."""

    def __init__(self) -> None:
        self.server = ApiServer.of(RESOURCES)
        self.plan: Plan = lambda _method, _path: None
        self.seen: list[tuple[str, str, Any]] = []
        self.watch_seconds = (300, 600)
        self._line: FaultProxy | None = None
        self.passes: list[tuple[Request, Result | BaseException | None]] = []

    def memcached(self, name: str = "m", namespace: str = "default", **spec: Any) -> Manifest:
        made = {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
        return self.server.put("memcacheds", made)

    def change(self, plural: str, alter: Callable[[Any], None], name: str = "m") -> None:
        found = self.server.get(plural, name)
        assert found is not None
        alter(found)
        self.server.put(plural, found)

    def report(self, name: str = "m") -> None:
        """Write the status of a Deployment whose pods all run."""
        deployment = self.server.get("deployments", name)
        assert deployment is not None
        size = deployment["spec"]["replicas"]
        counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), size)
        generation = deployment["metadata"]["generation"]
        deployment["status"] = {"observedGeneration": generation, **counts}
        self.server.put("deployments", deployment)
        template = deployment["spec"]["template"]["metadata"]
        for number in range(size):
            metadata = {**template, "name": f"{name}-{number}"}
            self.server.put("pods", {"metadata": metadata})

    def line_to(self, url: str) -> None:
        """Connect the operator to another server, as if one restarted elsewhere."""
        assert self._line is not None
        self._line.upstream = url

    def condition(self, kind: str, name: str = "m") -> tuple[str | None, str | None]:
        """Return status and reason."""
        found = self.server.get("memcacheds", name) or {}
        listed = (found.get("status") or {}).get("conditions") or []
        one = conditions.find(listed, kind) or {}
        return one.get("status"), one.get("reason")

    def events(self, reason: str) -> list[Manifest]:
        return [one for one in self.server.all("events") if one["reason"] == reason]

    async def until(self, holds: Callable[[], Any]) -> Any:
        while not (found := holds()):  # noqa: ASYNC110 - nothing signals the change
            await asyncio.sleep(0.01)
        return found

    async def rest(self, seconds: float = 0.15) -> None:
        """Wait until there was no request for a while."""
        before = -1
        while before != len(self.seen):
            before = len(self.seen)
            await asyncio.sleep(seconds)

    @asynccontextmanager
    async def operator(self, namespaces: Iterable[str] = ()) -> AsyncIterator[Manager]:
        """The running operator, whose passes are recorded."""
        async with FaultProxy(upstream=self.server.url, plan=self._plan) as line:
            self._line = line
            config = ClusterConfig(server=f"http://{line.host}")
            async with HttpCluster(config) as cluster:
                manager = Manager(
                    cluster,
                    name="memcached-operator",
                    cache_settings=dataclasses.replace(
                        wiring.CACHE.watching(namespaces), watch_seconds=self.watch_seconds
                    ),
                )
                controller = wiring.add_controller(
                    manager, settings=Settings(image="memcached:1.6"), now=lambda: NOW
                )
                self._write_down(controller)
                running = asyncio.create_task(manager.run())
                try:
                    yield manager
                finally:
                    manager.stop()
                    await running

    def play(self, work: Callable[[], Awaitable[None]], *, alone: bool = False) -> None:
        """Run `work` with the server and, unless `alone`, the operator."""

        async def steps() -> None:
            async with asyncio.timeout(30), self.server.serving():
                if alone:
                    await work()
                    return
                async with self.operator():
                    await work()

        asyncio.run(steps())

    def _plan(self, method: str, path: str) -> Fault | int | None:
        fault = self.plan(method, path)
        self.seen.append((method, path, fault))
        return fault

    def _write_down(self, controller: Any) -> None:
        inner = controller._reconciler  # noqa: SLF001 - a witness in between
        stage = self

        class Witness:
            async def reconcile(self, request: Request) -> Result | None:
                try:
                    result: Result | None = await inner.reconcile(request)
                except Exception as error:
                    stage.passes.append((request, error))
                    raise
                stage.passes.append((request, result))
                return result

        controller._reconciler = Witness()  # noqa: SLF001


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def once() -> Callable[[Callable[[str, str], bool], Any], Plan]:
    """Plan a fault for the first matching request; all others pass."""

    def make(fits: Callable[[str, str], bool], fault: Any) -> Plan:
        left = itertools.chain([fault], itertools.repeat(None))
        return lambda method, path: next(left) if fits(method, path) else None

    return make
