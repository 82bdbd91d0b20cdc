"""Creations and changes of objects: validation, admission, field owners."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from olmkit.kube.objects import Manifest
from olmkit.testing.apiserver import admission, answers, namespaces, ownership, refusals, rules
from olmkit.testing.apiserver import requests as api_requests
from olmkit.testing.apiserver.admission import Webhook, Write
from olmkit.testing.apiserver.kinds import collection as api_collection
from olmkit.testing.apiserver.kinds import definitions
from olmkit.testing.apiserver.kinds.collection import Collection, Key
from olmkit.testing.apiserver.ownership import Owners
from olmkit.testing.apiserver.rules import Manner
from olmkit.testing.apiserver.state import ApiState


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """Responds to requests of one user that create or change an object.

    `install` serves the kind of a CRD.
    """

    state: ApiState
    webhooks: Sequence[Webhook]
    user: str
    install: Callable[[Manifest], None]

    async def create(
        self, request: web.Request, collection: Collection, namespace: str
    ) -> web.StreamResponse:
        manner, dry_run = api_requests.manner_of(request)
        manifest = rules.check_identity(
            collection, await api_requests.body_of(request), (namespace, "")
        )
        metadata = manifest["metadata"]
        if not metadata.get("name") and metadata.get("generateName"):
            word = uuid.uuid5(uuid.NAMESPACE_OID, str(self.state.version)).hex[:5]
            metadata["name"] = metadata["generateName"] + word
        manifest = rules.created(collection, manifest, manner)
        key = api_collection.key_of(manifest)
        manifest = await self._admitted(collection, None, manifest, "", manner, dry_run)
        self._check_namespace(collection, key)
        if key in collection.objects:
            raise refusals.exists(collection.resource, key[1])
        made = self._make(collection, manifest, dry_run=dry_run)
        if not dry_run:
            self._owned(collection, request, {}, made)
        return answers.answer(
            request, collection, made, self.state.now(), status=201, manner=manner
        )

    async def change(
        self, request: web.Request, collection: Collection, key: Key, subresource: str
    ) -> web.StreamResponse:
        manner, dry_run = api_requests.manner_of(request)
        is_apply = request.method == "PATCH" and "apply-patch" in request.content_type
        wanted = await api_requests.body_of(request)
        if is_apply and not subresource and key not in collection.objects:
            return await self._create_by_apply(request, collection, key, wanted, manner, dry_run)
        old = rules.present(collection, key)
        shown, owners = subresource, None
        if subresource == "scale":
            scale = answers.scale_of(collection, collection.shown(old))
            new = answers.scaled(collection, old, api_requests.patched(request, scale, wanted))
            subresource = ""  # the replicas are in the object itself
        elif is_apply:
            new, owners = self._applied(request, collection, key, wanted, old, subresource)
        elif request.method == "PUT":
            new = rules.replacing(collection, wanted, key)
        else:
            given = api_requests.patched(request, collection.shown(old), wanted)
            new = rules.check_identity(collection, given, key)
        new = rules.changed(collection, collection.shown(old), new, subresource, manner)
        new = await self._admitted(collection, old, new, subresource, manner, dry_run)
        kept = self.state.store(collection, new, old, dry_run=dry_run)
        if collection.resource.path() == definitions.PATH and not dry_run:
            self.install(kept)
        if not dry_run and key in collection.objects:
            if owners is not None:
                collection.storage.owners[key] = owners
            elif isinstance(wanted, dict) and api_requests.clears_owners(wanted):
                collection.storage.owners.pop(key, None)
            else:
                self._owned(collection, request, old, kept, subresource)
        return answers.answer(request, collection, kept, self.state.now(), shown, manner=manner)

    async def _admitted(
        self,
        collection: Collection,
        old: Manifest | None,
        new: Manifest,
        subresource: str,
        manner: Manner,
        dry_run: bool,
    ) -> Manifest:
        """Return the object after the admission webhooks."""
        if not self.webhooks:
            return new
        write = Write(
            collection=collection,
            operation="CREATE" if old is None else "UPDATE",
            old=old,
            new=collection.shown(new),
            user=self.user,
            subresource=subresource,
            dry_run=dry_run,
        )
        found = await admission.mutated(self.webhooks, write, manner.warnings)
        if found is not None and found != write.new:
            new = rules.shaped(collection, found, manner)
            rules.check(collection, new, manner)
        await admission.check(self.webhooks, write, collection.shown(new), manner.warnings)
        return new

    def _check_namespace(self, collection: Collection, key: Key) -> None:
        """Raise a `Refusal` if namespaces are served and this one does not exist."""
        known = self.state.collections.get(namespaces.PATH)
        if known is not None and collection.resource.namespaced:
            namespaces.check(known, collection, *key)

    def _make(self, collection: Collection, manifest: Manifest, *, dry_run: bool) -> Manifest:
        """Store a new object, with the server's changes for its kind."""
        if collection.resource.path() == definitions.PATH and not dry_run:
            manifest = definitions.established(manifest, self.state.now())
            self.install(manifest)
        return self.state.store(collection, manifest, None, dry_run=dry_run)

    async def _create_by_apply(
        self,
        request: web.Request,
        collection: Collection,
        key: Key,
        desired: Manifest,
        manner: Manner,
        dry_run: bool,
    ) -> web.StreamResponse:
        manager = api_requests.manager_of(request)
        api_requests.check_unmanaged(desired)
        desired = rules.check_identity(collection, desired, key)
        rules.check_declared(collection, desired)
        if desired["metadata"].get("uid"):
            uid = desired["metadata"]["uid"]
            raise refusals.conflict(
                *(collection.resource, key[1]),
                f"uid mismatch: the provided object specified uid {uid}, "
                "and no existing object was found",
            )
        fields = set(dict(ownership.leaves(desired, collection.list_keys)))
        manifest = rules.created(collection, desired, manner)
        manifest = await self._admitted(collection, None, manifest, "", manner, dry_run)
        self._check_namespace(collection, key)
        made = self._make(collection, manifest, dry_run=dry_run)
        if not dry_run:
            collection.storage.owners[key] = Owners({(manager, "Apply", ""): fields})
        return answers.answer(
            request, collection, made, self.state.now(), status=201, manner=manner
        )

    def _applied(
        self,
        request: web.Request,
        collection: Collection,
        key: Key,
        desired: Manifest,
        old: Manifest,
        subresource: str,
    ) -> tuple[Manifest, Owners]:
        manager = api_requests.manager_of(request)
        api_requests.check_unmanaged(desired)
        desired = rules.check_identity(collection, desired, key)
        rules.check_declared(collection, desired)
        told = {
            name: desired["metadata"][name]
            for name in ("resourceVersion", "uid")
            if name in desired["metadata"]
        }
        if subresource:
            desired = {name: desired[name] for name in ("metadata", subresource) if name in desired}
            desired["metadata"] = {}
        elif "status" in collection.resource.subresources:
            desired = {name: item for name, item in desired.items() if name != "status"}
        new, owners, conflicts = ownership.apply(
            collection.shown(old),
            desired,
            collection.storage.owners.get(key) or Owners(),
            (manager, "Apply", subresource),
            collection.list_keys,
            force=request.query.get("force") == "true",
        )
        if conflicts:
            raise answers.field_conflicts(conflicts, collection.resource.api_version)
        new["metadata"].pop("resourceVersion", None)
        new["metadata"] |= told
        return new, owners

    def _owned(
        self,
        collection: Collection,
        request: web.Request,
        old: Manifest,
        new: Manifest,
        subresource: str = "",
    ) -> None:
        """Return the field owners after a write other than apply."""
        agent = request.headers.get("User-Agent", "").partition("/")[0]
        manager = (request.query.get("fieldManager") or agent, "Update", subresource)
        owners = collection.storage.owners.setdefault(api_collection.key_of(new), Owners())
        owners.wrote(manager, old, new, collection.list_keys)
