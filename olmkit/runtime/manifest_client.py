"""Reading from the cache, writing to the server: objects as plain manifests.

Writes go directly to the server; the cache gets them later, through its watch. Read with
`fresh=True` to see your own writes. `get` returns None for a missing object, `require` raises.
`olmkit.runtime.client` also accepts classes of kinds.
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
    """The result of `create_or_update` or `create_or_patch`."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    UPDATED_STATUS = "updated, status too"
    UPDATED_STATUS_ONLY = "updated status"


class ManifestClient:
    """The API of one cluster; each returned `Manifest` is a copy that the caller may change."""

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
        """Return the same client, which reads from the server instead of the cache."""
        return self._but(cache=None)

    @property
    def rehearsal(self) -> Self:
        """Return the same client for dry runs: the server stores nothing."""
        return self._but(dry_run=True)

    @property
    def strict(self) -> Self:
        """Return the same client with strict field validation by the server."""
        return self._but(field_validation="Strict")

    def impersonating(
        self,
        user: str,
        *,
        groups: Sequence[str] = (),
        uid: str = "",
        extra: Mapping[str, Sequence[str]] | None = None,
    ) -> Self:
        """Return the same client, which impersonates another user and reads from the server.

        The cache has what the operator may read, so it is not used. The operator needs the RBAC
        verb `impersonate` for the user and each group. Raises `ConfigurationError` without a user.
        """
        identity = ImpersonatedUser(
            user=user, groups=tuple(groups), uid=uid, extra=dict(extra or {})
        )
        found = self._but(cache=None)
        found.cluster = self.cluster.impersonating(identity)
        return found

    def within(self, namespace: str) -> Self:
        """Return the same client, restricted to one namespace for namespaced kinds."""
        return self._but(namespace=namespace)

    def add_index(self, kind: GVK | type[Kind | ModelKind], name: str, indexer: Indexer) -> bool:
        """Add an index to a kind before the cache starts; return False without a cache.

        An existing index with this name is kept.
        """
        gvk = typed.gvk_of(kind)
        if self._cache is None or gvk in self._uncached:
            return False
        if name not in self._cache.informer(gvk).indexes:
            self._cache.add_index(gvk, name, indexer)
        return True

    def _but(self, **changed: Any) -> Self:
        found = copy.copy(self)  # clients share the record of writes
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
        """Get an object; return None if it does not exist.

        `fresh` waits until this client's last write or deletion of the object is in the cache. It
        raises `TimeoutError` after 5 s, and `ConfigurationError` at once if the cache does not
        select the written object. Raises `ValueError` if a namespaced kind is read without a
        namespace. Subresources are read from the server; `metadata_only` reads from a cache of
        metadata.
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
        """Get an object; raise `NotFound` if it does not exist."""
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
        """List the objects of one or all namespaces, selected by labels and indexed fields.

        Objects have no order, so `limit` returns an arbitrary selection. When reading from the
        server, `index` is a field selector.
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
        """Apply the manifest (server-side apply), and own exactly the fields that it has.

        The server removes a field that was applied before and is now missing. If nothing changes,
        the server writes nothing, so applying in every reconcile does not cause a loop.
        """
        return await self._apply(manifest, force=force)

    async def apply_status(self, manifest: Manifest, *, force: bool = True) -> Manifest:
        """Apply the status subresource, under a separate field manager."""
        only: Manifest = {
            key: manifest[key] for key in ("apiVersion", "kind", "status") if key in manifest
        }
        metadata = manifest.get("metadata") or {}
        only["metadata"] = {
            key: metadata[key] for key in ("name", "namespace", "uid") if key in metadata
        }
        return await self._apply(only, subresource="status", force=force)

    async def create(self, manifest: Manifest) -> Manifest:
        """Create the object; raise `AlreadyExists`, also for an object outside the cache's scope.

        Raises `ValueError` for a manifest without a name (or `generateName`), kind or namespace.
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
                error.hint = "it is outside the scope of the cache, so reading does not find it"
            raise
        return self._remember(resource, created)

    async def replace(self, manifest: Manifest, *, subresource: str = "") -> Manifest:
        """Replace the whole object (PUT); raise `Conflict` if it changed since it was read."""
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
        """Send the difference between `old` and `new` as a merge patch, unless they are equal.

        `locked` includes the resource version of `old`, so that a change in between raises
        `Conflict`. Use it for lists such as finalizers, which a merge patch replaces as a whole.
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
        """Create the object, or update it with the changes that `mutate` makes.

        `mutate` should set individual fields: if it replaces a whole structure, it removes the
        defaults that the server set, and causes a write in every reconcile. Raises `ValueError` if
        it changes the name.
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
        """Create the object, or patch it with the changes that `mutate` makes.

        Sends a merge patch, and a second one for the status if the kind has a status subresource.
        `Written` says which of the two changed.
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
        """Patch the status if it changed; return whether it did."""
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
        """Return the namespace; raise `ValueError` if the client is restricted to another."""
        if not self._namespace or not (await self._resource(gvk)).namespaced:
            return namespace
        if namespace not in ("", self._namespace):
            raise ConfigurationError(
                f"this client works in the namespace `{self._namespace}`, not in `{namespace}`"
            )
        return self._namespace

    async def _located(self, gvk: GVK, key: Request) -> Request:
        """Return the key with its namespace; raise `ValueError` if a namespaced kind has none."""
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
                found, token, size = [], "", None  # the continue token has expired
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
        """Return the UID of an object in the cache."""
        snapshot = self._cache.peek(gvk, key) if self._cache is not None else None
        return snapshot.metadata.uid if snapshot is not None else ""


def as_manifest(gvk: GVK, snapshot: Snapshot) -> Manifest:
    """Return the object with `apiVersion` and `kind`, which items of lists may lack."""
    found = snapshot.manifest()
    if found.get("kind"):
        return found
    return {"apiVersion": gvk.api_version, "kind": gvk.kind} | found


def gvk_of_manifest(manifest: Manifest) -> GVK:
    """Return the GVK of a manifest; raise `ValueError` if it has none."""
    for field in ("apiVersion", "kind"):
        if not isinstance(manifest.get(field), str) or not manifest[field]:
            raise ValueError(f"the manifest of `{_key(manifest)}` has no `{field}`")
    return GVK.parse(manifest["apiVersion"], manifest["kind"])


def _check_identity(resource: Resource, manifest: Manifest) -> None:
    """Raise `ValueError` if a field is missing that is part of the request's path."""
    if resource.verbs and not resource.verbs & {"get", "list"}:
        return  # a review: the server does not store it
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
    """Return the UID of the deleted object, from the server's response."""
    found = answer.get("details") if answer.get("kind") == "Status" else answer.get("metadata")
    uid = found.get("uid") if isinstance(found, dict) else None
    return uid if isinstance(uid, str) else ""


def _key(manifest: Manifest) -> Request:
    metadata = manifest.get("metadata") or {}
    return Request(metadata.get("name") or "", metadata.get("namespace") or "")


def _check_key(manifest: Manifest, key: Request) -> None:
    if _key(manifest) != key:
        raise ValueError(f"the change renames {key} to {_key(manifest)}")
