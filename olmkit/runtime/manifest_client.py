"""Reading from the cache, writing to the server: objects as plain manifests.

Writes go straight through; the cache learns of them later, through its watch.
Who must see an own write reads with `fresh=True`. `get` may miss, `require`
raises. `olmkit.runtime.client` is this for classes of kinds too.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube import changes
from olmkit.kube.api import (
    AlreadyExists,
    Cluster,
    Gone,
    ImpersonatedUser,
    NotFound,
    PatchType,
    Propagation,
    Resource,
)
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime import typed
from olmkit.runtime.durations import Duration, seconds
from olmkit.runtime.own_writes import OwnWrites
from olmkit.runtime.typed import Kind, ModelKind
from olmkit.runtime.watch.cache import Cache, Index
from olmkit.runtime.watch.reflector import BREATH
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.watch.store import Indexer
from olmkit.runtime.work.reconcile import Request

_PAGE = 500


class Written(StrEnum):
    """What `create_or_update` or `create_or_patch` did."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    UPDATED_STATUS = "updated, status too"
    UPDATED_STATUS_ONLY = "updated status"


class ManifestClient:
    """The API of one cluster; every object is a `Manifest` of the caller's own."""

    def __init__(
        self,
        cluster: Cluster,
        cache: Cache | None,
        *,
        field_manager: str,
        uncached: frozenset[GVK] = frozenset(),
        dry_run: bool = False,
        namespace: str = "",
        field_validation: str = "",
    ) -> None:
        self.cluster = cluster
        self._field_validation = field_validation
        self._namespace = namespace
        self._cache = cache
        self._field_manager = field_manager
        self._uncached = uncached
        self._dry_run = dry_run
        self._own = OwnWrites(cache) if cache is not None else None

    @property
    def direct(self) -> Self:
        """The same client, reading from the server."""
        return self._but(cache=None)

    @property
    def rehearsal(self) -> Self:
        """The same client, whose writes the server checks and does not keep."""
        return self._but(dry_run=True)

    @property
    def strict(self) -> Self:
        """The same client, whose writes with unknown or repeated fields the server refuses."""
        return self._but(field_validation="Strict")

    def impersonating(
        self,
        user: str,
        *,
        groups: Sequence[str] = (),
        uid: str = "",
        extra: Mapping[str, Sequence[str]] | None = None,
    ) -> Self:
        """The same client as another user, who reads from the server: the cache is the operator's.

        RBAC must allow the operator the verb `impersonate` for the user and each group.
        Raises `ConfigurationError` without a user.
        """
        identity = ImpersonatedUser(
            user=user, groups=tuple(groups), uid=uid, extra=dict(extra or {})
        )
        found = self._but(cache=None)
        found.cluster = self.cluster.impersonating(identity)
        return found

    def within(self, namespace: str) -> Self:
        """The same client for one namespace alone; kinds without namespaces are as before."""
        return self._but(namespace=namespace)

    def add_index(self, kind: GVK | type[Kind | ModelKind], name: str, indexer: Indexer) -> bool:
        """Index a kind in the cache, before that starts; whether there is a cache for it.

        An index of that name that is there already stays.
        """
        gvk = typed.gvk_of(kind)
        if self._cache is None or gvk in self._uncached:
            return False
        if name not in self._cache.informer(gvk).indexes:
            self._cache.add_index(gvk, name, indexer)
        return True

    def _but(self, **changed: Any) -> Self:
        found = copy.copy(self)  # with one memory of own writes, also for who reads from the server
        for name, value in changed.items():
            setattr(found, f"_{name}", value)
        return found

    async def get(
        self,
        gvk: GVK,
        key: Request,
        *,
        fresh: bool = False,
        subresource: str = "",
        metadata_only: bool = False,
    ) -> Manifest | None:
        """One object, or None.

        `fresh` waits until this client's last write or deletion of it is seen, and raises
        `TimeoutError` after 5 s, and `ConfigurationError` at once when the cache does not
        select what was written. Raises `ValueError` without the namespace of a kind that has
        namespaces. Subresources are read from the server; `metadata_only`
        reads a cache of metadata.
        """
        _check_request(key)
        if self._namespace:
            key = Request(key.name, await self._place(gvk, key.namespace))
        if self._cache is None or gvk in self._uncached or subresource:
            return await self._of_server(gvk, await self._located(gvk, key), subresource)
        if not key.namespace:
            _check_namespace(await self._resource(gvk), key)
        if fresh and self._own is not None:
            await self._own.wait_for(gvk, key)
        snapshot = await self._cache.get(gvk, key, metadata_only=metadata_only)
        return None if snapshot is None else as_manifest(gvk, snapshot)

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
        index: Index | None = None,
        limit: int = 0,
        metadata_only: bool = False,
    ) -> Sequence[Manifest]:
        """The objects of a namespace, or of all, by label selector and by indexed fields.

        `limit` cuts off an arbitrary part. From the server, `index` is a field selector.
        """
        namespace = await self._place(gvk, namespace) if self._namespace else namespace
        selector = LabelSelector.parse(labels)
        if self._cache is None or gvk in self._uncached:
            fields = dict(index if isinstance(index, Mapping) else (index,)) if index else {}
            field_selector = ",".join(f"{key}={value}" for key, value in fields.items())
            found = await self._list_directly(gvk, namespace, str(selector), field_selector, limit)
            return found[:limit] if limit else found
        snapshots = await self._cache.list(
            gvk,
            namespace=namespace,
            labels=selector if labels else None,
            index=index,
            limit=limit,
            metadata_only=metadata_only,
        )
        made = []
        for number, snapshot in enumerate(snapshots, 1):
            made.append(as_manifest(gvk, snapshot))
            if number % BREATH == 0:
                await asyncio.sleep(0)
        return made

    async def apply(self, manifest: Manifest, *, force: bool = True) -> Manifest:
        """Server-side apply: own the fields that `manifest` has, and no others.

        A field that was applied before and is left out now is removed. When nothing
        changes, the server writes nothing, so applying on every pass causes no loop.
        """
        return await self._apply(manifest, force=force)

    async def apply_status(self, manifest: Manifest, *, force: bool = True) -> Manifest:
        """The same for the status subresource, under a separate field manager."""
        only: Manifest = {
            key: manifest[key] for key in ("apiVersion", "kind", "status") if key in manifest
        }
        metadata = manifest.get("metadata") or {}
        only["metadata"] = {
            key: metadata[key] for key in ("name", "namespace", "uid") if key in metadata
        }
        return await self._apply(only, subresource="status", force=force)

    async def create(self, manifest: Manifest) -> Manifest:
        """POST; raises `AlreadyExists`, also for an object which the cache's scope hides.

        Raises `ValueError` for a manifest without name (or `generateName`), kind or namespace.
        """
        manifest = await self._placed(manifest)
        resource = await self._resource(gvk_of_manifest(manifest))
        _check_identity(resource, manifest)
        try:
            created = await self.cluster.create(
                resource,
                manifest,
                field_manager=self._field_manager,
                dry_run=self._dry_run,
                field_validation=self._field_validation,
            )
        except AlreadyExists as error:
            if self._cache is not None and self._cache.hides(resource.gvk, _key(manifest)):
                error.hint = "it is outside of what the cache watches, so reading does not find it"
            raise
        return self._remember(resource, created)

    async def replace(self, manifest: Manifest, *, subresource: str = "") -> Manifest:
        """PUT of the whole object; raises `Conflict` when it changed since it was read."""
        manifest = await self._placed(manifest)
        resource = await self._resource(gvk_of_manifest(manifest))
        _check_identity(resource, manifest)
        replaced = await self.cluster.replace(
            resource,
            manifest,
            subresource=subresource,
            field_manager=self._field_manager,
            dry_run=self._dry_run,
            field_validation=self._field_validation,
        )
        return self._remember(resource, replaced)

    async def update_status(self, obj: Manifest) -> Manifest:
        manifest = await self._placed(obj)
        resource = await self._resource(gvk_of_manifest(manifest))
        if "status" not in resource.subresources:
            raise ValueError(
                f"`{resource.gvk.kind}` has no status subresource: its status is written with the "
                "object, or its CRD lacks `subresources.status`"
            )
        shown = self._cache.peek(resource.gvk, _key(manifest)) if self._cache is not None else None
        if shown is not None:
            version = (manifest.get("metadata") or {}).get("resourceVersion")
            is_same = shown.metadata.resource_version == version and changes.same(
                shown.manifest().get("status"), manifest.get("status")
            )
            if is_same:
                return manifest
        return await self.replace(manifest, subresource="status")

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
        old = await self._placed(old)
        metadata = old.get("metadata") or {}
        if locked:
            if not metadata.get("resourceVersion"):
                raise ValueError("a locked patch needs the resource version of the old object")
            patch.setdefault("metadata", {})["resourceVersion"] = metadata["resourceVersion"]
        resource = await self._resource(gvk_of_manifest(old))
        _check_identity(resource, old)
        patched = await self.cluster.patch(
            resource,
            metadata["name"],
            patch,
            type=PatchType.MERGE,
            namespace=metadata.get("namespace") or "",
            subresource=subresource,
            field_manager=self._field_manager,
            dry_run=self._dry_run,
            field_validation=self._field_validation,
        )
        return self._remember(resource, patched)

    async def delete(
        self,
        gvk: GVK,
        key: Request,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation | None = None,
        grace: Duration | None = None,
        missing_ok: bool = True,
    ) -> None:
        key = await self._located(gvk, key)
        resource = await self._resource(gvk)
        uid_seen = uid or self._uid_of(gvk, key)
        try:
            answer = await self.cluster.delete(
                resource,
                key.name,
                namespace=key.namespace,
                uid=uid,
                resource_version=resource_version,
                propagation=propagation,
                grace_seconds=_whole(grace),
                dry_run=self._dry_run,
            )
        except NotFound:
            if not missing_ok:
                raise
        else:
            if self._own is not None and not self._dry_run:
                self._own.remember_deletion(gvk, key, _uid_in(answer) or uid_seen)

    async def create_or_update(
        self, manifest: Manifest, mutate: Callable[[Manifest], None]
    ) -> tuple[Manifest, Written]:
        """Create the object, or change what `mutate` changes.

        `mutate` should set single fields: replacing a sub-tree drops what the server
        defaulted, and so writes on every pass. Raises `ValueError` when it changes the name.
        """
        gvk = gvk_of_manifest(manifest)
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

    async def create_or_patch(
        self, manifest: Manifest, mutate: Callable[[Manifest], None]
    ) -> tuple[Manifest, Written]:
        """The same by merge patches, one for the status where that is a subresource.

        What `mutate` does to the status is written too; `Written` says which of the two
        changed.
        """
        gvk = gvk_of_manifest(manifest)
        key = _key(manifest)
        found = await self.get(gvk, key)
        wanted = copy.deepcopy(manifest if found is None else found)
        mutate(wanted)
        _check_key(wanted, key)
        if found is None:
            made = await self.create(wanted)
            await self._patch_status(gvk, made, wanted)
            return made, Written.CREATED
        main = await self._has_status(gvk)
        left_out = {"status"} if main else set()
        old, new = (
            {name: value for name, value in one.items() if name not in left_out}
            for one in (found, wanted)
        )
        is_changed = bool(changes.merge_patch(old, new))
        result = await self.patch(old, new) if is_changed else found
        is_reported = main and await self._patch_status(gvk, found, wanted)
        if is_reported:
            written = Written.UPDATED_STATUS if is_changed else Written.UPDATED_STATUS_ONLY
        else:
            written = Written.UPDATED if is_changed else Written.UNCHANGED
        return result, written

    async def _has_status(self, gvk: GVK) -> bool:
        return "status" in (await self._resource(gvk)).subresources

    async def _patch_status(self, gvk: GVK, old: Manifest, wanted: Manifest) -> bool:
        """Whether there was something to write."""
        if not await self._has_status(gvk) or old.get("status") == wanted.get("status"):
            return False
        new = {**old, "status": wanted.get("status") or {}}
        await self.patch(old, new, subresource="status")
        return True

    async def delete_all(
        self,
        gvk: GVK,
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
        propagation: Propagation | None = None,
        grace: Duration | None = None,
    ) -> None:
        namespace = await self._place(gvk, namespace) if self._namespace else namespace
        resource = await self._resource(gvk)
        if resource.namespaced and not namespace:
            raise ValueError(
                f"`delete_all` of `{gvk.kind}` needs a namespace: a server does not delete the "
                "objects of all namespaces in one request"
            )
        await self.cluster.delete_collection(
            resource,
            namespace=namespace,
            label_selector=str(LabelSelector.parse(labels)),
            field_selector=fields,
            propagation=propagation,
            grace_seconds=_whole(grace),
            dry_run=self._dry_run,
        )

    async def _apply(self, manifest: Manifest, *, force: bool, subresource: str = "") -> Manifest:
        manifest = await self._placed(manifest)
        resource = await self._resource(gvk_of_manifest(manifest))
        _check_identity(resource, manifest)
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
            field_validation=self._field_validation,
        )
        return self._remember(resource, applied)

    async def _place(self, gvk: GVK, namespace: str) -> str:
        """The namespace to work in; an error when it is not ours."""
        if not self._namespace or not (await self._resource(gvk)).namespaced:
            return namespace
        if namespace not in ("", self._namespace):
            raise ConfigurationError(
                f"this client works in the namespace `{self._namespace}`, not in `{namespace}`"
            )
        return self._namespace

    async def _located(self, gvk: GVK, key: Request) -> Request:
        """The key with our namespace; `ValueError` when its kind needs one and it has none."""
        _check_request(key)
        if self._namespace:
            key = Request(key.name, await self._place(gvk, key.namespace))
        _check_namespace(await self._resource(gvk), key)
        return key

    async def _of_server(self, gvk: GVK, key: Request, subresource: str) -> Manifest | None:
        try:
            return await self.cluster.get(
                await self._resource(gvk),
                key.name,
                namespace=key.namespace,
                subresource=subresource,
            )
        except NotFound:
            return None

    async def _placed(self, manifest: Manifest) -> Manifest:
        if not self._namespace:
            return manifest
        metadata = manifest.get("metadata") or {}
        place = await self._place(gvk_of_manifest(manifest), metadata.get("namespace") or "")
        return {**manifest, "metadata": {**metadata, "namespace": place}} if place else manifest

    async def _list_directly(
        self, gvk: GVK, namespace: str, selector: str, field_selector: str, limit: int
    ) -> Sequence[Manifest]:
        resource = await self._resource(gvk)
        found: list[Manifest] = []
        token = ""
        size: int | None = min(limit, _PAGE) or _PAGE
        while True:
            try:
                page = await self.cluster.list_page(
                    resource,
                    namespace=namespace,
                    label_selector=selector,
                    field_selector=field_selector,
                    limit=size,
                    continue_token=token,
                )
            except Gone:
                if not token:
                    raise
                found, token, size = [], "", None  # the state of the first page is forgotten
                continue
            found += [as_manifest(gvk, Snapshot(raw)) for raw in page.items]
            token = page.continue_token
            if not token or (limit and len(found) >= limit):
                return found

    async def _resource(self, gvk: GVK) -> Resource:
        return await self.cluster.resource(gvk.api_version, gvk.kind)

    def _remember(self, resource: Resource, written: Manifest) -> Manifest:
        version = (written.get("metadata") or {}).get("resourceVersion")
        if self._own is not None and isinstance(version, str) and not self._dry_run:
            self._own.remember(resource.gvk, _key(written), version)
            self._own.note_selection(resource, written)
        return written

    def _uid_of(self, gvk: GVK, key: Request) -> str:
        """The UID of an object that the cache shows now."""
        snapshot = self._cache.peek(gvk, key) if self._cache is not None else None
        return snapshot.metadata.uid if snapshot is not None else ""


def as_manifest(gvk: GVK, snapshot: Snapshot) -> Manifest:
    """The object with what it is: lists of built-in kinds leave that out of their items."""
    found = snapshot.manifest()
    if found.get("kind"):
        return found
    return {"apiVersion": gvk.api_version, "kind": gvk.kind} | found


def gvk_of_manifest(manifest: Manifest) -> GVK:
    """Its kind; raises `ValueError` for a manifest that does not say it."""
    for field in ("apiVersion", "kind"):
        if not isinstance(manifest.get(field), str) or not manifest[field]:
            raise ValueError(f"the manifest of `{_key(manifest)}` has no `{field}`")
    return GVK.parse(manifest["apiVersion"], manifest["kind"])


def _check_identity(resource: Resource, manifest: Manifest) -> None:
    """Without these, the request would go to another path, and its answer would be wrong."""
    if resource.verbs and not resource.verbs & {"get", "list"}:
        return  # a review: an answer, not an object that is kept
    metadata = manifest.get("metadata") or {}
    if not metadata.get("name") and not metadata.get("generateName"):
        raise ValueError(f"the manifest of a `{resource.gvk.kind}` has no `metadata.name`")
    _check_namespace(resource, _key(manifest))


def _check_request(key: object) -> None:
    if not isinstance(key, Request):
        raise TypeError(f"an object is named by a `Request(name, namespace)`, not by {key!r:.100}")


def _check_namespace(resource: Resource, key: Request) -> None:
    if resource.namespaced and not key.namespace:
        raise ValueError(
            f"`{resource.gvk.kind}` `{key.name}` has no namespace, and its kind has namespaces"
        )


def _whole(grace: Duration | None) -> int | None:
    return None if grace is None else int(seconds(grace, "grace"))


def _uid_in(answer: Manifest) -> str:
    """The UID of what was deleted, by the object or by the Status that the server answers."""
    found = answer.get("details") if answer.get("kind") == "Status" else answer.get("metadata")
    uid = found.get("uid") if isinstance(found, dict) else None
    return uid if isinstance(uid, str) else ""


def _key(manifest: Manifest) -> Request:
    metadata = manifest.get("metadata") or {}
    return Request(metadata.get("name") or "", metadata.get("namespace") or "")


def _check_key(manifest: Manifest, key: Request) -> None:
    if _key(manifest) != key:
        raise ValueError(f"the change renames {key} to {_key(manifest)}")
