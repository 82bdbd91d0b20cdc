"""What the client remembers of its own writes."""

from __future__ import annotations

import asyncio

from olmkit.edges.cluster import HttpCluster
from olmkit.edges.kubeconfig import ClusterConfig
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.cache import Cache
from olmkit.runtime.client import Client
from olmkit.runtime.reconcile import Request
from olmkit.testing.apiserver import ApiServer

MAP = GVK(group="", version="v1", kind="ConfigMap")


def test_writes_that_the_cache_has_shown_are_forgotten_and_fresh_reads_stay_fresh() -> None:
    async def story() -> None:
        server = ApiServer.of([Resource(gvk=MAP, plural="configmaps")])
        async with (
            asyncio.timeout(30),
            server.serving(),
            HttpCluster(ClusterConfig(server=server.url)) as cluster,
        ):
            cache = Cache(cluster)
            client = Client(cluster, cache, field_manager="tests")
            running = asyncio.create_task(cache.run())
            await asyncio.sleep(0)
            await cache.synced_informer(MAP)
            for number in range(1200):
                metadata = {"name": f"m{number}", "namespace": "default"}
                manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
                await client.create(manifest)
                if number % 100 == 0:
                    key = Request(f"m{number}", "default")
                    assert await client.get(MAP, key, fresh=True) is not None
            assert client.remembered_writes <= 600
            running.cancel()
            await asyncio.wait([running])

    asyncio.run(story())
