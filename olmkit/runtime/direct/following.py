"""Pages of large collections, watches, and waiting for the state of one object.

All of them read from the server, for programs and reconcilers that need no cache of a kind.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeGuard, TypeVar, overload

from olmkit.kube import conditions
from olmkit.kube.api import ClusterError, EventType, Gone
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime import typed
from olmkit.runtime.direct.subresources import Subresources
from olmkit.runtime.durations import Duration, seconds
from olmkit.runtime.manifests.identity import as_manifest
from olmkit.runtime.typed import K
from olmkit.runtime.watch.predicate import CreateEvent, UpdateEvent
from olmkit.runtime.watch.reflector import Reflector
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.watch.store import Store
from olmkit.runtime.work.reconcile import Request

T = TypeVar("T")

_SIZE = 500


@dataclass(frozen=True, slots=True)
class Watched(Generic[T]):
    """One event of a watch: its type (`ADDED`, `MODIFIED` or `DELETED`) and the object."""

    type: EventType
    object: T


class Following(Subresources):
    """The client's methods for pages, watches and waiting."""

    @overload
    def pages(
        self,
        kind: GVK,
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
        size: int = _SIZE,
    ) -> AsyncIterator[Sequence[Manifest]]: ...

    @overload
    def pages(
        self,
        kind: type[K],
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
        size: int = _SIZE,
    ) -> AsyncIterator[Sequence[K]]: ...

    async def pages(
        self,
        kind: GVK | type[K],
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
        size: int = _SIZE,
    ) -> AsyncIterator[Any]:
        """List objects from the server in pages of `size`, so that not all are in memory.

        If the continue token expires, the remaining pages come from a newer list; no object is
        returned twice.
        """
        gvk = typed.gvk_of(kind)
        resource = await self._resource(gvk)
        namespace = await self._place(gvk, namespace)
        token = ""
        while True:
            try:
                page = await self.cluster.list_page(
                    resource,
                    namespace=namespace,
                    label_selector=str(LabelSelector.parse(labels)),
                    field_selector=fields,
                    limit=size,
                    continue_token=token,
                )
            except Gone as error:
                if not token or not error.continue_token or error.continue_token == token:
                    raise
                token = error.continue_token
                continue
            yield [_made(kind, Snapshot(raw)) for raw in page.items]
            token = page.continue_token
            if not token:
                return

    @overload
    def watch(
        self,
        kind: GVK,
        *,
        name: str = "",
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
    ) -> AsyncIterator[Watched[Manifest]]: ...

    @overload
    def watch(
        self,
        kind: type[K],
        *,
        name: str = "",
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
    ) -> AsyncIterator[Watched[K]]: ...

    async def watch(
        self,
        kind: GVK | type[K],
        *,
        name: str = "",
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
    ) -> AsyncIterator[Any]:
        """Yield the existing objects as `ADDED`, then each change, until the caller stops.

        The watch continues after lost connections and expired resource versions, and yields what
        changed in between. Changes of one object that come faster than the caller reads them are
        merged into one; an object that was deleted and created again in between is `MODIFIED`, with
        a new UID. Raises `ClusterError` if the server rejects the request, and never ends by
        itself. Use `contextlib.aclosing` to close it immediately.
        """
        async with contextlib.aclosing(
            self._changes(typed.gvk_of(kind), name, namespace, labels, fields)
        ) as changes:
            async for change in changes:
                if change is not None:
                    yield Watched(change.type, _made(kind, change.object))

    @overload
    async def wait_for(
        self, kind: GVK, key: Request, until: str, *, within: Duration
    ) -> Manifest: ...

    @overload
    async def wait_for(self, kind: type[K], key: Request, until: str, *, within: Duration) -> K: ...

    @overload
    async def wait_for(
        self,
        kind: GVK,
        key: Request,
        until: Callable[[Manifest | None], bool],
        *,
        within: Duration,
    ) -> Manifest | None: ...

    @overload
    async def wait_for(
        self,
        kind: type[K],
        key: Request,
        until: Callable[[K | None], bool],
        *,
        within: Duration,
    ) -> K | None: ...

    async def wait_for(
        self,
        kind: GVK | type[K],
        key: Request,
        until: str | Callable[[Any], bool],
        *,
        within: Duration,
    ) -> Any:
        """Wait until the object meets the condition `until`, and return the object.

        `until` is either the type of a condition, which must be true and not older than the
        object's generation, or a function that gets the object, or None if it does not exist. After
        `within`, raises `TimeoutError` with the last state.
        """
        gvk = typed.gvk_of(kind)
        limit = seconds(within, "within")
        key = await self._located(gvk, key)
        current: Snapshot | None = None
        try:
            async with (
                asyncio.timeout(limit),
                contextlib.aclosing(self._changes(gvk, key.name, key.namespace, "", "")) as changes,
            ):
                async for change in changes:
                    if change is not None:
                        current = None if change.type is EventType.DELETED else change.object
                    found = None if current is None else _made(kind, current)
                    if isinstance(until, str):
                        if current is not None and _is_true(current.manifest(), until):
                            return found
                    elif until(found):
                        return found
        except TimeoutError as error:
            raise TimeoutError(_late(gvk, key, until, current, limit)) from error
        raise AssertionError("unreachable")

    async def _changes(
        self,
        gvk: GVK,
        name: str,
        namespace: str,
        labels: str | Mapping[str, Any],
        fields: str,
    ) -> AsyncGenerator[Watched[Snapshot] | None, None]:
        """Yield changes as they arrive, and None once after all existing objects."""
        resource = await self._resource(gvk)
        namespace = await self._place(gvk, namespace)
        named = f"metadata.name={name}" if name else ""
        feed = _Feed()
        reflector = Reflector(
            self.cluster,
            resource,
            feed,
            namespace=namespace,
            label_selector=str(LabelSelector.parse(labels)),
            field_selector=",".join(filter(None, (named, fields))),
            changed=feed.wake,
        )
        running = asyncio.create_task(reflector.run())
        shown = False
        try:
            while True:
                await feed.woken.wait()
                feed.woken.clear()
                failure = reflector.contact.failure
                if _ends(failure):
                    raise failure
                while feed.pending:
                    yield feed.take()
                if feed.listed and not shown:
                    shown = True
                    yield None
        finally:
            running.cancel()
            await asyncio.wait([running])


def _ends(failure: Exception | None) -> TypeGuard[ClusterError]:
    """Return whether a watch cannot continue; after an expired version it starts with a list."""
    if isinstance(failure, Gone):
        return False
    return isinstance(failure, ClusterError) and not failure.temporary


class _Feed:
    """Implements `Sink`: the changes that were not read yet, at most one for each object."""

    def __init__(self) -> None:
        self.pending: dict[Request, Watched[Snapshot]] = {}
        self.listed = False
        self.woken = asyncio.Event()
        self._store = Store()

    def wake(self) -> None:
        self.woken.set()

    def take(self) -> Watched[Snapshot]:
        """Remove and return the oldest change."""
        return self.pending.pop(next(iter(self.pending)))

    async def replace(self, snapshots: Sequence[Snapshot]) -> None:
        kept = {snapshot.key for snapshot in snapshots}
        for old in self._store:
            if old.key not in kept:
                self.remove(old)
        for snapshot in snapshots:
            self.upsert(snapshot)
        self.listed = True
        self.wake()

    def upsert(self, snapshot: Snapshot) -> None:
        match self._store.upsert(snapshot):
            case CreateEvent():
                self._note(EventType.ADDED, snapshot)
            case UpdateEvent(old=Snapshot() as old) if (
                old.metadata.resource_version != snapshot.metadata.resource_version
            ):
                self._note(EventType.MODIFIED, snapshot)
            case _:
                pass

    def remove(self, snapshot: Snapshot) -> None:
        if self._store.remove(snapshot) is not None:
            self._note(EventType.DELETED, snapshot)

    def _note(self, type_: EventType, snapshot: Snapshot) -> None:
        before = self.pending.get(snapshot.key)
        match (before.type if before is not None else None), type_:
            case EventType.ADDED, EventType.DELETED:
                del self.pending[snapshot.key]  # it was not reported yet
                return
            case EventType.ADDED, _:
                type_ = EventType.ADDED
            case EventType.DELETED, EventType.ADDED:
                type_ = EventType.MODIFIED
            case _:
                pass
        self.pending[snapshot.key] = Watched(type_, snapshot)
        self.wake()


def _made(kind: GVK | type[K], snapshot: Snapshot) -> Any:
    manifest = as_manifest(typed.gvk_of(kind), snapshot)
    return manifest if isinstance(kind, GVK) else typed.read(kind, manifest)


def _is_true(manifest: Manifest, condition: str) -> bool:
    found = conditions.find(_conditions(manifest), condition)
    if found is None or found.get("status") != "True":
        return False
    generation = (manifest.get("metadata") or {}).get("generation") or 0
    observed = (
        one["observedGeneration"]
        for one in (found, manifest["status"])  # kinds have the generation in either place
        if isinstance(one.get("observedGeneration"), int)
    )
    return all(one >= generation for one in observed)


def _conditions(manifest: Manifest) -> list[conditions.Condition]:
    status = manifest.get("status")
    listed = status.get("conditions") if isinstance(status, Mapping) else None
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _late(gvk: GVK, key: Request, until: object, current: Snapshot | None, limit: float) -> str:
    what = f"`{until}`" if isinstance(until, str) else "as expected"
    if current is None:
        state = "the object does not exist"
    else:
        listed = [
            f"{one.get('type')}={one.get('status')}"
            + (f" ({one['reason']}: {one.get('message', '')})" if one.get("reason") else "")
            for one in _conditions(current.manifest())
        ]
        state = ", ".join(listed) or "it has no conditions"
    return f"`{gvk.kind}` `{key}` was not {what} within {limit:g} s: {state}"
