"""Event handlers, which turn an event into requests.

A handler calls `queue.add` and never waits, so that the reflector can deliver events directly.
`async` mapping functions run in separate tasks.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from olmkit.kube.api import ClusterError
from olmkit.runtime.watch.predicate import (
    CreateEvent,
    DeleteEvent,
    Event,
    GenericEvent,
    UpdateEvent,
)
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.work.reconcile import Request
from olmkit.runtime.work.workqueue import LOW_PRIORITY, WorkQueue

if TYPE_CHECKING:
    from olmkit.runtime.watch.cache import Cache

_LOG = logging.getLogger(__name__)

Queue = WorkQueue[Request]


class Handler(Protocol):
    """Adds requests for an event to the queue."""

    def handle(self, event: Event, queue: Queue) -> None:
        """Handle an event; must return at once and must not raise."""


class EnqueueObject:
    """Enqueues a request for the object of the event."""

    def __init__(self, *, priority: int | None = None) -> None:
        self._priority = priority

    def handle(self, event: Event, queue: Queue) -> None:
        snapshot = _newest(event)
        if snapshot is None:
            _LOG.error("event without an object")
            return
        queue.add(snapshot.key, priority=_priority(event, self._priority))


class EnqueueOwner:
    """Enqueues requests for the owners of the event's object that have one group and kind.

    The API version of the owner reference is ignored, so that another version of the kind matches.
    UIDs are not compared: an extra request for a recreated owner is harmless. If `namespaced` is
    None, the scope of the owner's kind comes from the cache; events are dropped while the scope is
    not known, since then no owner has been read either.
    """

    def __init__(
        self,
        *,
        group: str,
        kind: str,
        namespaced: bool | None = True,
        controller_only: bool = True,
        priority: int | None = None,
    ) -> None:
        self._group = group
        self._kind = kind
        self._namespaced = namespaced
        self._cache: Cache | None = None
        self._controller_only = controller_only
        self._priority = priority

    def bind(self, cache: Cache) -> None:
        """Set the cache that knows whether the owner's kind is namespaced."""
        self._cache = cache

    def handle(self, event: Event, queue: Queue) -> None:
        owners = [owner for snapshot in _both(event) for owner in self._owners(snapshot)]
        if not owners:
            return
        if self._namespaced is None and self._cache is not None:
            self._namespaced = self._cache.is_namespaced(self._group, self._kind)
        if self._namespaced is None:
            _LOG.error("the scope of the owner's kind is not known", extra={"kind": self._kind})
            return
        priority = _priority(event, self._priority)
        for owner in _unique(owners):
            queue.add(owner if self._namespaced else Request(owner.name, ""), priority=priority)

    def _owners(self, snapshot: Snapshot) -> Iterator[Request]:
        """Yield requests for the owners, in the object's namespace."""
        for owner in snapshot.metadata.owner_references or ():
            if owner.kind != self._kind or owner.group != self._group:
                continue
            if self._controller_only and not owner.controller:
                continue
            yield Request(owner.name, snapshot.metadata.namespace)


Mapping = Callable[[Snapshot], "Iterable[Request] | Awaitable[Iterable[Request] | None] | None"]
"""Maps an object to requests; a plain or an `async` function."""


class EnqueueMapped:
    """Enqueues the requests that a function returns for the object.

    For updates, the function is called with the old and the new object.

    A plain function must be fast and may read the cache. An `async` function may use the client; a
    limited number of events is mapped at the same time, and the others wait in order. Errors are
    logged. After a `ClusterError` in an `async` function, the event is retried with increasing
    delay, so that it is not lost.
    """

    def __init__(self, function: Mapping, *, priority: int | None = None) -> None:
        self._function = function
        self._priority = priority
        self._waits = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - the method is what is looked at
        )
        self._events: deque[tuple[Event, Queue, float]] = deque()
        self._workers: set[asyncio.Task[None]] = set()

    def handle(self, event: Event, queue: Queue) -> None:
        if self._waits:
            self._put(event, queue, _FIRST_PAUSE)
            return
        requests: dict[Request, None] = {}
        for snapshot in _both(event):
            try:
                found = self._function(snapshot)
                if inspect.isawaitable(found):
                    # A plain function may return the coroutine of an `async` function.
                    getattr(found, "close", _nothing)()
                    self._waits = True
                    self._put(event, queue, _FIRST_PAUSE)
                    return
                requests |= dict.fromkeys(found or ())
            except Exception:
                _LOG.exception("mapping function failed", extra={"object": str(snapshot.key)})
        self._enqueue(event, queue, requests)

    def _enqueue(self, event: Event, queue: Queue, requests: Iterable[Request]) -> None:
        priority = _priority(event, self._priority)
        for request in requests:
            queue.add(request, priority=priority)

    def _put(self, event: Event, queue: Queue, pause: float) -> None:
        self._events.append((event, queue, pause))
        if len(self._workers) < _WORKERS:
            worker = asyncio.get_running_loop().create_task(self._work(), name="mapping")
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    async def _work(self) -> None:
        """Map events until none is left."""
        while self._events:
            event, queue, pause = self._events.popleft()
            if queue.closed:
                continue
            try:
                self._enqueue(event, queue, await self._mapped(event))
            except ClusterError as error:
                facts = {"error": str(error), "again_after": pause}
                _LOG.warning("mapping function failed", extra=facts)
                later = min(2 * pause, _LONGEST_PAUSE)
                loop = asyncio.get_running_loop()
                loop.call_later(pause, self._put, event, queue, later)
            except Exception:
                _LOG.exception("mapping function failed")

    async def _mapped(self, event: Event) -> dict[Request, None]:
        requests: dict[Request, None] = {}
        for snapshot in _both(event):
            found = self._function(snapshot)
            requests |= dict.fromkeys((await found if inspect.isawaitable(found) else found) or ())
        return requests


_WORKERS = 8  # events of a handler that are mapped at the same time
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0


def _nothing() -> None:
    """Do nothing, for a result that cannot be closed."""


class Funcs:
    """A handler from up to four functions, which get the event and the queue."""

    def __init__(
        self,
        *,
        create: Callable[[CreateEvent, Queue], None] | None = None,
        update: Callable[[UpdateEvent, Queue], None] | None = None,
        delete: Callable[[DeleteEvent, Queue], None] | None = None,
        generic: Callable[[GenericEvent, Queue], None] | None = None,
    ) -> None:
        self._create = create
        self._update = update
        self._delete = delete
        self._generic = generic

    def handle(self, event: Event, queue: Queue) -> None:
        match event:
            case CreateEvent() if self._create:
                self._create(event, queue)
            case UpdateEvent() if self._update:
                self._update(event, queue)
            case DeleteEvent() if self._delete:
                self._delete(event, queue)
            case GenericEvent() if self._generic:
                self._generic(event, queue)
            case _:
                pass


def _newest(event: Event) -> Snapshot | None:
    return (event.new or event.old) if isinstance(event, UpdateEvent) else event.object


def _both(event: Event) -> Iterator[Snapshot]:
    if isinstance(event, UpdateEvent):
        if event.old is not None:
            yield event.old
        if event.new is not None:
            yield event.new
    else:
        yield event.object


def _unique(requests: Iterable[Request]) -> list[Request]:
    return list(dict.fromkeys(requests))


def _priority(event: Event, requested: int | None) -> int | None:
    """Return the priority: low for an initial list or a resync, unless the author set one."""
    if requested is not None:
        return requested
    match event:
        case CreateEvent(initial=True):
            return LOW_PRIORITY
        case UpdateEvent(old=Snapshot() as old, new=Snapshot() as new) if (
            old.metadata.resource_version == new.metadata.resource_version
        ):
            return LOW_PRIORITY
        case _:
            return None
