"""The benchmark's controller on olmkit: one process, `_controller_olmkit.py SERVER WORKERS`.

It is the process that an author's is, with all that belongs to it; only its servers
listen nowhere, as those of the others do not.
"""

from __future__ import annotations

import json
import sys
import tempfile
from typing import Any

import _probe

from olmkit.kube.objects import GVK
from olmkit.runtime import (
    GENERATION_CHANGED,
    Client,
    ControllerBuilder,
    ControllerSettings,
    Group,
    Manager,
    Request,
)
from olmkit.runtime.process import Operator, main

THING = GVK(group="bench.example.com", version="v1", kind="Thing")


class ThingReconciler:
    """Writes the status when it does not say what the specification says."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def reconcile(self, request: Request) -> None:
        thing = await self._client.get(THING, request)
        if thing is None or thing["status"].get("observed") == thing["spec"]["size"]:
            return
        wanted = {**thing, "status": {"observed": thing["spec"]["size"]}}
        await self._client.patch(thing, wanted, subresource="status")


def add_controllers(manager: Manager, flags: Any, _: object) -> None:
    manager.add(_probe.start, Group.SERVERS)
    manager.add_controller(
        ControllerBuilder()
        .watches_for(THING, GENERATION_CHANGED)
        .with_settings(ControllerSettings(max_concurrent_reconciles=flags.workers))
        .build(ThingReconciler(manager.client), registry=manager.registry)
    )


def kubeconfig(server: str) -> dict[str, Any]:
    """What leads to the server, as a kubeconfig; JSON is YAML."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "contexts": [{"name": "bench", "context": {"cluster": "bench"}}],
        "clusters": [{"name": "bench", "cluster": {"server": server}}],
    }


if __name__ == "__main__":
    address, workers = sys.argv[1:]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(kubeconfig(address), file)
        file.flush()
        words = ["--kubeconfig", file.name, "--max-concurrent-reconciles", workers]
        words += ["--health-probe-bind-address", "0"]
        sys.exit(
            main(Operator(name="bench", lock="bench", add_controllers=add_controllers), words, {})
        )
