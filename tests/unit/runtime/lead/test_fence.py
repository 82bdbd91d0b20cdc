"""Writes of a former leader."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import PatchType, Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.lead.fence import FencedCluster, NotLeading
from olmkit.runtime.lead.leader import ElectionSettings, ThreadedElector
from olmkit.runtime.manager import Manager
from olmkit.testing.apiserver.server import ApiServer

MAP = Resource(gvk=GVK(group="", version="v1", kind="ConfigMap"), plural="configmaps")
LEASE = Resource(gvk=GVK(group="coordination.k8s.io", version="v1", kind="Lease"), plural="leases")
MANIFEST = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "m", "namespace": "default"},
}


def test_every_kind_of_write_is_blocked_and_reading_is_not() -> None:
    async def scenario() -> None:
        async with (
            ApiServer.of([MAP]).serving() as server,
            HttpCluster(ClusterConfig(server=server.url)) as cluster,
        ):
            may = True
            fenced = FencedCluster(cluster, lambda: may)
            await fenced.create(MAP, MANIFEST)
            may = False
            named: dict[str, Any] = {"namespace": "default"}
            for write in (
                fenced.create(MAP, MANIFEST),
                fenced.replace(MAP, MANIFEST),
                fenced.patch(MAP, "m", {}, type=PatchType.MERGE, **named),
                fenced.delete(MAP, "m", **named),
                fenced.delete_collection(MAP, **named),
            ):
                with pytest.raises(NotLeading, match="another replica may be the leader"):
                    await write
            assert (await fenced.get(MAP, "m", **named))["metadata"]["name"] == "m"
            assert len((await fenced.list_page(MAP)).items) == 1
            assert len(server.writes()) == 1

    asyncio.run(scenario())


def test_an_elector_is_certain_for_a_renew_deadline_and_a_standby_is_not_checked() -> None:
    async def scenario() -> None:
        async with asyncio.timeout(20), ApiServer.of([LEASE, MAP]).serving() as server:
            config = ClusterConfig(server=server.url)
            elector = ThreadedElector(
                lambda: HttpCluster(config),
                ElectionSettings(
                    name="lock",
                    namespace="default",
                    lease_duration=1.5,
                    renew_deadline=1.0,
                    retry_period=0.1,
                ),
            )
            assert elector.may_write(), "a replica that never led is not blocked"
            async with HttpCluster(config) as cluster:
                client = Manager(cluster, name="tests", elector=elector).client
                await elector.acquire()
                assert elector.may_write()
                await client.create(MANIFEST)
                server.plan = lambda _, path: 30.0 if "/leases" in path else None
                await elector.wait_until_lost()
                assert not elector.may_write()
                with pytest.raises(NotLeading):
                    await client.replace(MANIFEST)
            await elector.release()

    asyncio.run(scenario())
