"""The state of the API server double: objects, resource versions and watchers.

Tests read and change the state here without HTTP, as another client would.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from olmkit.kube.objects import Manifest
from olmkit.testing.apiserver import namespaces, rules, watch
from olmkit.testing.apiserver.kinds import collection as api_collection
from olmkit.testing.apiserver.kinds.collection import Change, Collection, Key

_FIRST_VERSION = 100


@dataclass(slots=True)
class ApiState:
    """Collections by path, with a common counter of resource versions.

    `forgotten`: the compacted resource version. `collects_garbage`: delete the dependents of
    deleted owners, as the garbage collector does.
    """

    collections: dict[str, Collection]
    version: int = _FIRST_VERSION
    forgotten: int = _FIRST_VERSION
    collects_garbage: bool = False
    now: Callable[[], str] = lambda: "2024-01-01T00:00:00Z"

    def get(self, plural: str, name: str, namespace: str = "default") -> Manifest | None:
        found = self._collection(plural).objects.get((namespace, name))
        return copy.deepcopy(found)

    def all(self, plural: str) -> list[Manifest]:
        """Return all objects of a kind."""
        return [copy.deepcopy(one) for one in self._collection(plural).objects.values()]

    def put(self, plural: str, manifest: Manifest) -> Manifest:
        """Create or update an object as another client would, without validation."""
        collection = self._collection(plural)
        manifest = copy.deepcopy(manifest)
        metadata = manifest.setdefault("metadata", {})
        if collection.resource.namespaced:
            metadata.setdefault("namespace", "default")
            self._have_namespace(metadata["namespace"])
        old = collection.objects.get(api_collection.key_of(manifest))
        return copy.deepcopy(self.store(collection, manifest, old))

    def _have_namespace(self, name: str) -> None:
        """Create the namespace of an object if namespaces are served."""
        known = self.collections.get(namespaces.PATH)
        if known is not None and ("", name) not in known.objects:
            self.store(known, {"metadata": {"name": name}}, None)

    def remove(self, plural: str, name: str, namespace: str = "default") -> None:
        """Remove an object regardless of its finalizers."""
        self.drop(self._collection(plural), (namespace, name))

    def end_watches(self) -> None:
        """Close every watch, as a restarting server does."""
        self._tell(None)

    def freeze_watches(self) -> None:
        """Send no further events to open watches."""
        self._tell(watch.FREEZE)

    def cut_watches(self) -> None:
        """Break the connection of every watch, as a network failure does."""
        self._tell(watch.CUT)

    def send_bookmarks(self) -> None:
        self._tell(watch.BOOKMARK)

    def compact(self) -> None:
        """Discard the history."""
        self.forgotten = self.version
        for collection in self.collections.values():
            collection.storage.changes.clear()

    def _tell(self, change: Change | None) -> None:
        for collection in self.collections.values():
            for watcher in collection.storage.watchers:
                watcher.put_nowait(change)

    def _collection(self, plural: str) -> Collection:
        """Find a collection by `plural` or `plural.group`; custom kinds take precedence."""
        found = [
            one
            for one in self.collections.values()
            if plural in (one.resource.plural, str(one.resource))
        ]
        if not found:
            raise KeyError(f"the server has no `{plural}`")
        return min(found, key=lambda one: bool(one.type))

    def delete(
        self,
        collection: Collection,
        key: Key,
        policy: str | None,
        grace: int = 0,
        *,
        dry_run: bool,
    ) -> Manifest | None:
        """Delete an object; return it if finalizers or its grace period keep it, otherwise None."""
        old = collection.objects[key]
        more = {"Foreground": ["foregroundDeletion"], "Orphan": ["orphan"]}.get(policy or "", [])
        finalizers = list(dict.fromkeys([*(old["metadata"].get("finalizers") or ()), *more]))
        if self.collects_garbage and not old["metadata"].get("finalizers"):
            finalizers = []
        if not finalizers and not grace:
            if not dry_run:
                self.drop(collection, key, orphan=policy == "Orphan")
            return None
        new = copy.deepcopy(old)
        if finalizers:
            new["metadata"]["finalizers"] = finalizers
        new["metadata"].setdefault("deletionTimestamp", self.now())
        new["metadata"]["deletionGracePeriodSeconds"] = grace
        return self.store(collection, new, old, dry_run=dry_run)

    def store(
        self,
        collection: Collection,
        manifest: Manifest,
        old: Manifest | None,
        *,
        dry_run: bool = False,
    ) -> Manifest:
        """Store a changed object with the fields that the server sets, and return it."""
        new = collection.shown(manifest)
        metadata = new["metadata"]
        before = old["metadata"] if old else {}
        if old is not None:
            metadata = new["metadata"] = metadata | {
                name: before[name] for name in ("uid", "creationTimestamp") if name in before
            }
            metadata["resourceVersion"] = before["resourceVersion"]
            if "generation" in before:
                metadata["generation"] = before["generation"]
            if new == collection.shown(old):
                return old
        if old is None and namespaces.is_kind(collection):
            new = namespaces.completed(new)
            metadata = new["metadata"]
        version = self.version + 1
        metadata.setdefault("uid", str(uuid.uuid5(uuid.NAMESPACE_OID, str(version))))
        metadata.setdefault("creationTimestamp", self.now())
        if collection.counts_generation:
            is_deleted = "deletionTimestamp" in metadata and "deletionTimestamp" not in before
            is_new_spec = old is None or rules.desired_state(
                collection, old
            ) != rules.desired_state(collection, new)
            metadata["generation"] = before.get("generation", 0) + (is_new_spec or is_deleted)
        metadata["resourceVersion"] = str(version)
        if dry_run:
            metadata["resourceVersion"] = before.get("resourceVersion", "")
            return new
        self.version = version
        key = api_collection.key_of(new)
        is_held = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
        is_held = is_held or namespaces.is_kind(collection)  # until a controller has emptied it
        if metadata.get("deletionTimestamp") and not is_held and old is not None:
            self.version -= 1
            self.drop(collection, key)
            return new
        collection.objects[key] = new
        collection.storage.record(Change(version, old, new))
        return new

    def drop(self, collection: Collection, key: Key, *, orphan: bool = False) -> None:
        self.version += 1
        gone = collection.objects.pop(key)
        collection.storage.owners.pop(key, None)
        collection.storage.record(Change(self.version, gone, None))
        if self.collects_garbage:
            self._collect(gone["metadata"]["uid"], orphan=orphan)

    def empty_namespace(self, namespace: str) -> None:
        """Delete the objects of a terminating namespace, as the namespace controller does."""
        for collection in list(self.collections.values()):
            for key in [one for one in collection.objects if one[0] == namespace]:
                if key in collection.objects:
                    self.delete(collection, key, None, dry_run=False)
        if not any(key[0] == namespace for one in self.collections.values() for key in one.objects):
            self.drop(self.collections[namespaces.PATH], ("", namespace))

    def _collect(self, uid: str, *, orphan: bool) -> None:
        """Delete the dependents of a deleted owner, as the garbage collector does."""
        for collection in list(self.collections.values()):
            for key, one in list(collection.objects.items()):
                owners = one["metadata"].get("ownerReferences") or []
                left = [owner for owner in owners if owner.get("uid") != uid]
                if len(left) == len(owners) or key not in collection.objects:
                    continue
                if left or orphan:
                    new = copy.deepcopy(one)
                    new["metadata"]["ownerReferences"] = left
                    self.store(collection, new, one)
                else:
                    self.delete(collection, key, None, dry_run=False)
