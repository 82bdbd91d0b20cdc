"""The cache: local copies of the objects that a manager watches.

There is one informer for each kind. It has a reflector and a store for each watched namespace, and
any number of handlers, which are called after the store has changed. Objects outside the scope of
the cache seem not to exist. Reading from a namespace that is not watched at all is an error, since
that is a mistake in the program.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube.api import Cluster, ClusterError, NoSuchKind, Resource
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime import typed
from olmkit.runtime.typed import Kind, ModelKind
from olmkit.runtime.watch.predicate import CreateEvent, DeleteEvent, Event, UpdateEvent
from olmkit.runtime.watch.reflector import BREATH, Backoff, Reflector
from olmkit.runtime.watch.scope import ALL_NAMESPACES as ALL_NAMESPACES
from olmkit.runtime.watch.scope import CacheSettings as CacheSettings
from olmkit.runtime.watch.scope import KindScope as KindScope
from olmkit.runtime.watch.scope import Scope as Scope
from olmkit.runtime.watch.scope import parse_namespaces as parse_namespaces
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.watch.store import Indexer, Store
from olmkit.runtime.watch.watch_health import REFUSALS, Contact
from olmkit.runtime.work.reconcile import Request

_LOG = logging.getLogger(__name__)

_MISSING_KIND = 10.0  # seconds between two checks for a kind that is not installed

Deliver = Callable[[Event], None]

Index = tuple[str, str] | Mapping[str, str]
"""Indexed fields and their values: each field must have the value, or all of several values."""


class _Part:
    """One watched collection: fills a store and notifies the informer."""

    def __init__(self, store: Store, deliver: Deliver) -> None:
        self.store = store
        self._deliver = deliver
        self._initial = True

    async def replace(self, snapshots: Sequence[Snapshot]) -> None:
        wanted = {snapshot.key for snapshot in snapshots}
        for number, old in enumerate(self.store, 1):
            if old.key not in wanted:
                event = self.store.remove_unseen(old)
                if event is not None:
                    self._deliver(event)
            if number % BREATH == 0:
                await asyncio.sleep(0)
        for number, snapshot in enumerate(snapshots, 1):
            self._tell(self.store.upsert(snapshot, initial=self._initial))
            if number % BREATH == 0:
                await asyncio.sleep(0)
        self._initial = False

    def upsert(self, snapshot: Snapshot) -> None:
        self._tell(self.store.upsert(snapshot))

    def _tell(self, event: Event) -> None:
        """Deliver an event; deliver a recreated object as a deletion and a creation.

        A predicate for updates compares the two objects, and might find them equal.
        """
        match event:
            case UpdateEvent(old=Snapshot() as old, new=Snapshot() as new) if (
                old.metadata.uid != new.metadata.uid
            ):
                self._deliver(DeleteEvent(old, state_unknown=True))
                self._deliver(CreateEvent(new))
            case _:
                self._deliver(event)

    def remove(self, snapshot: Snapshot) -> None:
        event = self.store.remove(snapshot)
        if event is not None:
            self._deliver(event)

    async def resync(self) -> None:
        """Deliver all objects again, as updates without changes."""
        for number, snapshot in enumerate(self.store, 1):
            if self.store.get(snapshot.key) is snapshot:
                self._deliver(UpdateEvent(snapshot, snapshot))
            if number % BREATH == 0:
                await asyncio.sleep(0)


class Informer:
    """The cache of one kind: its stores, reflectors and handlers."""

    def __init__(
        self,
        cluster: Cluster,
        gvk: GVK,
        settings: CacheSettings,
        *,
        metadata_only: bool = False,
        chance: random.Random | None = None,
    ) -> None:
        self.gvk = gvk
        self.metadata_only = metadata_only
        self._cluster = cluster
        self._settings = settings
        self._chance = chance
        self._indexers: dict[str, Indexer] = {}
        self._handlers: list[Deliver] = []
        self._parts: dict[str, _Part] = {}
        self._reflectors: dict[str, Reflector] = {}
        self._synced = asyncio.Event()
        self._answered = asyncio.Event()  # the server returned the list or rejected the request
        facts = {"api_version": gvk.api_version, "kind": gvk.kind}
        self._discovery = Contact(facts, changed=self._wake_waiting)
        self.resource: Resource | None = None

    def add_index(self, name: str, indexer: Indexer) -> None:
        """Add an index under a unique name before the informer starts."""
        if self._parts:
            raise ConfigurationError(f"index `{name}` of `{self.gvk.kind}` comes after the start")
        if name in self._indexers:
            raise ConfigurationError(f"`{self.gvk.kind}` already has an index `{name}`")
        self._indexers[name] = indexer

    @property
    def indexes(self) -> frozenset[str]:
        """Return the names of the indexes."""
        return frozenset(self._indexers)

    def add_handler(self, deliver: Deliver) -> None:
        """Call `deliver` for all existing objects, then for every event."""
        for part in self._parts.values():
            for snapshot in part.store:
                self._tell(deliver, CreateEvent(snapshot, initial=True))
        self._handlers.append(deliver)

    @property
    def synced(self) -> bool:
        return self._synced.is_set()

    async def wait_for_sync(self) -> None:
        """Wait until the first list of every part is stored and delivered.

        Raises `NoSuchKind` or `Forbidden`, errors that only an administrator can fix. The informer
        continues to retry, so the caller may wait again.
        """
        while not self.synced:
            await self._answered.wait()
            if (refusal := self.refusal) is not None:
                raise refusal.with_traceback(None)

    def contacts(self) -> Iterator[tuple[str, Contact]]:
        """Return the state of each watch by its namespace; the key is empty for all namespaces."""
        yield "", self._discovery
        for namespace, reflector in self._reflectors.items():
            yield namespace, reflector.contact

    @property
    def failures(self) -> list[Exception]:
        """Return the errors because of which parts are not up to date."""
        found = (contact.failure for _, contact in self.contacts())
        return [failure for failure in found if failure is not None]

    @property
    def refusal(self) -> ClusterError | None:
        """Return the error that prevents the first list and that an administrator must fix."""
        if self.synced:
            return None
        return next((one for one in self.failures if isinstance(one, REFUSALS)), None)

    async def run(self) -> None:
        """Keep the cache up to date until cancelled."""
        self.resource = resource = await self._find()
        parts = self._settings.parts(self.gvk, namespaced=resource.namespaced)
        for namespace, scope in parts.items():
            part = _Part(Store(self._indexers), self._deliver)
            self._parts[namespace] = part
            self._reflectors[namespace] = Reflector(
                self._cluster,
                resource,
                part,
                namespace=namespace,
                label_selector=scope.label_selector or "",
                field_selector=scope.field_selector or "",
                transform=scope.transform,
                metadata_only=self.metadata_only,
                chance=self._chance,
                watch_seconds=self._settings.watch_seconds,
                streaming=self._settings.streaming,
                changed=self._wake_waiting,
            )
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors.values():
                group.create_task(reflector.run())
            for reflector in self._reflectors.values():
                await reflector.synced.wait()
            self._synced.set()
            self._wake_waiting()
            count = sum(len(part.store) for part in self._parts.values())
            _LOG.info("watch is synced", extra={"kind": str(self.gvk), "objects": count})
            if self._settings.resync_of(self.gvk) > 0:
                group.create_task(self._resync(self._settings.resync_of(self.gvk)))

    def get(self, key: Request) -> Snapshot | None:
        return self._part(key.namespace).store.get(key)

    def list(
        self,
        *,
        namespace: str = "",
        labels: LabelSelector | None = None,
        index: Index | None = None,
        limit: int = 0,
    ) -> list[Snapshot]:
        """List the objects of one or all namespaces, selected by labels and indexed fields.

        `limit` returns an arbitrary selection; 0 means no limit.
        """
        fields = dict(index if isinstance(index, Mapping) else (index,)) if index else {}
        parts = [self._part(namespace)] if namespace else list(self._parts.values())
        found: list[Snapshot] = []
        for part in parts:
            if not fields:
                found += part.store.in_namespace(namespace)
                continue
            for field_ in fields.keys() - part.store.indexed_fields:
                raise ConfigurationError(
                    f"`{self.gvk.kind}` has no index `{field_}`",
                    hint="declare it with `add_index` before the cache starts",
                )
            found += part.store.by_indexes(fields, namespace)
        if labels is not None:
            found = [one for one in found if labels.matches(one.metadata.labels or {})]
        return found[:limit] if limit else found

    def hides_namespace(self, namespace: str) -> bool:
        """Return whether a namespace is not watched."""
        return namespace not in self._parts and ALL_NAMESPACES not in self._parts

    def hides(self, key: Request) -> bool:
        """Return whether an object may exist outside the scope of the cache."""
        namespaced = self.resource is None or self.resource.namespaced
        part = self._parts.get(key.namespace) or self._parts.get(ALL_NAMESPACES)
        if part is None:
            return True
        if part.store.get(key) is not None:
            return False
        scopes = self._settings.parts(self.gvk, namespaced=namespaced)
        scope = scopes.get(key.namespace) or scopes.get(ALL_NAMESPACES, Scope())
        return bool(scope.label_selector or scope.field_selector)

    def version_of(self, namespace: str) -> str:
        """Return the resource version that the cache of a namespace has reached."""
        name = namespace if namespace in self._reflectors else ALL_NAMESPACES
        reflector = self._reflectors.get(name)
        return reflector.resource_version if reflector else ""

    def _part(self, namespace: str) -> _Part:
        part = self._parts.get(namespace) or self._parts.get(ALL_NAMESPACES)
        if part is None:
            watched = ", ".join(f"`{name}`" for name in self._parts)
            raise ConfigurationError(
                f"namespace `{namespace}` is not watched for `{self.gvk.kind}`",
                hint=f"the watched namespaces are {watched}; add it to the cache's settings",
            )
        return part

    async def _resync(self, period: float) -> None:
        chance = self._chance or random.Random()  # noqa: S311 - jitter
        period = max(1.0, period * (0.9 + 0.2 * chance.random()))
        while True:
            await asyncio.sleep(period)
            for part in self._parts.values():
                await part.resync()

    def _deliver(self, event: Event) -> None:
        for deliver in self._handlers:
            self._tell(deliver, event)

    def _tell(self, deliver: Deliver, event: Event) -> None:
        """Call one handler; its errors affect neither other events nor other handlers."""
        try:
            deliver(event)
        except Exception:
            _LOG.exception("handler failed", extra={"kind": self.gvk.kind})

    def _wake_waiting(self) -> None:
        """Wake the waiting tasks after an event."""
        if self.synced or self.refusal is not None:
            self._answered.set()
        else:
            self._answered.clear()

    async def _find(self) -> Resource:
        self._discovery.begin()
        backoff = Backoff(chance=self._chance)
        while True:
            try:
                resource = await self._cluster.resource(self.gvk.api_version, self.gvk.kind)
            except NoSuchKind as error:
                # The CRD may be installed after the operator.
                self._discovery.failed("the kind is not installed", error)
                await asyncio.sleep(_MISSING_KIND)
            except Exception as error:
                self._discovery.failed("cannot discover the kind", error)
                await backoff.pause()
            else:
                self._discovery.listed()
                return resource


class Cache:
    """All informers of a manager, created on first use."""

    def __init__(
        self,
        cluster: Cluster,
        settings: CacheSettings | None = None,
        *,
        chance: random.Random | None = None,
    ) -> None:
        self._cluster = cluster
        self._settings = settings or CacheSettings()
        self._chance = chance
        self._informers: dict[tuple[GVK, bool], Informer] = {}
        self._group: asyncio.TaskGroup | None = None
        self._tasks: dict[tuple[GVK, bool], asyncio.Task[None]] = {}

    def informer(
        self, kind: GVK | type[Kind | ModelKind], *, metadata_only: bool = False
    ) -> Informer:
        """Return the informer of a kind; create and start it if it does not exist."""
        gvk = typed.gvk_of(kind)
        key = (gvk, metadata_only)
        informer = self._informers.get(key)
        if informer is None:
            informer = self._informers[key] = Informer(
                self._cluster,
                gvk,
                self._settings,
                metadata_only=metadata_only,
                chance=self._chance,
            )
            self._start(key)
        return informer

    def add_index(self, kind: GVK | type[Kind | ModelKind], name: str, indexer: Indexer) -> None:
        """Add an index before the cache starts."""
        self.informer(kind).add_index(name, indexer)

    @property
    def informers(self) -> Iterable[Informer]:
        return tuple(self._informers.values())

    async def run(self) -> None:
        """Run all informers until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                for key in list(self._informers):
                    self._start(key)
                await asyncio.Event().wait()
            finally:
                self._group = None

    async def wait_for_sync(self, *, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Wait until every informer is synced or rejected by the server.

        After a `TimeoutError`, `unsynced` returns the informers that are missing.
        """
        async with asyncio.timeout(timeout):
            for informer in list(self._informers.values()):
                with contextlib.suppress(*REFUSALS):
                    await informer.wait_for_sync()

    def unsynced(self) -> list[Informer]:
        return [informer for informer in self._informers.values() if not informer.synced]

    async def synced_informer(self, gvk: GVK, *, metadata_only: bool = False) -> Informer:
        """Return the informer of a kind once it can be read.

        Waits without a timeout; the caller limits the time. Raises `ConfigurationError` if the
        cache does not run, since it would wait forever, and `NoSuchKind` or `Forbidden` if the
        server rejects the request.
        """
        if not self._settings.start_on_read and (gvk, metadata_only) not in self._informers:
            raise ConfigurationError(
                f"nothing watches `{gvk.kind}`, so it cannot be read from the cache",
                hint="watch it with a controller, or read it through `client.direct`",
            )
        informer = self.informer(gvk, metadata_only=metadata_only)
        if not informer.synced:
            if self._group is None:
                raise ConfigurationError("the cache is not running: read after the manager started")
            _LOG.info("a read is waiting for the first list", extra={"kind": str(gvk)})
            await informer.wait_for_sync()
        return informer

    async def get(self, gvk: GVK, key: Request, *, metadata_only: bool = False) -> Snapshot | None:
        return (await self.synced_informer(gvk, metadata_only=metadata_only)).get(key)

    async def list(
        self,
        gvk: GVK,
        *,
        namespace: str = "",
        labels: LabelSelector | None = None,
        index: Index | None = None,
        limit: int = 0,
        metadata_only: bool = False,
    ) -> Sequence[Snapshot]:
        informer = await self.synced_informer(gvk, metadata_only=metadata_only)
        return informer.list(namespace=namespace, labels=labels, index=index, limit=limit)

    def peek(self, gvk: GVK, key: Request) -> Snapshot | None:
        """Return an object from the cache without starting an informer or waiting."""
        informer = self._informers.get((gvk, False))
        if informer is None or not informer.synced or informer.hides_namespace(key.namespace):
            return None
        return informer.get(key)

    def excludes(self, resource: Resource, manifest: Manifest) -> str:
        """Return the label selector that excludes an object from the cache; empty if none does."""
        parts = self._settings.parts(resource.gvk, namespaced=resource.namespaced)
        metadata = manifest.get("metadata") or {}
        scope = parts.get(metadata.get("namespace") or "") or parts.get(ALL_NAMESPACES)
        selector = scope.label_selector if scope is not None else None
        if not selector or LabelSelector.parse(selector).matches(metadata.get("labels") or {}):
            return ""
        return selector

    def hides(self, gvk: GVK, key: Request) -> bool:
        """Return whether a missing object may exist outside the scope of the cache."""
        informer = self._informers.get((gvk, False))
        return informer is not None and informer.synced and informer.hides(key)

    def is_namespaced(self, group: str, kind: str) -> bool | None:
        """Return whether a watched kind is namespaced; None if that is not known yet."""
        for (gvk, _), informer in self._informers.items():
            if (gvk.group, gvk.kind) == (group, kind) and informer.resource is not None:
                return informer.resource.namespaced
        return None

    async def remove(self, gvk: GVK, *, metadata_only: bool = False) -> None:
        """Stop watching a kind."""
        key = (gvk, metadata_only)
        self._informers.pop(key, None)
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def _start(self, key: tuple[GVK, bool]) -> None:
        if self._group is not None and key not in self._tasks:
            self._tasks[key] = self._group.create_task(self._informers[key].run())
