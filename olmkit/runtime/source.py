"""What feeds a controller's queue: events of kinds, and of the world outside."""

from __future__ import annotations

import asyncio
from typing import Protocol

from olmkit.kube.objects import GVK
from olmkit.runtime.cache import Cache
from olmkit.runtime.handler import Handler, Queue
from olmkit.runtime.predicate import AllOf, Event, GenericEvent, Predicate


class Source(Protocol):
    """Something that puts requests into a controller's queue."""

    async def start(self, cache: Cache, queue: Queue) -> None:
        """Begin to feed; returns quickly."""

    async def wait_for_sync(self) -> None:
        """Until what is there already was fed."""


class KindSource:
    """Events of a kind, through predicates, into a handler."""

    def __init__(
        self,
        gvk: GVK,
        handler: Handler,
        *predicates: Predicate,
        metadata_only: bool = False,
    ) -> None:
        self.gvk = gvk
        self._handler = handler
        self._predicate: Predicate | None = AllOf(*predicates) if predicates else None
        self._metadata_only = metadata_only
        self._cache: Cache | None = None

    async def start(self, cache: Cache, queue: Queue) -> None:
        self._cache = cache
        handler, predicate = self._handler, self._predicate

        def deliver(event: Event) -> None:
            if predicate is None or predicate.admits(event):
                handler.handle(event, queue)

        cache.informer(self.gvk, metadata_only=self._metadata_only).add_handler(deliver)

    async def wait_for_sync(self) -> None:
        if self._cache is not None:
            informer = self._cache.informer(self.gvk, metadata_only=self._metadata_only)
            await informer.wait_for_sync()

    def __str__(self) -> str:
        return str(self.gvk)


class ChannelSource:
    """Generic events from outside Kubernetes; `offer` from the event loop's thread."""

    def __init__(self, handler: Handler, *predicates: Predicate, size: int = 1024) -> None:
        self._handler = handler
        self._predicate = AllOf(*predicates)
        self._events: asyncio.Queue[GenericEvent] = asyncio.Queue(size)
        self._task: asyncio.Task[None] | None = None

    async def offer(self, event: GenericEvent) -> None:
        """Hand an event over; waits while the buffer is full."""
        await self._events.put(event)

    async def start(self, cache: Cache, queue: Queue) -> None:  # noqa: ARG002 - reads no cache
        self._task = asyncio.create_task(self._pump(queue))

    async def wait_for_sync(self) -> None:
        """Nothing is there already."""

    async def _pump(self, queue: Queue) -> None:
        while not queue.closed:
            event = await self._events.get()
            if self._predicate.admits(event):
                self._handler.handle(event, queue)
