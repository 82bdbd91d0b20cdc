"""The benchmark's controller on olmkit: one process, `_controller_olmkit.py SERVER WORKERS`."""

from __future__ import annotations

import asyncio
import logging
import sys

import _probe

from olmkit.edges.cluster import HttpCluster
from olmkit.edges.kubeconfig import ClusterConfig
from olmkit.kube.objects import GVK
from olmkit.runtime.builder import ControllerBuilder
from olmkit.runtime.client import Client
from olmkit.runtime.controller import ControllerSettings
from olmkit.runtime.manager import Manager, stop_on_signals
from olmkit.runtime.metrics import Registry, RestClientMetrics
from olmkit.runtime.predicate import GENERATION_CHANGED
from olmkit.runtime.reconcile import Request, Result

THING = GVK(group="bench.example.com", version="v1", kind="Thing")


class ThingReconciler:
    """Writes the status when it does not say what the specification says."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def reconcile(self, request: Request) -> Result | None:
        thing = await self._client.get(THING, request)
        if thing is None or thing["status"].get("observed") == thing["spec"]["size"]:
            return None
        wanted = {**thing, "status": {"observed": thing["spec"]["size"]}}
        await self._client.patch(thing, wanted, subresource="status")
        return None


async def main() -> None:
    registry = Registry()
    observe = RestClientMetrics(registry).observe
    async with HttpCluster(ClusterConfig(server=sys.argv[1]), observer=observe) as cluster:
        manager = Manager(cluster, name="bench", registry=registry)
        manager.add_controller(
            ControllerBuilder()
            .watches_for(THING, GENERATION_CHANGED)
            .with_settings(ControllerSettings(max_concurrent_reconciles=int(sys.argv[2])))
            .build(ThingReconciler(manager.client), registry=registry)
        )
        stop_on_signals(manager)
        await _probe.start()
        await manager.run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(main())
