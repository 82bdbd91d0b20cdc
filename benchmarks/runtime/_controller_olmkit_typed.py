"""The benchmark's controller in the documentation's style: typed, fresh reads, applied status.

`_controller_olmkit_typed.py SERVER WORKERS`, like the plain one next to it.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from typing import ClassVar

import _controller_olmkit as plain

from olmkit.runtime import GVK, Client, CustomResource, Model, Request


class ThingSpec(Model):
    size: int = 1


class ThingStatus(Model):
    observed: int | None = None


class Thing(CustomResource):
    """The kind of the benchmark."""

    gvk: ClassVar[GVK] = plain.THING
    spec: ThingSpec
    status: ThingStatus | None = None


class ThingReconciler:
    """Writes the status if it differs from the specification."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def reconcile(self, request: Request) -> None:
        thing = await self._client.get(Thing, request, fresh=True)
        if thing is None:
            return
        if thing.status is not None and thing.status.observed == thing.spec.size:
            return
        thing.status = ThingStatus(observed=thing.spec.size)
        await self._client.apply_status(thing)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    gc.freeze()
    asyncio.run(plain.main(*sys.argv[1:], kind=Thing, reconciler=ThingReconciler))
