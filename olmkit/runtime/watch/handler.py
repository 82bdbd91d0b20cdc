"""From an event to the requests for it.

Handlers are plain functions in effect: they end in `queue.add` and never wait,
so that events are delivered straight from the reflector.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

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
    """Puts the requests for an event into the queue."""

    def handle(self, event: Event, queue: Queue) -> None:
        """Must return at once and must not raise."""


class EnqueueObject:
    """The event's own object."""

    def __init__(self, *, priority: int | None = None) -> None:
        self._priority = priority

    def handle(self, event: Event, queue: Queue) -> None:
        snapshot = _newest(event)
        if snapshot is None:
            _LOG.error("event without an object")
            return
        queue.add(snapshot.key, priority=_priority(event, self._priority))


class EnqueueOwner:
    """The owners of the event's object, of one group and kind.

    The API version is ignored, so that a changed version still matches; UIDs are not
    compared: a new owner under an old name is woken, which is harmless. Whether the
    owner's kind has namespaces is asked from the cache when `namespaced` is None; the
    event of an object that is owned is dropped while that is not known, since the owners
    are not either.
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
        """Where to ask whether the owner's kind has namespaces."""
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
        """Each owner, as one of the object's own namespace."""
        for owner in snapshot.metadata.owner_references or ():
            if owner.kind != self._kind or owner.group != self._group:
                continue
            if self._controller_only and not owner.controller:
                continue
            yield Request(owner.name, snapshot.metadata.namespace)


class EnqueueMapped:
    """Whatever a function makes of the object; for updates, of the old and the new one.

    The function must be quick and may read the cache. What it raises is logged, and
    the next event follows.
    """

    def __init__(
        self,
        function: Callable[[Snapshot], Iterable[Request] | None],
        *,
        priority: int | None = None,
    ) -> None:
        if inspect.iscoroutinefunction(function):
            raise TypeError("a mapping function is called where nothing can be awaited")
        self._function = function
        self._priority = priority

    def handle(self, event: Event, queue: Queue) -> None:
        priority = _priority(event, self._priority)
        requests: dict[Request, None] = {}
        for snapshot in _both(event):
            try:
                requests |= dict.fromkeys(self._function(snapshot) or ())
            except Exception:
                _LOG.exception("mapping function failed", extra={"object": str(snapshot.key)})
        for request in requests:
            queue.add(request, priority=priority)


class Funcs:
    """Four free functions that get the event and the queue; a missing one does nothing."""

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


def _priority(event: Event, wanted: int | None) -> int | None:
    """Low for what an initial list or a resync brings, unless the author chose."""
    if wanted is not None:
        return wanted
    match event:
        case CreateEvent(initial=True):
            return LOW_PRIORITY
        case UpdateEvent(old=Snapshot() as old, new=Snapshot() as new) if (
            old.metadata.resource_version == new.metadata.resource_version
        ):
            return LOW_PRIORITY
        case _:
            return None
