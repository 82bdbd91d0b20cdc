"""Which writes a client remembers, and for how long."""

from __future__ import annotations

import asyncio

import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.manifests.own_writes import OwnWrites
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.work.reconcile import Request
from olmkit.testing import clock
from olmkit.testing.apiserver.server import ApiServer

MAP = GVK(group="", version="v1", kind="ConfigMap")
OTHER = GVK(group="", version="v1", kind="Secret")
KEY = Request("a", "n")


async def _followed(cluster: HttpCluster) -> tuple[Cache, asyncio.Task[None]]:
    cache = Cache(cluster)
    running = asyncio.create_task(cache.run())
    await asyncio.sleep(0)
    await cache.synced_informer(MAP)
    return cache, running


def test_a_read_waits_for_the_last_write_with_a_time_limit() -> None:
    async def scenario() -> None:
        server = ApiServer.of([Resource(gvk=MAP, plural="configmaps")])
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
            cache, running = await _followed(cluster)
            own = OwnWrites(cache)
            await own.wait_for(MAP, KEY)  # nothing was written
            made = server.put("configmaps", {"metadata": {"name": "a", "namespace": "n"}})
            version = made["metadata"]["resourceVersion"]
            own.remember(MAP, KEY, version)
            await own.wait_for(MAP, KEY)
            assert cache.informer(MAP).version_of("n") == version
            own.remember(MAP, KEY, "not comparable")
            await own.wait_for(MAP, KEY)
            own.remember(MAP, KEY, str(int(version) + 1000))
            with pytest.raises(TimeoutError):
                await own.wait_for(MAP, KEY)
            running.cancel()
            await asyncio.wait([running])

    clock.run(scenario(), patience=0.001)


def test_writes_in_the_cache_are_forgotten_and_the_others_are_limited() -> None:
    async def scenario() -> None:
        server = ApiServer.of([Resource(gvk=MAP, plural="configmaps")])
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
            server.put("configmaps", {"metadata": {"name": "a", "namespace": "n"}})
            cache, running = await _followed(cluster)
            own = OwnWrites(cache)
            shown = cache.informer(MAP).version_of("n")
            for number in range(2000):
                own.remember(MAP, Request(str(number), "n"), shown)
            assert len(own) <= 500
            for number in range(30_000):  # of a kind without a watch
                own.remember(OTHER, Request(str(number), "n"), "1")
            assert len(own) <= 20_000
            running.cancel()
            await asyncio.wait([running])

    clock.run(scenario(), patience=0.001)
