"""The benchmark's controller on olmkit: one process, `_controller_olmkit.py SERVER WORKERS`.

It is the process of an author with everything that belongs to it; only its servers
do not listen, like those of the others.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import Callable
from typing import Any

import _probe

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.objects import GVK
from olmkit.runtime import (
    GENERATION_CHANGED,
    Client,
    ControllerBuilder,
    ControllerSettings,
    Flags,
    Group,
    Manager,
    Reconciler,
    Registry,
    Request,
    RestClientMetrics,
    process,
    stop_on_signals,
)
from olmkit.runtime.process import Operator

THING = GVK(group="bench.example.com", version="v1", kind="Thing")


class ThingReconciler:
    """Writes the status if it differs from the specification."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def reconcile(self, request: Request) -> None:
        thing = await self._client.get(THING, request)
        if thing is None or thing["status"].get("observed") == thing["spec"]["size"]:
            return
        wanted = {**thing, "status": {"observed": thing["spec"]["size"]}}
        await self._client.patch(thing, wanted, subresource="status")


async def main(
    address: str,
    workers: str,
    *,
    kind: Any = THING,
    reconciler: Callable[[Client], Reconciler] = ThingReconciler,
) -> None:
    """Run like the process of an operator in a pod, with a known cluster address."""

    def add_controllers(manager: Manager, flags: Flags, _: object) -> None:
        manager.add(_probe.start, Group.SERVERS)
        manager.add_controller(
            ControllerBuilder()
            .watches_for(kind, GENERATION_CHANGED)
            .with_settings(ControllerSettings(max_concurrent_reconciles=flags.workers))
            .build(reconciler(manager.client), registry=manager.registry)
        )

    own = Operator(name="bench", lock="bench", add_controllers=add_controllers)
    words = ["--max-concurrent-reconciles", workers, "--health-probe-bind-address", "0"]
    registry = Registry()
    observer = RestClientMetrics(registry).observe
    async with HttpCluster(ClusterConfig(server=address), observer=observer) as cluster:
        given = process.parse_flags(own, words)
        manager = process.assemble(own, given, {}, cluster=cluster, registry=registry)
        stop_on_signals(manager)
        await manager.run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    gc.freeze()
    asyncio.run(main(*sys.argv[1:]))
