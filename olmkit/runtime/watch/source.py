"""Sources of requests for a controller's queue: events of kinds and external events."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol, runtime_checkable

from olmkit.kube.objects import GVK
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.watch.handler import Handler, Queue
from olmkit.runtime.watch.predicate import AllOf, Event, GenericEvent, Predicate

_LOG = logging.getLogger(__name__)


class Source(Protocol):
    """Something that puts requests into a controller's queue."""

    async def start(self, cache: Cache, queue: Queue) -> None:
        """Start to add requests; must return quickly."""

    async def wait_for_sync(self) -> None:
        """Wait until requests for all existing objects were added."""


@runtime_checkable
class Troubled(Protocol):
    """A source that can report why it is not synced."""

    @property
    def trouble(self) -> str:
        """Return the problem as text; empty if there is none."""


@runtime_checkable
class Ending(Protocol):
    """A source that must be stopped with its controller."""

    def end(self) -> None:
        """Stop adding requests."""


@runtime_checkable
class _Bound(Protocol):
    """A handler that needs the cache."""

    def bind(self, cache: Cache) -> None: ...


class KindSource:
    """Passes the events of a kind through predicates to a handler."""

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
        if isinstance(handler, _Bound):
            handler.bind(cache)

        def deliver(event: Event) -> None:
            if predicate is None or predicate.admits(event):
                handler.handle(event, queue)

        cache.informer(self.gvk, metadata_only=self._metadata_only).add_handler(deliver)

    async def wait_for_sync(self) -> None:
        if self._cache is not None:
            informer = self._cache.informer(self.gvk, metadata_only=self._metadata_only)
            await informer.wait_for_sync()

    @property
    def trouble(self) -> str:
        if self._cache is None:
            return ""
        informer = self._cache.informer(self.gvk, metadata_only=self._metadata_only)
        return "; ".join(str(failure) for failure in informer.failures)

    def __str__(self) -> str:
        return str(self.gvk)


class ChannelSource:
    """Generic events from outside Kubernetes, for one controller.

    Events that are offered before the controller starts are buffered. Call `offer` from the event
    loop's thread.
    """

    def __init__(self, handler: Handler, *predicates: Predicate, size: int = 1024) -> None:
        self._handler = handler
        self._predicate = AllOf(*predicates)
        self._events: asyncio.Queue[GenericEvent] = asyncio.Queue(size)
        self._task: asyncio.Task[None] | None = None

    async def offer(self, event: GenericEvent) -> None:
        """Add an event; wait while the buffer is full."""
        await self._events.put(event)

    async def start(self, cache: Cache, queue: Queue) -> None:
        if self._task is not None:
            raise RuntimeError("a channel has one controller: create a channel for each")
        if isinstance(self._handler, _Bound):
            self._handler.bind(cache)
        self._task = asyncio.create_task(self._pump(queue))

    async def wait_for_sync(self) -> None:
        """Return at once, since there are no existing objects."""

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def __str__(self) -> str:
        return "a channel"

    async def _pump(self, queue: Queue) -> None:
        while not queue.closed:
            event = await self._events.get()
            try:
                if self._predicate.admits(event):
                    self._handler.handle(event, queue)
            except Exception:
                _LOG.exception("handler failed", extra={"object": str(event.object.key)})
