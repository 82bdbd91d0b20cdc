"""The client of reconcilers, which reads from the cache and writes to the server.

Every method takes a class of a kind or its `GVK`, and objects of such a class or plain
manifests, and return the same form. A class needs `gvk`, `from_manifest` and
`to_manifest`, as `CustomResource` has them; pydantic models of Kubernetes' own kinds work
as they are generated (`pip install "olmkit-runtime[kubernetes-types]"`).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from olmkit.kube import changes, patches
from olmkit.kube.api import AlreadyExists, Conflict, Propagation
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime import typed
from olmkit.runtime.direct.following import Following
from olmkit.runtime.direct.pods import Pods
from olmkit.runtime.durations import Duration
from olmkit.runtime.manifests.manifest_client import Written as Written
from olmkit.runtime.typed import K, Kind, ModelKind
from olmkit.runtime.watch.cache import Index
from olmkit.runtime.work.reconcile import Request

T = TypeVar("T")


class Client(Following):
    """The API of one cluster for reconcilers; returned objects are copies that may be changed.

    `field_manager` is the name of the field manager: short, stable, and unique for each controller.
    Every method raises `olmkit.kube.api.ClusterError`; those that return objects of a class raise
    `Unreadable` for data that do not fit the class. With `namespace`, the client is restricted to
    that namespace: it is the default, and another namespace is an error.
    """

    @property
    def pods(self) -> Pods:
        """Return the client for logs, commands and ports of pods."""
        return Pods(self.cluster)

    @overload
    async def get(
        self,
        kind: GVK,
        key: Request,
        *,
        fresh: bool = False,
        subresource: str = "",
        metadata_only: bool = False,
    ) -> Manifest | None: ...

    @overload
    async def get(self, kind: type[K], key: Request, *, fresh: bool = False) -> K | None: ...

    async def get(
        self,
        kind: GVK | type[K],
        key: Request,
        *,
        fresh: bool = False,
        subresource: str = "",
        metadata_only: bool = False,
    ) -> Manifest | K | None:
        """Get an object; return None if it does not exist.

        `fresh` waits until this client's last write or deletion of the object is in the cache. It
        raises `TimeoutError` after 5 s, and `ConfigurationError` at once if the cache does not
        select the written object. Raises `ValueError` if a namespaced kind is read without a
        namespace. Subresources are read from the server; `metadata_only` reads from a cache of
        metadata. Both return manifests, so they need the `GVK`.
        """
        if not isinstance(kind, GVK) and (subresource or metadata_only):
            raise TypeError(f"metadata and subresources are manifests: pass `{kind.__name__}.gvk`")
        found = await super().get(
            typed.gvk_of(kind),
            key,
            fresh=fresh,
            subresource=subresource,
            metadata_only=metadata_only,
        )
        return found if found is None or isinstance(kind, GVK) else typed.read(kind, found)

    @overload
    async def require(self, kind: GVK, key: Request, *, fresh: bool = False) -> Manifest: ...

    @overload
    async def require(self, kind: type[K], key: Request, *, fresh: bool = False) -> K: ...

    async def require(
        self, kind: GVK | type[K], key: Request, *, fresh: bool = False
    ) -> Manifest | K:
        """Get an object; raise `NotFound` if it does not exist."""
        found = await super().require(typed.gvk_of(kind), key, fresh=fresh)
        return found if isinstance(kind, GVK) else typed.read(kind, found)

    @overload
    async def list(
        self,
        kind: GVK,
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        index: Index | None = None,
        limit: int = 0,
        metadata_only: bool = False,
    ) -> Sequence[Manifest]: ...

    @overload
    async def list(
        self,
        kind: type[K],
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        index: Index | None = None,
        limit: int = 0,
    ) -> Sequence[K]: ...

    async def list(
        self,
        kind: GVK | type[K],
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        index: Index | None = None,
        limit: int = 0,
        metadata_only: bool = False,
    ) -> Sequence[Manifest] | Sequence[K]:
        """List the objects of one or all namespaces, selected by labels and indexed fields.

        Objects have no order, so `limit` returns an arbitrary selection. When reading from the
        server, `index` is a field selector.
        """
        if not isinstance(kind, GVK) and metadata_only:
            raise TypeError(f"metadata is a manifest: pass `{kind.__name__}.gvk`")
        found = await super().list(
            typed.gvk_of(kind),
            namespace=namespace,
            labels=labels,
            index=index,
            limit=limit,
            metadata_only=metadata_only,
        )
        return found if isinstance(kind, GVK) else [typed.read(kind, one) for one in found]

    @overload
    async def apply(self, obj: Manifest, *, force: bool = True) -> Manifest: ...

    @overload
    async def apply(self, obj: K, *, force: bool = True) -> K: ...

    async def apply(self, obj: Manifest | K, *, force: bool = True) -> Manifest | K:
        """Apply the object (server-side apply), and own exactly the fields that it has.

        The server removes a field that was applied before and is now missing. If nothing changes,
        the server writes nothing, so applying in every reconcile does not cause a loop. A typed
        object has only the fields that were set.
        """
        return _in_given_form(obj, await super().apply(typed.manifest_of(obj), force=force))

    @overload
    async def apply_status(self, obj: Manifest, *, force: bool = True) -> Manifest: ...

    @overload
    async def apply_status(self, obj: K, *, force: bool = True) -> K: ...

    async def apply_status(self, obj: Manifest | K, *, force: bool = True) -> Manifest | K:
        """Apply the status subresource, under a separate field manager."""
        return _in_given_form(obj, await super().apply_status(typed.with_status(obj), force=force))

    @overload
    async def create(self, obj: Manifest) -> Manifest: ...

    @overload
    async def create(self, obj: K) -> K: ...

    async def create(self, obj: Manifest | K) -> Manifest | K:
        """Create the object; raise `AlreadyExists`, also for an object outside the cache's scope.

        Raises `ValueError` for an object without a name (or `generateName`), kind or namespace.
        """
        return _in_given_form(obj, await super().create(typed.manifest_of(obj)))

    @overload
    async def replace(self, obj: Manifest, *, subresource: str = "") -> Manifest: ...

    @overload
    async def replace(self, obj: K, *, subresource: str = "") -> K: ...

    async def replace(self, obj: Manifest | K, *, subresource: str = "") -> Manifest | K:
        """Replace the whole object (PUT); raise `Conflict` if it changed since it was read."""
        return _in_given_form(
            obj, await super().replace(typed.manifest_of(obj), subresource=subresource)
        )

    @overload
    async def update_status(self, obj: Manifest) -> Manifest: ...

    @overload
    async def update_status(self, obj: K) -> K: ...

    async def update_status(self, obj: Manifest | K) -> Manifest | K:
        """Replace the status (PUT); raise `Conflict` if the object changed since it was read.

        No request is sent if the cache has this version of the object with the same status. Raises
        `ValueError` for a kind without a status subresource.
        """
        return _in_given_form(obj, await super().update_status(typed.manifest_of(obj)))

    @overload
    async def patch(
        self, old: Manifest, new: Manifest, *, subresource: str = "", locked: bool = False
    ) -> Manifest: ...

    @overload
    async def patch(self, old: K, new: K, *, subresource: str = "", locked: bool = False) -> K: ...

    async def patch(
        self, old: Manifest | K, new: Manifest | K, *, subresource: str = "", locked: bool = False
    ) -> Manifest | K:
        """Send the difference between `old` and `new` as a merge patch, unless they are equal.

        `locked` includes the resource version of `old`, so that a change in between raises
        `Conflict`. Use it for lists such as finalizers, which a merge patch replaces as a whole.
        """
        patched = await super().patch(
            typed.manifest_of(old), typed.manifest_of(new), subresource=subresource, locked=locked
        )
        return _in_given_form(new, patched)

    async def delete(
        self,
        kind: GVK | type[Kind | ModelKind],
        key: Request,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation | None = None,
        grace: Duration | None = None,
        missing_ok: bool = True,
    ) -> None:
        """Delete an object, only if it has the given UID and resource version.

        Raises `Conflict` if they differ. `grace` is the grace period in which a pod terminates.
        """
        await super().delete(
            typed.gvk_of(kind),
            key,
            uid=uid,
            resource_version=resource_version,
            propagation=propagation,
            grace=grace,
            missing_ok=missing_ok,
        )

    async def delete_all(
        self,
        kind: GVK | type[Kind | ModelKind],
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
        propagation: Propagation | None = None,
        grace: Duration | None = None,
    ) -> None:
        """Delete all objects in one namespace that the label and field selectors match.

        Cluster-scoped kinds take no namespace. Raises `ValueError` for a namespaced kind without a
        namespace.
        """
        await super().delete_all(
            typed.gvk_of(kind),
            namespace=namespace,
            labels=labels,
            fields=fields,
            propagation=propagation,
            grace=grace,
        )

    @overload
    async def create_or_update(
        self, obj: Manifest, mutate: Callable[[Manifest], None]
    ) -> tuple[Manifest, Written]: ...

    @overload
    async def create_or_update(self, obj: K, mutate: Callable[[K], None]) -> tuple[K, Written]: ...

    async def create_or_update(
        self, obj: Manifest | K, mutate: Callable[[Any], None]
    ) -> tuple[Manifest | K, Written]:
        """Create the object, or update it with the changes that `mutate` makes.

        `mutate` should set individual fields: if it replaces a whole structure, it removes the
        defaults that the server set, and causes a write in every reconcile. Raises `ValueError` if
        it changes the name.
        """
        made, written = await super().create_or_update(typed.manifest_of(obj), _on(obj, mutate))
        return _in_given_form(obj, made), written

    @overload
    async def create_or_patch(
        self, obj: Manifest, mutate: Callable[[Manifest], None]
    ) -> tuple[Manifest, Written]: ...

    @overload
    async def create_or_patch(self, obj: K, mutate: Callable[[K], None]) -> tuple[K, Written]: ...

    async def create_or_patch(
        self, obj: Manifest | K, mutate: Callable[[Any], None]
    ) -> tuple[Manifest | K, Written]:
        """Create the object, or patch it with the changes that `mutate` makes.

        Sends a merge patch, and a second one for the status if the kind has a status subresource.
        `Written` says which of the two changed.
        """
        made, written = await super().create_or_patch(typed.manifest_of(obj), _on(obj, mutate))
        return _in_given_form(obj, made), written


def _in_given_form(given: Manifest | K, written: Manifest) -> Manifest | K:
    """Return the response in the form in which the object was passed."""
    return written if isinstance(given, dict) else typed.read(type(given), written)


def _on(given: Manifest | K, mutate: Callable[[Any], None]) -> Callable[[Manifest], None]:
    """Return a function for manifests that calls `mutate`, which takes the class of `given`."""
    if isinstance(given, dict):
        return mutate
    kind = type(given)

    def mutate_manifest(manifest: Manifest) -> None:
        found = typed.read(kind, manifest)
        before = typed.manifest_of(found)
        mutate(found)
        # Only its changes: fields that the class serializes differently stay as they were.
        change = changes.merge_patch(before, typed.manifest_of(found))
        changed = patches.merge_patch(manifest, change)
        manifest.clear()
        manifest.update(changed)

    return mutate_manifest


async def retry_on_conflict(
    work: Callable[[], Awaitable[T]],
    *,
    tries: int = 5,
    pause: float = 0.01,
    factor: float = 1.0,
    chance: random.Random | None = None,
) -> T:
    """Run `work`, and run it again when it raises `Conflict`, up to `tries` times in total.

    `work` must read the object from the server each time. In a reconciler, let `Conflict` pass
    instead: the key is retried.
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
