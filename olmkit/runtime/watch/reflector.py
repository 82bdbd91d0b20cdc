"""Keeps a local copy of one collection up to date with list and watch.

The next step depends on how a watch ended (see the table), so that an overloaded server does not
get more lists, and an expired version is not requested again. The client ends a watch without
events after some time and reopens it from the last version, so that no event is missed. That is not
a failure: an API server with an older etcd sends no bookmarks for kinds that do not change.

A watch worked if the server kept it open for a second or sent an event. If such a watch breaks, it
is reopened at once, however often that happens, so that idle timeouts of proxies cause no delay.
Back-off applies if the server cannot be reached or rejects the watch, and is reset as soon as a
watch works.

| how it ended | next |
| --- | --- |
| closed or broken after it worked | watch again from the last version, at once |
| broken before it worked | short back-off, watch again |
| closed within a second without an event | short back-off, list again |
| 410 Gone | short back-off, list again, not older than the last seen version |
| 429, or the server cannot be reached | back off, watch again; no list |
| anything else | back off, list again |
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from enum import Enum
from typing import Protocol

import msgspec

from olmkit.kube.api import (
    Cluster,
    ClusterError,
    EventType,
    Forbidden,
    Gone,
    NoSuchKind,
    NotFound,
    Resource,
    TooLargeResourceVersion,
    TooManyRequests,
    Unreachable,
    WatchEvent,
)
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.watch.watch_health import Contact
from olmkit.runtime.work.reconcile import Request

_LOG = logging.getLogger(__name__)

_PAGE = 500
_QUICK = 1.0  # a watch that ends sooner without an event is an error
_SHORT = 0.1  # seconds of the first pause if the server responds
BREATH = 200  # objects between two yields to other tasks: a few milliseconds
_INITIAL = 60.0  # seconds for the initial events of a streaming list
_INITIAL_END = "k8s.io/initial-events-end"

Transform = Callable[[bytes], bytes]
"""Transforms the bytes of each object before they are stored; must be idempotent."""


class Sink(Protocol):
    """The receiver of a reflector's changes."""

    async def replace(self, snapshots: Sequence[Snapshot]) -> None:
        """Replace all objects; may yield to other tasks."""

    def upsert(self, snapshot: Snapshot) -> None:
        """Add or update an object."""

    def remove(self, snapshot: Snapshot) -> None:
        """Remove an object; `snapshot` is its last state."""


class Backoff:
    """Exponential back-off: 0.8 s, doubled each time up to 30 s, plus 0 to 100 % jitter.

    It starts over after two minutes without a failure, or after `reset`.
    """

    def __init__(
        self,
        *,
        base: float = 0.8,
        maximum: float = 30.0,
        reset_after: float = 120.0,
        chance: random.Random | None = None,
    ) -> None:
        self._base = base
        self._maximum = maximum
        self._reset_after = reset_after
        self._chance = chance or random.Random()  # noqa: S311 - jitter
        self._next = base
        self._last: float | None = None

    def delay(self) -> float:
        """Return the next delay in seconds."""
        now = asyncio.get_running_loop().time()
        if self._last is not None and now - self._last > self._reset_after:
            self._next = self._base
        delay = self._next * (1 + self._chance.random())
        self._next = min(self._next * 2, self._maximum)
        self._last = now + delay
        return delay

    def reset(self) -> None:
        """Start over with the shortest delay."""
        self._next = self._base

    async def pause(self) -> None:
        await asyncio.sleep(self.delay())


class _Then(Enum):
    WATCH = "watch again"
    WATCH_SOON = "watch again after a short pause"
    WATCH_LATER = "watch again after a pause"
    LIST_SOON = "list again after a short pause"
    LIST_LATER = "list again after a pause"

    @property
    def lists(self) -> bool:
        return self in (_Then.LIST_SOON, _Then.LIST_LATER)


async def _close(stream: AsyncIterator[WatchEvent]) -> None:
    """Close a watch's connection now, not when it is garbage collected."""
    if isinstance(stream, AsyncGenerator):
        await stream.aclose()


class _WentBackError(Exception):
    """A bookmark has an older version than an event before it."""


def _is_older(version: str, other: str) -> bool:
    if not (version.isdecimal() and other.isdecimal()):
        return False
    return (len(version), version) < (len(other), other)


class Reflector:
    """List and watch one collection until cancelled."""

    def __init__(
        self,
        cluster: Cluster,
        resource: Resource,
        sink: Sink,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        transform: Transform | None = None,
        chance: random.Random | None = None,
        watch_seconds: tuple[int, int] = (300, 600),
        streaming: bool = False,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._cluster = cluster
        self._resource = resource
        self._sink = sink
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._metadata_only = metadata_only
        self._transform = transform
        self._chance = chance or random.Random()  # noqa: S311 - jitter
        self._watch_seconds = watch_seconds
        self._streaming = streaming
        self._backoff = Backoff(chance=self._chance)
        self._short = Backoff(base=_SHORT, chance=self._chance)
        self._version: str | None = None  # the last resource version seen
        self._is_ordered = True  # whether events arrive in the order of their versions
        self._accepted: asyncio.TimerHandle | None = None
        self._is_open = False  # the server has accepted the watch
        self.synced = asyncio.Event()
        self._facts = {
            "api_version": resource.api_version,
            "kind": resource.gvk.kind,
            "watched_namespace": namespace,
        }
        self.contact = Contact(self._facts, changed=changed)

    @property
    def resource_version(self) -> str:
        """Return the last resource version that the copy has reached."""
        return self._version or ""

    async def run(self) -> None:
        """Keep the copy alive until cancelled."""
        self.contact.begin()
        while True:
            then = _Then.LIST_LATER
            try:
                ended = await self._stream() if self._streaming else None
                if ended is None:
                    await self._list()
                then = await self._follow(ended or _Then.WATCH)
            except NotFound as error:
                self._failed("the kind is no longer served", _no_such_kind(self._resource, error))
            except ClusterError as error:
                self._failed("cannot list", error)
            except Exception as error:
                self._failed("cannot use the response to a list", error)
            await self._pause(then)

    async def _pause(self, then: _Then) -> None:
        if then in (_Then.WATCH_SOON, _Then.LIST_SOON):
            await self._short.pause()
        elif then is not _Then.WATCH:
            await self._backoff.pause()

    async def _list(self) -> None:
        """Replace the copy with a list that is not older than the last seen version."""
        try:
            if self._version is None:
                snapshots, version = await self._pages("0", _PAGE)
            else:
                # No limit: with paging, the server would read from etcd.
                snapshots, version = await self._pages(self._version, None)
        except (Gone, TooLargeResourceVersion):
            snapshots, version = await self._pages("", _PAGE)
        await self._replace(snapshots, version)

    async def _replace(self, snapshots: Sequence[Snapshot], version: str) -> None:
        await self._sink.replace(snapshots)
        self._version = version
        self.synced.set()
        self.contact.listed()

    async def _stream(self) -> _Then | None:
        """Replace the copy with the initial events of a watch and follow it; return how it ended.

        Return None if the server does not support streaming lists: then a list is needed.
        """
        for version in (self._version or "", ""):
            stream = self._open(version, initial_events=True)
            try:
                # A server that ignores the parameter never marks the end of the initial events.
                async with asyncio.timeout(_INITIAL):
                    snapshots, reached = await self._initial(stream)
                await self._replace(snapshots, reached)
                self._is_open = True
                self._works()
                return await self._drain(stream)
            except (Gone, TooLargeResourceVersion):
                continue
            except (TooManyRequests, Unreachable):
                raise
            except (ClusterError, TimeoutError, msgspec.MsgspecError) as error:
                _LOG.info(
                    "the server does not support streaming lists",
                    extra=self._facts | {"error": str(error)},
                )
                return None
            finally:
                await _close(stream)
        return None

    async def _initial(self, stream: AsyncIterator[WatchEvent]) -> tuple[list[Snapshot], str]:
        """Return the initial objects and their version, which is that of the bookmark."""
        found: dict[Request, Snapshot] = {}
        number = 0
        async for event in stream:
            number += 1
            if number % BREATH == 0:
                await asyncio.sleep(0)
            if event.type is EventType.BOOKMARK:
                metadata = Snapshot(event.object).metadata
                if (metadata.annotations or {}).get(_INITIAL_END) == "true":
                    return list(found.values()), metadata.resource_version
                continue
            snapshot = self._snapshot(event.object)
            if event.type is EventType.DELETED:
                found.pop(snapshot.key, None)
            else:
                found[snapshot.key] = snapshot
        raise ClusterError("the stream ended before all objects were sent", temporary=True)

    async def _pages(self, version: str, limit: int | None) -> tuple[list[Snapshot], str]:
        snapshots: list[Snapshot] = []
        token = ""
        while True:
            page = await self._cluster.list_page(
                self._resource,
                namespace=self._namespace,
                label_selector=self._label_selector,
                field_selector=self._field_selector,
                resource_version=version or None,
                limit=limit,
                continue_token=token,
                metadata_only=self._metadata_only,
            )
            for number, raw in enumerate(page.items, 1):
                if number % BREATH == 0:
                    await asyncio.sleep(0)
                try:
                    snapshots.append(self._snapshot(_complete(raw, self._resource)))
                except (msgspec.MsgspecError, RecursionError) as error:
                    # One invalid object must not hide all others.
                    _LOG.error("object cannot be read", extra=self._facts | {"error": str(error)})
            token = page.continue_token
            if not token:
                return snapshots, page.resource_version
            await asyncio.sleep(0)

    async def _follow(self, then: _Then) -> _Then:
        """Watch until a new list is needed; return the next step."""
        while not then.lists:
            await self._pause(then)
            self._is_open = False
            stream = self._open(self._version or "", opened=self._accept)
            try:
                then = await self._drain(stream)
            finally:
                if self._accepted is not None:
                    self._accepted.cancel()
                    self._accepted = None
                await _close(stream)
        return then

    def _accept(self) -> None:
        """Note that the server has accepted the watch."""
        self._is_open = True
        loop = asyncio.get_running_loop()
        self._accepted = loop.call_later(_QUICK, self._works)

    def _works(self) -> None:
        """Note that the watch works, and reset the back-off."""
        self._backoff.reset()
        self._short.reset()
        self.contact.kept()

    def _open(
        self,
        version: str,
        *,
        initial_events: bool = False,
        opened: Callable[[], None] | None = None,
    ) -> AsyncIterator[WatchEvent]:
        extra = {"initial_events": True} if initial_events else {}
        return self._cluster.watch(
            self._resource,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            resource_version=version,
            timeout_seconds=self._chance.randint(*self._watch_seconds),
            metadata_only=self._metadata_only,
            opened=opened,
            **extra,
        )

    async def _drain(self, stream: AsyncIterator[WatchEvent]) -> _Then:
        """Handle events until the watch ends; return the next step."""
        loop = asyncio.get_running_loop()
        begun, version = loop.time(), self._version
        # Without a version, the watch starts with all objects in any order.
        self._is_ordered = self._version not in (None, "", "0")
        try:
            await self._take_all(stream)
        except Unreachable as error:
            if not self._is_open:
                self._failed("the watch cannot be opened", error)
                return _Then.WATCH_LATER
            if self._version == version and loop.time() - begun < _QUICK:
                self._failed("the watch broke at once", error)
                return _Then.WATCH_SOON
            _LOG.debug("the watch broke", extra=self._facts | {"error": str(error)})
        except (ClusterError, _WentBackError, msgspec.MsgspecError, RecursionError) as error:
            return self._after(error)
        else:
            if self._version == version and loop.time() - begun < _QUICK:
                self._failed("the watch was closed at once")
                return _Then.LIST_SOON
        if not self._is_ordered:
            return _Then.LIST_SOON  # a watch needs a version to continue from
        self._works()  # no events is not a failure: the server kept the watch open
        return _Then.WATCH

    async def _take_all(self, stream: AsyncIterator[WatchEvent]) -> None:
        seen = 0
        async for event in stream:
            self._take(event)
            seen += 1
            if seen % BREATH == 0:
                await asyncio.sleep(0)  # many events may have come at once

    def _after(self, error: Exception) -> _Then:
        """Return the next step after the server rejected the watch or sent unusable data."""
        match error:
            case Gone():
                self._failed("the resource version has expired", error)
                return _Then.LIST_SOON
            case _WentBackError():
                # The server was restored from a backup and does not know the newer versions.
                self._failed("the resource versions of the server went backwards")
                self._version = None
                return _Then.LIST_SOON
            case TooManyRequests() if error.is_of_webhook:
                self._failed("the server cannot convert the stored objects", error)
                return _Then.WATCH_LATER
            case TooManyRequests():
                self._failed("the server is overloaded", error)
                return _Then.WATCH_LATER
            case ClusterError():
                self._failed("the server rejected the watch", error)
                return _Then.LIST_LATER
            case _:
                self._failed("an event cannot be read", error)
                return _Then.LIST_LATER

    def _take(self, event: WatchEvent) -> None:
        # A bookmark is not an object: it only has a version.
        is_object = event.type is not EventType.BOOKMARK
        snapshot = self._snapshot(event.object) if is_object else Snapshot(event.object)
        match event.type:
            case EventType.BOOKMARK:
                if _is_older(snapshot.metadata.resource_version, self._version or ""):
                    raise _WentBackError
            case EventType.DELETED:
                self._sink.remove(snapshot)
            case EventType.ADDED | EventType.MODIFIED:
                self._sink.upsert(snapshot)
        self._is_ordered = self._is_ordered or event.type is not EventType.ADDED
        if snapshot.metadata.resource_version and self._is_ordered:
            self._version = snapshot.metadata.resource_version
        self._works()

    def _snapshot(self, raw: bytes) -> Snapshot:
        if self._metadata_only:
            raw = _relabelled(raw, self._resource)
        if self._transform is None:
            return Snapshot(raw)
        try:
            return Snapshot(self._transform(raw))
        except Exception:
            # An error in the transform must not hide the object or others.
            found = Snapshot(raw)
            _LOG.exception("transform failed", extra=self._facts | {"object": str(found.key)})
            return found

    def _failed(self, what: str, error: Exception | None = None) -> None:
        if isinstance(error, Forbidden):
            error.hint = _needed(self._resource, self._namespace)
        elif isinstance(error, TooManyRequests) and error.is_of_webhook:
            error.hint = "check that the conversion webhook of the kind answers"
        self.contact.failed(what, error)


def _needed(resource: Resource, namespace: str) -> str:
    """Return a hint with the RBAC rule that is needed."""
    role = f"a Role in the namespace `{namespace}`" if namespace else "a ClusterRole"
    group = resource.gvk.group or '""'
    return (
        f"give the operator's service account {role} with the rule "
        f"`{{apiGroups: [{group}], resources: [{resource.plural}], verbs: [get, list, watch]}}`"
    )


def _no_such_kind(resource: Resource, error: NotFound) -> NoSuchKind:
    """Return the error for a kind that is no longer served."""
    return NoSuchKind(
        f"the cluster no longer serves `{resource}`: {error}",
        hint="install its CustomResourceDefinition again",
        code=error.code,
    )


class _Kind(msgspec.Struct, gc=False):
    kind: str | None = None


_KIND = msgspec.json.Decoder(_Kind)


def _complete(raw: bytes, resource: Resource) -> bytes:
    """Add the kind to an item of a list, which items of built-in kinds lack."""
    # An item that starts with one of the two has both; decoding would read the whole item.
    if raw.startswith((b'{"apiVersion"', b'{"kind"')) or _KIND.decode(raw).kind is not None:
        return raw
    words = f'{{"apiVersion":"{resource.api_version}","kind":"{resource.gvk.kind}"'.encode()
    rest = raw.lstrip()[1:]
    return words + (b"" if rest.lstrip().startswith(b"}") else b",") + rest


def _relabelled(raw: bytes, resource: Resource) -> bytes:
    """Replace the kind PartialObjectMetadata of a metadata-only response with the real kind."""
    value = msgspec.json.decode(raw)
    if isinstance(value, dict):
        value["apiVersion"], value["kind"] = resource.api_version, resource.gvk.kind
    return msgspec.json.encode(value)
