"""Reading from the cache, writing to the server: what reconcilers hold.

Writes go straight through; the cache learns of them later, through its watch.
Who must see an own write reads with `fresh=True`. `get` may miss, `require`
raises.
"""

from __future__ import annotations

import asyncio
import copy
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from olmkit.kube import changes
from olmkit.kube.api import (
    AlreadyExists,
    Cluster,
    Conflict,
    NotFound,
    PatchType,
    Propagation,
    Resource,
)
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.cache import Cache
from olmkit.runtime.reconcile import Request
from olmkit.runtime.snapshot import Snapshot

T = TypeVar("T")

_FRESH_TIMEOUT = 5.0
_SWEEP = 500  # writes after which it is looked which of them the cache has shown
_MAX_WRITTEN = 10_000
_COMPARABLE = re.compile(r"[1-9][0-9]*")


class Written(StrEnum):
    """What `create_or_update` did."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


class Client:
    """The API of one cluster for reconcilers; every object is a `Manifest` of the caller's own.

    `field_manager` is the name under which fields are owned: short, stable, one a
    controller. Every method raises `olmkit.kube.api.ClusterError`.
    """

    def __init__(
        self,
        cluster: Cluster,
        cache: Cache | None,
        *,
        field_manager: str,
        uncached: frozenset[GVK] = frozenset(),
        dry_run: bool = False,
    ) -> None:
        self.cluster = cluster
        self._cache = cache
        self._field_manager = field_manager
        self._uncached = uncached
        self._dry_run = dry_run
        self._written: dict[tuple[GVK, Request], str] = {}
        self._sweep_above = _SWEEP

    @property
    def direct(self) -> Client:
        """The same client, reading from the server."""
        return Client(self.cluster, None, field_manager=self._field_manager, dry_run=self._dry_run)

    @property
    def remembered_writes(self) -> int:
        """How many own writes are remembered for reads that want to be `fresh`."""
        return len(self._written)

    @property
    def rehearsal(self) -> Client:
        """The same client, whose writes the server checks and does not keep."""
        return Client(
            self.cluster,
            self._cache,
            field_manager=self._field_manager,
            uncached=self._uncached,
            dry_run=True,
        )

    async def get(self, gvk: GVK, key: Request, *, fresh: bool = False) -> Manifest | None:
        """One object, or None. `fresh` waits until this client's last write of it is seen."""
        if self._cache is None or gvk in self._uncached:
            try:
                resource = await self._resource(gvk)
                return await self.cluster.get(resource, key.name, namespace=key.namespace)
            except NotFound:
                return None
        if fresh:
            await self._wait_for_own_write(gvk, key)
        snapshot = await self._cache.get(gvk, key)
        return None if snapshot is None else _manifest(gvk, snapshot)

    async def require(self, gvk: GVK, key: Request, *, fresh: bool = False) -> Manifest:
        """One object; raises `NotFound`."""
        found = await self.get(gvk, key, fresh=fresh)
        if found is None:
            raise NotFound(
                f'{gvk.kind} "{key}" not found', code=404, reason="NotFound", name=key.name
            )
        return found

    async def list(
        self,
        gvk: GVK,
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        index: tuple[str, str] | None = None,
    ) -> Sequence[Manifest]:
        """The objects of a namespace, or of all, by label selector and by one index."""
        selector = LabelSelector.parse(labels)
        if self._cache is None or gvk in self._uncached:
            return await self._list_directly(gvk, namespace, str(selector))
        found = await self._cache.list(
            gvk, namespace=namespace, labels=selector if labels else None, index=index
        )
        return [_manifest(gvk, snapshot) for snapshot in found]

    async def apply(self, manifest: Manifest, *, force: bool = True) -> Manifest:
        """Server-side apply: own the fields that `manifest` has, and no others.

        A field that was applied before and is left out now is removed. When nothing
        changes, the server writes nothing, so applying on every pass causes no loop.
        """
        return await self._apply(manifest, force=force)

    async def apply_status(self, manifest: Manifest, *, force: bool = True) -> Manifest:
        """The same for the status subresource, under a field manager of its own."""
        only: Manifest = {
            key: manifest[key] for key in ("apiVersion", "kind", "status") if key in manifest
        }
        metadata = manifest.get("metadata") or {}
        only["metadata"] = {
            key: metadata[key] for key in ("name", "namespace", "uid") if key in metadata
        }
        return await self._apply(only, subresource="status", force=force)

    async def create(self, manifest: Manifest) -> Manifest:
        """POST; raises `AlreadyExists`, also for an object which the cache's scope hides."""
        resource = await self._resource(_gvk(manifest))
        created = await self.cluster.create(
            resource, manifest, field_manager=self._field_manager, dry_run=self._dry_run
        )
        return self._remember(resource, created)

    async def replace(self, manifest: Manifest, *, subresource: str = "") -> Manifest:
        """PUT of the whole object; raises `Conflict` when it changed since it was read."""
        resource = await self._resource(_gvk(manifest))
        replaced = await self.cluster.replace(
            resource,
            manifest,
            subresource=subresource,
            field_manager=self._field_manager,
            dry_run=self._dry_run,
        )
        return self._remember(resource, replaced)

    async def patch(
        self, old: Manifest, new: Manifest, *, subresource: str = "", locked: bool = False
    ) -> Manifest:
        """Send what turns `old` into `new` as a merge patch; no request when nothing does.

        `locked` puts the resource version of `old` into it, so that a change in between
        raises `Conflict`: needed for lists such as finalizers, which a merge patch replaces.
        """
        patch = changes.merge_patch(old, new)
        if not patch:
            return new
        metadata = old.get("metadata") or {}
        if locked:
            if not metadata.get("resourceVersion"):
                raise ValueError("a locked patch needs the resource version of the old object")
            patch.setdefault("metadata", {})["resourceVersion"] = metadata["resourceVersion"]
        resource = await self._resource(_gvk(old))
        patched = await self.cluster.patch(
            resource,
            metadata["name"],
            patch,
            type=PatchType.MERGE,
            namespace=metadata.get("namespace") or "",
            subresource=subresource,
            field_manager=self._field_manager,
            dry_run=self._dry_run,
        )
        return self._remember(resource, patched)

    async def delete(
        self,
        gvk: GVK,
        key: Request,
        *,
        uid: str = "",
        propagation: Propagation | None = None,
        missing_ok: bool = True,
    ) -> None:
        """DELETE; only the object of that UID, when one is given."""
        resource = await self._resource(gvk)
        try:
            await self.cluster.delete(
                resource,
                key.name,
                namespace=key.namespace,
                uid=uid,
                propagation=propagation,
                dry_run=self._dry_run,
            )
        except NotFound:
            if not missing_ok:
                raise

    async def create_or_update(
        self, manifest: Manifest, mutate: Callable[[Manifest], None]
    ) -> tuple[Manifest, Written]:
        """Create the object, or change what `mutate` changes.

        `mutate` should set single fields: replacing a sub-tree drops what the server
        defaulted, and so writes on every pass. Raises `ValueError` when it changes the name.
        """
        gvk = _gvk(manifest)
        key = _key(manifest)
        found = await self.get(gvk, key)
        if found is None:
            wanted = copy.deepcopy(manifest)
            mutate(wanted)
            _check_key(wanted, key)
            return await self.create(wanted), Written.CREATED
        wanted = copy.deepcopy(found)
        mutate(wanted)
        _check_key(wanted, key)
        if wanted == found:
            return found, Written.UNCHANGED
        return await self.replace(wanted), Written.UPDATED

    async def _apply(self, manifest: Manifest, *, force: bool, subresource: str = "") -> Manifest:
        resource = await self._resource(_gvk(manifest))
        metadata = manifest["metadata"]
        applied = await self.cluster.patch(
            resource,
            metadata["name"],
            manifest,
            type=PatchType.APPLY,
            namespace=metadata.get("namespace") or "",
            subresource=subresource,
            field_manager=f"{self._field_manager}-status" if subresource else self._field_manager,
            force=force,
            dry_run=self._dry_run,
        )
        return self._remember(resource, applied)

    async def _list_directly(self, gvk: GVK, namespace: str, selector: str) -> Sequence[Manifest]:
        resource = await self._resource(gvk)
        found = []
        token = ""
        while True:
            page = await self.cluster.list_page(
                resource,
                namespace=namespace,
                label_selector=selector,
                limit=500,
                continue_token=token,
            )
            found += [_manifest(gvk, Snapshot(raw)) for raw in page.items]
            token = page.continue_token
            if not token:
                return found

    async def _resource(self, gvk: GVK) -> Resource:
        version = f"{gvk.group}/{gvk.version}" if gvk.group else gvk.version
        return await self.cluster.resource(version, gvk.kind)

    def _remember(self, resource: Resource, written: Manifest) -> Manifest:
        version = (written.get("metadata") or {}).get("resourceVersion")
        if self._cache is not None and isinstance(version, str) and not self._dry_run:
            self._written[(resource.gvk, _key(written))] = version
            if len(self._written) > self._sweep_above:
                self._forget_seen(self._cache)
        return written

    def _forget_seen(self, cache: Cache) -> None:
        """Forget the writes that the cache has shown meanwhile: nobody would wait for them."""
        informers = {
            one.gvk: one for one in cache.informers if one.synced and not one.metadata_only
        }
        for (gvk, key), version in list(self._written.items()):
            informer = informers.get(gvk)
            if informer is not None and _reached(informer.version_of(key.namespace), version):
                del self._written[(gvk, key)]
        while len(self._written) > _MAX_WRITTEN:
            self._written.pop(next(iter(self._written)))
        self._sweep_above = max(_SWEEP, 2 * len(self._written))

    async def _wait_for_own_write(self, gvk: GVK, key: Request) -> None:
        wanted = self._written.get((gvk, key))
        if wanted is None or self._cache is None or not _COMPARABLE.fullmatch(wanted):
            return
        informer = await self._cache.synced_informer(gvk)
        async with asyncio.timeout(_FRESH_TIMEOUT):
            while not _reached(informer.version_of(key.namespace), wanted):  # noqa: ASYNC110 - rare
                await asyncio.sleep(0.005)


async def retry_on_conflict(
    work: Callable[[], Awaitable[T]],
    *,
    tries: int = 5,
    pause: float = 0.01,
    factor: float = 1.0,
    chance: random.Random | None = None,
) -> T:
    """Run `work` again when it raises `Conflict`, at most `tries` times in all.

    `work` must read afresh from the server and decide again. In a reconciler, raising
    is the better retry.
    """
    chance = chance or random.Random()  # noqa: S311 - jitter
    for attempt in range(1, tries + 1):
        try:
            return await work()
        except AlreadyExists:
            raise
        except Conflict:
            if attempt == tries:
                raise
            await asyncio.sleep(pause * (1 + 0.1 * chance.random()))
            pause *= factor
    raise AssertionError("unreachable")


def _reached(seen: str, wanted: str) -> bool:
    """Whether a resource version is at least another: longer is greater, then as text."""
    if not _COMPARABLE.fullmatch(seen):
        return True
    return (len(seen), seen) >= (len(wanted), wanted)


def _manifest(gvk: GVK, snapshot: Snapshot) -> Manifest:
    """The object with what it is: lists of built-in kinds leave that out of their items."""
    found = snapshot.manifest()
    if found.get("kind"):
        return found
    version = f"{gvk.group}/{gvk.version}" if gvk.group else gvk.version
    return {"apiVersion": version, "kind": gvk.kind} | found


def _gvk(manifest: Manifest) -> GVK:
    return GVK.parse(manifest["apiVersion"], manifest["kind"])


def _key(manifest: Manifest) -> Request:
    metadata = manifest.get("metadata") or {}
    return Request(metadata.get("name") or "", metadata.get("namespace") or "")


def _check_key(manifest: Manifest, key: Request) -> None:
    if _key(manifest) != key:
        raise ValueError(f"the change renames {key} to {_key(manifest)}")
