"""The benchmark's controller on kopf: one process, `_controller_kopf.py SERVER WORKERS`.

A handler of raw events with a patch of the status is the cheapest form in kopf:
`on.create` and `on.update` would also write annotations of kopf's own to each object.
Its tasks start and end with objects, so there are no workers to count.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import _probe
import kopf


@kopf.on.login()
def login(**_: Any) -> kopf.ConnectionInfo:
    return kopf.ConnectionInfo(server=sys.argv[1], insecure=True)


@kopf.on.startup()
async def start(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = False
    settings.scanning.disabled = True
    await _probe.start()


@kopf.on.event("bench.example.com", "v1", "things")
async def changed(
    type: str | None,  # noqa: A002 - kopf gives it by this name
    spec: kopf.Spec,
    status: kopf.Status,
    patch: kopf.Patch,
    **_: Any,
) -> None:
    if type != "DELETED" and status.get("observed") != spec["size"]:
        patch.status["observed"] = spec["size"]


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    kopf.run(clusterwide=True, standalone=True)
