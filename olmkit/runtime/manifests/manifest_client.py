"""Writes of objects as plain manifests, directly to the server.

The cache gets them later, through its watch. `olmkit.runtime.client` also accepts classes of kinds.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from olmkit.kube import changes
from olmkit.kube.api import AlreadyExists, NotFound, PatchType, Propagation, Resource
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.durations import Duration, seconds
from olmkit.runtime.manifests.identity import check_identity, check_key, gvk_of_manifest, key_of
from olmkit.runtime.manifests.manifest_reader import ManifestReader
from olmkit.runtime.work.reconcile import Request


class Written(StrEnum):
    """The result of `create_or_update` or `create_or_patch`."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    UPDATED_STATUS = "updated, status too"
    UPDATED_STATUS_ONLY = "updated status"


class ManifestClient(ManifestReader):
    """The API of one cluster; each returned `Manifest` is a copy that the caller may change."""

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
        check_identity(resource, manifest)
        try:
            created = await self.cluster.create(
                resource,
                manifest,
                field_manager=self._field_manager,
                dry_run=self._dry_run,
                field_validation=self._field_validation,
            )
        except AlreadyExists as error:
            if self._cache is not None and self._cache.hides(resource.gvk, key_of(manifest)):
                error.hint = "it is outside the scope of the cache, so reading does not find it"
            raise
        return self._remember(resource, created)

    async def replace(self, manifest: Manifest, *, subresource: str = "") -> Manifest:
        """Replace the whole object (PUT); raise `Conflict` if it changed since it was read."""
        manifest = await self._placed(manifest)
        resource = await self._resource(gvk_of_manifest(manifest))
        check_identity(resource, manifest)
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
        shown = (
            self._cache.peek(resource.gvk, key_of(manifest)) if self._cache is not None else None
        )
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
        check_identity(resource, old)
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
        key = key_of(manifest)
        found = await self.get(gvk, key)
        if found is None:
            wanted = copy.deepcopy(manifest)
            mutate(wanted)
            check_key(wanted, key)
            return await self.create(wanted), Written.CREATED
        wanted = copy.deepcopy(found)
        mutate(wanted)
        check_key(wanted, key)
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
        key = key_of(manifest)
        found = await self.get(gvk, key)
        wanted = copy.deepcopy(manifest if found is None else found)
        mutate(wanted)
        check_key(wanted, key)
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

    async def _patch_status(self, gvk: GVK, old: Manifest, desired: Manifest) -> bool:
        """Patch the status if it changed; return whether it did."""
        if not await self._has_status(gvk) or old.get("status") == desired.get("status"):
            return False
        new = {**old, "status": desired.get("status") or {}}
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
        check_identity(resource, manifest)
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

    async def _placed(self, manifest: Manifest) -> Manifest:
        if not self._namespace:
            return manifest
        metadata = manifest.get("metadata") or {}
        place = await self._place(gvk_of_manifest(manifest), metadata.get("namespace") or "")
        return {**manifest, "metadata": {**metadata, "namespace": place}} if place else manifest

    def _remember(self, resource: Resource, written: Manifest) -> Manifest:
        version = (written.get("metadata") or {}).get("resourceVersion")
        if self._own is not None and isinstance(version, str) and not self._dry_run:
            self._own.remember(resource.gvk, key_of(written), version)
            self._own.note_selection(resource, written)
        return written

    def _uid_of(self, gvk: GVK, key: Request) -> str:
        """Return the UID of an object in the cache."""
        snapshot = self._cache.peek(gvk, key) if self._cache is not None else None
        return snapshot.metadata.uid if snapshot is not None else ""


def _whole(grace: Duration | None) -> int | None:
    return None if grace is None else int(seconds(grace, "grace"))


def _uid_in(answer: Manifest) -> str:
    """Return the UID of the deleted object, from the server's response."""
    found = answer.get("details") if answer.get("kind") == "Status" else answer.get("metadata")
    uid = found.get("uid") if isinstance(found, dict) else None
    return uid if isinstance(uid, str) else ""
