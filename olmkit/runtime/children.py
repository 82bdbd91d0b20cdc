"""Apply the objects that an owner needs, and delete those that it no longer needs.

Children are applied with server-side apply, under the client's field manager. An annotation of each
child holds the digest of the manifest that was last applied. If the digest is unchanged and the
child still has all these fields, no request is sent. Otherwise the child is applied, and the server
removes the fields that were applied before and are no longer in the manifest. Changes by other
field managers are reported and reverted.

An object of the same name that the owner does not control is never touched.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube import changes, coverage, objects, owners
from olmkit.kube.api import Cause, ClusterError, Conflict, Invalid
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime import typed
from olmkit.runtime.client import Client
from olmkit.runtime.events import NORMAL, WARNING, EventRecorder
from olmkit.runtime.manifests.identity import gvk_of_manifest
from olmkit.runtime.typed import Kind, ModelKind
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.work.reconcile import Request

_LOG = logging.getLogger(__name__)

APPLIED = "olmkit/applied"
"""The annotation of a child with the digest of the last applied manifest."""
_INDEX = "olmkit/controller-uid"
_REMEMBERED = 20_000


class Change(StrEnum):
    """The result of applying or removing one child."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REMOVED = "removed"
    FAILED = "failed"


class NameTaken(Exception):  # noqa: N818 - a fact, not a fault
    """An object with the child's name exists, and the owner does not control it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """The result for one child.

    `manifest` is the child after the change, or empty if the owner has no such child; `before` is
    the child before the change. `conflicts` lists the fields that other managers had changed.
    `error` is the reason for `FAILED`.
    """

    gvk: GVK
    key: Request
    change: Change
    manifest: Manifest = field(default_factory=dict)
    before: Manifest | None = None
    conflicts: Sequence[Cause] = ()
    error: ClusterError | NameTaken | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """The results for all children of one owner, in the order of their descriptions."""

    children: tuple[Child, ...]

    def of(self, kind: GVK | type[Kind | ModelKind], name: str = "") -> Child:
        """Return the first child of a kind, or the one with this name, or raise `KeyError`."""
        gvk = typed.gvk_of(kind)
        for one in self.children:
            if one.gvk == gvk and name in ("", one.key.name):
                return one
        raise KeyError(f"no `{gvk.kind}` {name}".rstrip())

    def check(self) -> None:
        """Raise the error of the child that failed, or an exception group if several failed."""
        errors = [one.error for one in self.children if one.error is not None]
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise ExceptionGroup("some children are not as they should be", errors)


class Children:
    """Applies and removes the children of owners.

    `removes` lists the kinds whose children are deleted when they are no longer described; the
    operator needs RBAC permissions to list and delete them. Create the instance before the manager
    starts. With `force=False`, a field that another manager changed is an error of the child
    instead of being reverted. With `recorder`, events report which children were created, removed
    or left unchanged.
    """

    def __init__(
        self,
        client: Client,
        *,
        removes: Iterable[GVK | type[Kind | ModelKind]] = (),
        recorder: EventRecorder | None = None,
        force: bool = True,
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._force = force
        self._removes = tuple(typed.gvk_of(kind) for kind in removes)
        # The form in which the server stores the applied values: for example, it normalizes
        # quantities.
        self._normal: OrderedDict[tuple[GVK, Request], tuple[str, Any]] = OrderedDict()
        indexed = [client.add_index(gvk, _INDEX, _controller) for gvk in self._removes]
        self._indexed = all(indexed)

    async def apply(
        self,
        owner: Manifest | Kind | ModelKind,
        desired: Iterable[Manifest | Kind | ModelKind],
    ) -> Family:
        """Apply the children of one owner; errors are in the result and do not stop the others.

        Pass the owner as read from the server. Each child gets an owner reference and, if it has no
        namespace, the namespace of its owner. Children are removed after all others were applied.
        Raises `ValueError` for a child that the owner cannot own.
        """
        if isinstance(desired, Mapping):
            raise TypeError("the children are a list of objects, not one object")
        parent = typed.manifest_of(owner)
        made = [await self._child(parent, typed.manifest_of(one)) for one in desired]
        if self._removes and all(one.error is None for one in made):
            kept = {(one.gvk, one.key) for one in made}
            made += [one async for one in self._remove_unwanted(parent, kept)]
        return Family(tuple(made))

    async def _child(self, owner: Manifest, description: Manifest) -> Child:
        gvk, key = gvk_of_manifest(description), _key(description)
        found: Manifest | None = None
        conflicts: Sequence[Cause] = ()
        try:
            resource = await self._client.cluster.resource(gvk.api_version, gvk.kind)
            wanted = described(owner, description, namespaced=resource.namespaced)
            key = _key(wanted)
            found = await self._find(gvk, key)
            if found is not None and not owners.is_controlled_by(found, owner):
                return self._report_taken(owner, gvk, key)
            if found is not None and self._is_unchanged(found, wanted):
                return Child(
                    gvk=gvk, key=key, change=Change.UNCHANGED, manifest=found, before=found
                )
            made, conflicts = await self._apply_child(found, wanted)
        except ClusterError as error:
            return Child(
                gvk=gvk,
                key=key,
                change=Change.FAILED,
                manifest=found or {},
                before=found,
                conflicts=error.causes if isinstance(error, Conflict) else (),
                error=error,
            )
        self._remember(wanted, made)
        if found is None:
            self._record_event(owner, NORMAL, "Created", "Create", f"created {gvk.kind} {key.name}")
            change = Change.CREATED
        else:
            same = _version(found) == _version(made)
            change = Change.UNCHANGED if same else Change.UPDATED
        _LOG.info("applied", extra={"kind": gvk.kind, "child": str(key), "change": str(change)})
        return Child(
            gvk=gvk, key=key, change=change, manifest=made, before=found, conflicts=conflicts
        )

    async def _apply_child(
        self, found: Manifest | None, desired: Manifest
    ) -> tuple[Manifest, Sequence[Cause]]:
        """Apply without force first, so that conflicts can be reported."""
        if found is not None and _digest(found) == _digest(desired):
            await self._realign(found, desired)  # another manager changed it
        try:
            return await self._client.apply(desired, force=False), ()
        except Invalid:
            if found is None or not await self._realign(found, desired):
                raise
            return await self._client.apply(desired, force=self._force), ()
        except Conflict as error:
            if not self._force or not error.causes:
                raise
            _LOG.warning(
                "fields that another manager changed are taken back",
                extra={
                    "kind": objects.kind(desired),
                    "child": str(_key(desired)),
                    "conflicts": "; ".join(f"{one.field}: {one.message}" for one in error.causes),
                },
            )
            return await self._client.apply(desired, force=True), error.causes

    async def _realign(self, found: Manifest, desired: Manifest) -> bool:
        """Change the numbers of ports that differ; return whether any did."""
        aligned = coverage.realign_ports(found, desired)
        if changes.same(aligned, found):
            return False
        await self._client.patch(found, aligned, locked=True)
        return True

    async def _find(self, gvk: GVK, key: Request) -> Manifest | None:
        """Find the child, also if it is missing in the cache: its labels differ or it is new."""
        try:
            found = await self._client.get(gvk, key, fresh=True)
        except (TimeoutError, ConfigurationError):
            found = None
        return found if found is not None else await self._client.direct.get(gvk, key)

    def _is_unchanged(self, found: Manifest, desired: Manifest) -> bool:
        digest = _digest(desired)
        if _digest(found) != digest:
            return False
        known, normal = self._normal.get((objects.gvk(desired), _key(desired)), ("", None))
        return coverage.covers(found, desired) or (
            known == digest and changes.same(coverage.project(found, desired), normal)
        )

    def _remember(self, desired: Manifest, applied: Manifest) -> None:
        """Remember the values that the server stores in a different form than they were applied."""
        key = (objects.gvk(desired), _key(desired))
        self._normal.pop(key, None)
        normal = coverage.project(applied, desired)
        if not changes.same(normal, desired):
            self._normal[key] = (_digest(desired), normal)
        while len(self._normal) > _REMEMBERED:
            self._normal.popitem(last=False)

    def _report_taken(self, owner: Manifest, gvk: GVK, key: Request) -> Child:
        words = f"a {gvk.kind} named {key.name} belongs to another owner"
        self._record_event(owner, WARNING, "NameTaken", "Create", words)
        return Child(gvk=gvk, key=key, change=Change.FAILED, error=NameTaken(words))

    async def _remove_unwanted(
        self, owner: Manifest, kept: set[tuple[GVK, Request]]
    ) -> AsyncIterator[Child]:
        """Remove the children that were applied before and are no longer described."""
        uid = str(objects.metadata(owner).get("uid"))
        index = (_INDEX, uid) if self._indexed else None
        for gvk in self._removes:
            for found in await self._client.list(
                gvk, namespace=objects.namespace(owner), index=index
            ):
                key = _key(found)
                is_ours = APPLIED in objects.annotations_of(found)
                if (gvk, key) in kept or not is_ours or not owners.is_controlled_by(found, owner):
                    continue
                if not objects.metadata(found).get("deletionTimestamp"):
                    yield await self._remove_child(owner, gvk, key, found)

    async def _remove_child(
        self, owner: Manifest, gvk: GVK, key: Request, found: Manifest
    ) -> Child:
        uid = str(objects.metadata(found).get("uid"))
        self._normal.pop((gvk, key), None)
        try:
            await self._client.delete(gvk, key, uid=uid)
        except ClusterError as error:
            return Child(gvk=gvk, key=key, change=Change.FAILED, before=found, error=error)
        self._record_event(owner, NORMAL, "Removed", "Delete", f"removed {gvk.kind} {key.name}")
        return Child(gvk=gvk, key=key, change=Change.REMOVED, before=found)

    def _record_event(
        self, owner: Manifest, kind: str, reason: str, action: str, note: str
    ) -> None:
        if self._recorder is not None:
            self._recorder.event(owner, kind, reason, action, note)


def described(owner: Manifest, child: Manifest, *, namespaced: bool) -> Manifest:
    """Return the child's manifest with its namespace, owner reference and digest."""
    made = copy.deepcopy(child)
    metadata = made.setdefault("metadata", {})
    if namespaced and not metadata.get("namespace"):
        metadata["namespace"] = objects.namespace(owner)
    if made.get("kind") == "Secret" and "stringData" in made:
        # The server never returns it, so a change could not be detected.
        texts = made.pop("stringData")
        coded = {key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}
        made["data"] = dict(made.get("data") or {}) | coded
    owners.set_controller_reference(owner, made)
    # The digest does not depend on the order of keys.
    digest = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:16]
    metadata["annotations"] = dict(metadata.get("annotations") or {}) | {APPLIED: digest}
    return made


def _digest(manifest: Manifest) -> str:
    return objects.annotations_of(manifest).get(APPLIED, "")


def _controller(snapshot: Snapshot) -> Iterable[str]:
    return [
        one.uid for one in snapshot.metadata.owner_references or () if one.controller and one.uid
    ]


def _key(manifest: Manifest) -> Request:
    return Request(objects.name(manifest), objects.namespace(manifest))


def _version(manifest: Manifest) -> Any:
    return objects.metadata(manifest).get("resourceVersion")
