"""What reconcilers hold: reading from the cache and writing to the server, typed or plain.

Every method takes a class of a kind or its `GVK`, and objects of such a class or plain
manifests: what goes in as one comes out as one. A class needs `gvk`, `from_manifest` and
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
from olmkit.runtime.manifest_client import Written as Written
from olmkit.runtime.typed import K, Kind, ModelKind
from olmkit.runtime.watch.cache import Index
from olmkit.runtime.work.reconcile import Request

T = TypeVar("T")


class Client(Following):
    """The API of one cluster for reconcilers; every object is the caller's own to change.

    `field_manager` is the name under which fields are owned: short, stable, one a
    controller. Every method raises `olmkit.kube.api.ClusterError`; those that return
    objects of a class raise `Unreadable` for data of another shape. With `namespace`, it
    works in that namespace alone: what names none is there, another one is an error.
    """

    @property
    def pods(self) -> Pods:
        """Logs of containers, commands in them, and ports of pods."""
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
        """One object, or None.

        `fresh` waits until this client's last write or deletion of it is seen, and raises
        `TimeoutError` after 5 s, and `ConfigurationError` at once when the cache does not
        select what was written. Raises `ValueError` without the namespace of a kind that has
        namespaces. Subresources are read from the server; `metadata_only` reads a cache of
        metadata. Both are manifests, so they need the `GVK`.
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
        """One object; raises `NotFound`."""
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
        """The objects of a namespace, or of all, by label selector and by indexed fields.

        `limit` cuts off an arbitrary part. From the server, `index` is a field selector.
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
        """Server-side apply: own the fields that the object has, and no others.

        A field that was applied before and is left out now is removed. When nothing
        changes, the server writes nothing, so applying on every pass causes no loop.
        Of an object of a class, the fields are those that were set.
        """
        return _as_given(obj, await super().apply(typed.manifest_of(obj), force=force))

    @overload
    async def apply_status(self, obj: Manifest, *, force: bool = True) -> Manifest: ...

    @overload
    async def apply_status(self, obj: K, *, force: bool = True) -> K: ...

    async def apply_status(self, obj: Manifest | K, *, force: bool = True) -> Manifest | K:
        """The same for the status subresource, under a separate field manager."""
        return _as_given(obj, await super().apply_status(typed.with_status(obj), force=force))

    @overload
    async def create(self, obj: Manifest) -> Manifest: ...

    @overload
    async def create(self, obj: K) -> K: ...

    async def create(self, obj: Manifest | K) -> Manifest | K:
        """POST; raises `AlreadyExists`, also for an object which the cache's scope hides.

        Raises `ValueError` for an object without name (or `generateName`), kind or namespace.
        """
        return _as_given(obj, await super().create(typed.manifest_of(obj)))

    @overload
    async def replace(self, obj: Manifest, *, subresource: str = "") -> Manifest: ...

    @overload
    async def replace(self, obj: K, *, subresource: str = "") -> K: ...

    async def replace(self, obj: Manifest | K, *, subresource: str = "") -> Manifest | K:
        """PUT of the whole object; raises `Conflict` when it changed since it was read."""
        return _as_given(
            obj, await super().replace(typed.manifest_of(obj), subresource=subresource)
        )

    @overload
    async def update_status(self, obj: Manifest) -> Manifest: ...

    @overload
    async def update_status(self, obj: K) -> K: ...

    async def update_status(self, obj: Manifest | K) -> Manifest | K:
        """PUT of the status; raises `Conflict` when the object changed since it was read.

        No request when the cache has this version of the object with the same status. Raises
        `ValueError` for a kind without the status subresource.
        """
        return _as_given(obj, await super().update_status(typed.manifest_of(obj)))

    @overload
    async def patch(
        self, old: Manifest, new: Manifest, *, subresource: str = "", locked: bool = False
    ) -> Manifest: ...

    @overload
    async def patch(self, old: K, new: K, *, subresource: str = "", locked: bool = False) -> K: ...

    async def patch(
        self, old: Manifest | K, new: Manifest | K, *, subresource: str = "", locked: bool = False
    ) -> Manifest | K:
        """Send what turns `old` into `new` as a merge patch; no request when nothing does.

        `locked` puts the resource version of `old` into it, so that a change in between
        raises `Conflict`: needed for lists such as finalizers, which a merge patch replaces.
        """
        patched = await super().patch(
            typed.manifest_of(old), typed.manifest_of(new), subresource=subresource, locked=locked
        )
        return _as_given(new, patched)

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
        """DELETE; only the object of that UID and resource version, where they are given.

        Raises `Conflict` when it has others. `grace` is the time a pod gets to end.
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
        """DELETE of every object that labels and fields select, in one namespace.

        Kinds of the cluster have none. Raises `ValueError` for a namespaced kind without one.
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
        """Create the object, or change what `mutate` changes.

        `mutate` should set single fields: replacing a sub-tree drops what the server
        defaulted, and so writes on every pass. Raises `ValueError` when it changes the name.
        """
        made, written = await super().create_or_update(typed.manifest_of(obj), _on(obj, mutate))
        return _as_given(obj, made), written

    @overload
    async def create_or_patch(
        self, obj: Manifest, mutate: Callable[[Manifest], None]
    ) -> tuple[Manifest, Written]: ...

    @overload
    async def create_or_patch(self, obj: K, mutate: Callable[[K], None]) -> tuple[K, Written]: ...

    async def create_or_patch(
        self, obj: Manifest | K, mutate: Callable[[Any], None]
    ) -> tuple[Manifest | K, Written]:
        """The same by merge patches, one for the status where that is a subresource.

        What `mutate` does to the status is written too; `Written` says which of the two
        changed.
        """
        made, written = await super().create_or_patch(typed.manifest_of(obj), _on(obj, mutate))
        return _as_given(obj, made), written


def _as_given(given: Manifest | K, written: Manifest) -> Manifest | K:
    """What the server answered, in the form in which the object was given."""
    return written if isinstance(given, dict) else typed.read(type(given), written)


def _on(given: Manifest | K, mutate: Callable[[Any], None]) -> Callable[[Manifest], None]:
    """`mutate` for manifests, where it was written for the class of `given`."""
    if isinstance(given, dict):
        return mutate
    kind = type(given)

    def mutate_manifest(manifest: Manifest) -> None:
        found = typed.read(kind, manifest)
        before = typed.manifest_of(found)
        mutate(found)
        # Only what it changed: what the class writes in another way stays as it was.
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
