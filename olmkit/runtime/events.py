"""Kubernetes Events about objects, as `kubectl describe` shows them.

They are written to `events.k8s.io/v1`, or to the core group if the operator's roles name only that
group. Recording an event never waits and never fails: the event goes into a bounded queue, and is
dropped and counted if the queue is full. A repeated event becomes a series on the server. Events
with different notes are different events, since the note of a stored event cannot change and the
second note would be lost. A token bucket for each object and type limits events whose notes differ
each time.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import logging
import random
import socket
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from olmkit.base import names
from olmkit.kube import objects
from olmkit.kube.api import AlreadyExists, Cluster, ClusterError, NotFound, PatchType, Resource
from olmkit.kube.objects import Manifest
from olmkit.runtime import typed
from olmkit.runtime.metrics import Registry
from olmkit.runtime.typed import Kind, ModelKind

_LOG = logging.getLogger(__name__)

NORMAL = "Normal"
"""The `type` of an Event that gives information."""
WARNING = "Warning"
"""The `type` of an Event about a problem that may need attention."""
_API_VERSION, _CORE = "events.k8s.io/v1", "v1"
_MAX_WORD = 128  # reason, action and reportingInstance in bytes
_MAX_NOTE = 1024
_QUEUE = 1000
_TRIES, _PAUSE = 12, 10.0
_SERIES_WRITTEN = 30 * 60.0  # seconds between two updates of an active series
_SERIES_ENDS = 6 * 60.0  # a series ends after this time without another event
_BURST, _REFILL = 25, 300.0
_REMEMBERED = 4096

Key = tuple[str, ...]


@dataclass(slots=True)
class _Series:
    """An event that the server stores, and how often it occurred.

    Thousands may be in memory, so the event is kept as bytes.
    """

    event: bytes
    name: str
    namespace: str
    last: float
    last_time: str
    count: int = 1
    written: int = 1
    written_at: float = 0.0

    @property
    def due(self) -> float:
        """Return when the series must be written or ends."""
        ends = self.last + _SERIES_ENDS
        return min(ends, self.written_at + _SERIES_WRITTEN) if self.count != self.written else ends


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


@dataclass(slots=True)
class EventRecorder:
    """Queues events and sends them in the background, as a runnable of a manager.

    `controller` is the reporting controller. Call `event` from the event loop's thread. `now`
    returns the wall-clock time in nanoseconds since the epoch.
    """

    cluster: Cluster
    controller: str
    registry: Registry | None = None
    instance: str = ""
    now: Callable[[], int] = time.time_ns
    chance: random.Random = field(default_factory=random.Random)
    name: str = field(default="events", init=False)
    dropped: int = field(default=0, init=False)
    is_sent: bool = field(default=False, init=False)  # it runs, or will run
    _counted: int = field(default=0, init=False)
    _api_version: str = field(default=_API_VERSION, init=False)
    _queue: asyncio.Queue[Manifest] = field(
        default_factory=lambda: asyncio.Queue(_QUEUE), init=False
    )
    _series: OrderedDict[Key, _Series] = field(default_factory=OrderedDict, init=False)
    _buckets: OrderedDict[Key, _Bucket] = field(default_factory=OrderedDict, init=False)
    _tended: float = field(default=0.0, init=False)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def __post_init__(self) -> None:
        self.instance = _cut(
            self.instance or f"{self.controller}-{socket.gethostname()}", _MAX_WORD
        )
        self._count()

    def event(
        self,
        regarding: Manifest | Kind | ModelKind,
        type: str,  # noqa: A002 - the API's own word
        reason: str,
        action: str,
        note: str,
        related: Manifest | Kind | ModelKind | None = None,
    ) -> None:
        """Record an event about the object `regarding`; never waits and never raises.

        `type` is `NORMAL` or `WARNING`; `reason` is the cause and `action` what the controller did,
        both in UpperCamelCase. The note is truncated to 1024 bytes.
        """
        if type not in (NORMAL, WARNING) or not reason or not action:
            _LOG.error("event refused", extra={"type": type, "reason": reason, "action": action})
            return
        try:
            about = typed.manifest_of(regarding)
            other = None if related is None else typed.manifest_of(related)
            self._queue.put_nowait(self._manifest(about, type, reason, action, note, other))
            self._check_sent()
        except asyncio.QueueFull:
            self._drop("the queue is full", reason)
        except Exception:
            _LOG.exception("event not queued", extra={"reason": reason})

    async def run(self) -> None:
        """Send events until stopped, then send the queued ones and the final counts of series."""
        self.is_sent = True
        while not self._stopping.is_set():
            manifest = await self._next()
            if manifest is not None:
                await self._take(manifest)
            # This visits all of them, so it does not run for each event.
            clock = asyncio.get_running_loop().time()
            if manifest is None or clock - self._tended >= 1.0:
                self._tended = clock
                await self._write_due_series()
        while not self._queue.empty():
            await self._take(self._queue.get_nowait())
        for series in self._series.values():
            await self._write(series)

    def _check_sent(self) -> None:
        """Log once that events are not sent."""
        if not self.is_sent and self._queue.qsize() == 1:
            _LOG.error(
                "events are not sent: nothing runs their recorder",
                extra={
                    "controller": self.controller,
                    "hint": "get the recorder from `manager.recorder(name)`",
                },
            )

    @property
    def remembered(self) -> int:
        """Return the number of series and buckets in memory."""
        return len(self._series) + len(self._buckets)

    def stop(self) -> None:
        """Send the queued events, then end."""
        self._stopping.set()

    async def _next(self) -> Manifest | None:
        """Return the next event; None if a series is due or the recorder stops."""
        clock = asyncio.get_running_loop().time
        due = min((series.due for series in self._series.values()), default=None)
        getting = asyncio.ensure_future(self._queue.get())
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait(
                [getting, stopping],
                timeout=None if due is None else max(0.0, due - clock()),
                return_when=asyncio.FIRST_COMPLETED,
            )
            return getting.result() if getting.done() else None
        finally:
            for task in (getting, stopping):
                task.cancel()

    async def _take(self, manifest: Manifest) -> None:
        clock = asyncio.get_running_loop().time()
        key = _key(manifest)
        series = self._series.get(key)
        if series is not None and clock < series.last + _SERIES_ENDS:
            series.count += 1
            series.last, series.last_time = clock, manifest["eventTime"]
            self._series.move_to_end(key)
            if series.written == 1:  # the second one begins the series
                await self._write(series)
            return
        if not self._admits(manifest, clock):
            self._drop("too many about one object", manifest["reason"])
            return
        if await self._send(manifest):
            metadata = manifest["metadata"]
            self._series[key] = _Series(
                msgspec.json.encode(manifest),
                metadata["name"],
                metadata["namespace"],
                last=clock,
                last_time=manifest["eventTime"],
                written_at=clock,
            )
            while len(self._series) > _REMEMBERED:
                _, oldest = self._series.popitem(last=False)
                await self._write(oldest)

    async def _write_due_series(self) -> None:
        """Write the series that are due; discard series that ended and buckets that are full."""
        clock = asyncio.get_running_loop().time()
        for key, series in list(self._series.items()):
            if clock >= series.due:
                await self._write(series)
                if clock >= series.last + _SERIES_ENDS:
                    del self._series[key]
        for key, bucket in list(self._buckets.items()):
            if bucket.tokens + (clock - bucket.at) / _REFILL >= _BURST:
                del self._buckets[key]  # a full bucket limits nothing

    async def _write(self, series: _Series) -> None:
        """Update the count of the series on the server."""
        if series.count == series.written:
            return
        patch = {"series": {"count": series.count, "lastObservedTime": series.last_time}}

        async def change(resource: Resource) -> None:
            try:
                await self.cluster.patch(
                    resource,
                    series.name,
                    patch,
                    type=PatchType.MERGE,
                    namespace=series.namespace,
                )
            except NotFound:  # the server keeps events for an hour
                manifest: Manifest = msgspec.json.decode(series.event)
                await self._create(resource, manifest | patch)

        if await self._retry(change):
            series.written = series.count
            series.written_at = asyncio.get_running_loop().time()

    async def _send(self, manifest: Manifest) -> bool:
        return await self._retry(lambda resource: self._create(resource, manifest))

    async def _create(self, resource: Resource, manifest: Manifest) -> None:
        # The event exists: an earlier request succeeded, and only its response was lost.
        body = _in_core_group(manifest) if resource.gvk.api_version == _CORE else manifest
        with contextlib.suppress(AlreadyExists):
            await self.cluster.create(resource, body, namespace=manifest["metadata"]["namespace"])

    async def _retry(self, work: Callable[[Resource], Any]) -> bool:
        for tried in range(1, _TRIES + 1):
            try:
                await work(await self.cluster.resource(self._api_version, "Event"))
            except ClusterError as error:
                if any(cause.reason == "NamespaceTerminating" for cause in error.causes):
                    return False
                if error.code == 403:
                    was, self._api_version = self._api_version, _CORE
                    if was != _CORE:
                        continue
                    self._api_version = _API_VERSION  # neither: the next event checks again
                final = 400 <= error.code < 500 and error.code not in (408, 409, 429)
                if final or tried == _TRIES or self._stopping.is_set():
                    _LOG.warning("event not written", extra={"error": str(error)})
                    return False
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_PAUSE * (0.75 + 0.5 * self.chance.random())):
                        await self._stopping.wait()
            except Exception:
                _LOG.exception("event not written")
                return False
            else:
                return True
        return False

    def _admits(self, manifest: Manifest, clock: float) -> bool:
        """Take a token from the object's bucket: a burst of 25, then one in five minutes."""
        key = (*_reference_key(manifest["regarding"]), manifest["type"])
        bucket = self._buckets.pop(key, None) or _Bucket(_BURST, clock)
        bucket.tokens = min(_BURST, bucket.tokens + (clock - bucket.at) / _REFILL)
        bucket.at = clock
        self._buckets[key] = bucket
        while len(self._buckets) > _REMEMBERED:
            self._buckets.popitem(last=False)
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _manifest(
        self,
        regarding: Manifest,
        type_: str,
        reason: str,
        action: str,
        note: str,
        related: Manifest | None,
    ) -> Manifest:
        now = self.now()
        name = f"{objects.name(regarding)}.{now:x}"
        manifest: Manifest = {
            "apiVersion": _API_VERSION,
            "kind": "Event",
            "metadata": {
                # Some kinds, such as Role, allow names that an Event does not.
                "name": name if names.is_subdomain(name) else str(uuid.uuid4()),
                "namespace": objects.namespace(regarding) or "default",
            },
            "eventTime": _micro_time(now),
            "type": type_,
            "reason": _cut(reason, _MAX_WORD),
            "action": _cut(action, _MAX_WORD),
            "note": _cut(note, _MAX_NOTE),
            "regarding": _reference(regarding),
            "reportingController": self.controller,
            "reportingInstance": self.instance,
        }
        if related is not None:
            manifest["related"] = _reference(related)
        return manifest

    def _drop(self, why: str, reason: str) -> None:
        self.dropped += 1
        self._count()
        _LOG.warning("event dropped", extra={"why": why, "reason": reason})

    def _count(self) -> None:
        if self.registry is not None:
            dropped = self.registry.counter(
                "olmkit_events_dropped_total", "Events that were not sent", ("controller",)
            )
            dropped.labels(self.controller).inc(self.dropped - self._counted)
            self._counted = self.dropped


def _in_core_group(manifest: Manifest) -> Manifest:
    """Return the same event in the form of the core group."""
    names = {
        "note": "message",
        "regarding": "involvedObject",
        "reportingController": "reportingComponent",
    }
    renamed = {names.get(key, key): value for key, value in manifest.items()}
    return renamed | {"apiVersion": _CORE}


def _reference(manifest: Manifest) -> dict[str, str]:
    metadata = objects.metadata(manifest)
    found = {"apiVersion": manifest.get("apiVersion"), "kind": manifest.get("kind")}
    found |= {key: metadata.get(key) for key in ("namespace", "name", "uid", "resourceVersion")}
    return {key: value for key, value in found.items() if isinstance(value, str) and value}


def _reference_key(reference: dict[str, str]) -> Key:
    """Return the identity of an object, without its resource version."""
    return tuple(
        reference.get(part, "") for part in ("apiVersion", "kind", "namespace", "name", "uid")
    )


def _key(manifest: Manifest) -> Key:
    return (
        *_reference_key(manifest["regarding"]),
        *_reference_key(manifest.get("related", {})),
        *(manifest[part] for part in ("type", "action", "reason", "note")),
    )


def _cut(text: str, limit: int) -> str:
    """Truncate the text to `limit` bytes, at the end of a character."""
    return text.encode()[:limit].decode(errors="ignore")


def _micro_time(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds // 1000, 1_000_000)
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:06d}Z"
