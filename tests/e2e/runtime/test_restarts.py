"""The API server is killed and restarted during a thousand changes, or `OLMKIT_UPDATES`."""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

from olmkit.kube.api import AlreadyExists, ClusterError, PatchType

if TYPE_CHECKING:
    from conftest import OperatorPlane

    from olmkit.edges.cluster.client import HttpCluster

pytestmark = pytest.mark.e2e

UPDATES = int(os.environ.get("OLMKIT_UPDATES", "1000"))
RESTARTS = 3
POOL = 40
WORKERS = 4


async def _retry(work: Callable[[], Awaitable[Any]]) -> None:
    """Retry until the server confirms it, also after an outage."""
    while True:
        try:
            await work()
        except AlreadyExists:  # the answer to the first attempt was lost
            return
        except ClusterError as error:
            if not error.temporary:
                raise
            await asyncio.sleep(0.1)
        else:
            return


async def _manifests(cluster: HttpCluster, api_version: str, kind: str) -> dict[str, Any]:
    resource = await cluster.resource(api_version, kind)
    page = await cluster.list_page(resource, namespace="default")
    found = [json.loads(item) for item in page.items]
    return {one["metadata"]["name"]: one for one in found}


def test_a_killed_api_server_loses_no_change(
    operator_plane: OperatorPlane, until: Callable[..., Awaitable[Any]]
) -> None:
    source = random.Random(3)
    wanted: dict[str, int] = {}

    async def scenario() -> None:
        replica = operator_plane.start()
        async with operator_plane.cluster() as cluster:
            resource = await cluster.resource("cache.example.com/v1alpha1", "Memcached")
            for number in range(POOL):
                name = f"m{number}"
                manifest = {
                    "apiVersion": resource.api_version,
                    "kind": "Memcached",
                    "metadata": {"name": name, "namespace": "default"},
                    "spec": {"size": 1, "containerPort": 11211},
                }
                await cluster.create(resource, manifest)
                wanted[name] = 1
            done = 0

            async def work(worker: int) -> None:
                """Each worker has its own objects, so the last write is known."""
                nonlocal done
                names = sorted(wanted)[worker::WORKERS]
                while done < UPDATES:
                    done += 1
                    name, size = source.choice(names), source.randint(1, 5)

                    async def update(name: str = name, size: int = size) -> None:
                        await cluster.patch(
                            resource,
                            name,
                            {"spec": {"size": size}},
                            type=PatchType.MERGE,
                            namespace="default",
                        )

                    await _retry(update)
                    wanted[name] = size

            async def restart() -> int:
                count = 0
                for count in range(1, RESTARTS + 1):
                    while done < count * UPDATES / (RESTARTS + 1):  # noqa: ASYNC110 - a moment's use
                        await asyncio.sleep(0.01)
                    await asyncio.to_thread(operator_plane.plane.stop_server, hard=True)
                    await asyncio.to_thread(operator_plane.plane.start_server)
                return count

            async with asyncio.TaskGroup() as group:
                restarted = group.create_task(restart())
                for worker in range(WORKERS):
                    group.create_task(work(worker))
            assert restarted.result() == RESTARTS
            assert done >= UPDATES

            async def settled() -> bool:
                deployments = await _manifests(cluster, "apps/v1", "Deployment")
                services = await _manifests(cluster, "v1", "Service")
                memcacheds = await _manifests(cluster, resource.api_version, "Memcached")
                sizes = {name: one["spec"]["replicas"] for name, one in deployments.items()}
                return (
                    sizes == wanted
                    and wanted.keys() <= services.keys()
                    and all(
                        condition["observedGeneration"] == one["metadata"]["generation"]
                        for one in memcacheds.values()
                        for condition in one["status"]["conditions"]
                    )
                )

            await until(settled, 120)
            assert replica.is_running, "one process ran all the time"
            assert "Traceback" not in replica.words()

    asyncio.run(scenario())
