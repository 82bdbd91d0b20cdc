"""The operator running for a long time: its memory is stable.

Memcacheds are constantly created, changed and deleted under new names, so that a
leak for deleted ones would add up. Two minutes by default; twenty with
`OLMKIT_SOAK_SECONDS=1200`, which also makes watches last five minutes instead of
twenty seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import statistics
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

from olmkit.kube.api import NotFound, PatchType

if TYPE_CHECKING:
    from conftest import OperatorPlane

    from olmkit.edges.cluster.client import HttpCluster
    from olmkit.kube.api import Resource

pytestmark = pytest.mark.e2e

SECONDS = float(os.environ.get("OLMKIT_SOAK_SECONDS", "120"))
WATCH_SECONDS = 300 if SECONDS >= 900 else 20
LIVE = 100
RATE = 5.0  # changes per second
GROWTH = 3.0  # MiB; how far the end of a run can be above its middle, including heap fragmentation


class _World:
    """Keeps `LIVE` Memcacheds, changes them, and acts as the garbage collector."""

    def __init__(self, cluster: HttpCluster, source: random.Random) -> None:
        self.cluster = cluster
        self.source = source
        self.sizes: dict[str, int] = {}
        self.changes = 0

    async def begin(self) -> None:
        self.memcacheds = await self.cluster.resource("cache.example.com/v1alpha1", "Memcached")
        self.deployments = await self.cluster.resource("apps/v1", "Deployment")
        self.services = await self.cluster.resource("v1", "Service")

    async def change(self) -> None:
        """One change: another size, the status of a Deployment, or a replaced object."""
        self.changes += 1
        if len(self.sizes) < LIVE:
            await self._create()
            return
        match self.source.randrange(10):
            case 0 | 1:
                await self._remove(next(iter(self.sizes)))
                await self._create()
            case 2 | 3 | 4:
                await self._report(self.source.choice(list(self.sizes)))
            case _:
                await self._resize(self.source.choice(list(self.sizes)))

    async def _create(self) -> None:
        name = f"soak-{self.changes}"
        size = self.source.randint(1, 5)
        await self.cluster.create(
            self.memcacheds,
            {
                "apiVersion": self.memcacheds.api_version,
                "kind": "Memcached",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"size": size, "containerPort": 11211},
            },
        )
        self.sizes[name] = size

    async def _resize(self, name: str) -> None:
        size = self.source.randint(1, 5)
        await self._patch(self.memcacheds, name, {"spec": {"size": size}})
        self.sizes[name] = size

    async def _report(self, name: str) -> None:
        with contextlib.suppress(NotFound):
            found = await self.cluster.get(self.deployments, name, namespace="default")
            available = self.source.randint(0, found["spec"]["replicas"])
            status = {
                "observedGeneration": found["metadata"]["generation"],
                "replicas": found["spec"]["replicas"],
                "readyReplicas": available,
                "availableReplicas": available,
            }
            await self._patch(self.deployments, name, {"status": status}, "status")

    async def _remove(self, name: str) -> None:
        del self.sizes[name]
        await self.cluster.delete(self.memcacheds, name, namespace="default")
        async with asyncio.timeout(180):
            while await self._exists(name):  # noqa: ASYNC110 - on the server
                await asyncio.sleep(0.05)
        for resource in (self.deployments, self.services):
            with contextlib.suppress(NotFound):
                await self.cluster.delete(resource, name, namespace="default")

    async def _exists(self, name: str) -> bool:
        with contextlib.suppress(NotFound):
            await self.cluster.get(self.memcacheds, name, namespace="default")
            return True
        return False

    async def _patch(
        self, resource: Resource, name: str, patch: dict[str, Any], subresource: str = ""
    ) -> None:
        await self.cluster.patch(
            resource,
            name,
            patch,
            type=PatchType.MERGE,
            namespace="default",
            subresource=subresource,
        )

    async def deployed(self) -> dict[str, int]:
        page = await self.cluster.list_page(self.deployments, namespace="default")
        found = [json.loads(item) for item in page.items]
        return {one["metadata"]["name"]: one["spec"]["replicas"] for one in found}


def _is_flat(samples: list[float]) -> bool:
    """Return whether the last quarter is hardly higher than the second."""
    quarter = len(samples) // 4
    second = statistics.median(samples[quarter : 2 * quarter])
    return statistics.median(samples[-quarter:]) <= second + GROWTH


def test_memory_is_stable(
    operator_plane: OperatorPlane, until: Callable[..., Awaitable[Any]]
) -> None:
    samples: list[float] = []

    async def scenario() -> None:
        replica = operator_plane.start(environment={"WATCH_SECONDS": str(WATCH_SECONDS)})
        async with operator_plane.cluster() as cluster:
            world = _World(cluster, random.Random(11))
            await world.begin()
            loop = asyncio.get_running_loop()
            initialized = loop.time()
            told = 0.0
            while (passed := loop.time() - initialized) < SECONDS:
                await world.change()
                assert replica.is_running, replica.words()
                if passed - told >= SECONDS / 100:
                    told = passed
                    samples.append(replica.rss)
                await asyncio.sleep(1 / RATE)

            async def settled() -> bool:
                return await world.deployed() == world.sizes

            await until(settled)
            assert "Traceback" not in replica.words()
            print(  # noqa: T201 - the figures of a run
                f"{world.changes} changes in {SECONDS:.0f} s, watches of {WATCH_SECONDS} s; RSS "
                + " ".join(f"{sample:.1f}" for sample in samples[:: max(1, len(samples) // 20)])
            )

    asyncio.run(scenario())
    assert _is_flat(samples), samples


def test_growth_would_be_detected() -> None:
    assert _is_flat([50.0] * 8)
    assert not _is_flat([50.0 + 2 * index for index in range(20)])
