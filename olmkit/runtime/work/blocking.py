"""The client for blocking reconcilers, which are plain functions in threads.

Each call runs on the event loop while the thread waits. Use it in the threads in which a controller
runs such reconcilers; in the loop's thread, a call would wait for itself, so it raises an error.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, overload

from olmkit.kube.api import Propagation
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client, Written
from olmkit.runtime.durations import Duration
from olmkit.runtime.typed import K, Kind, ModelKind
from olmkit.runtime.watch.cache import Index
from olmkit.runtime.work.blocking_direct import BlockingDirect
from olmkit.runtime.work.reconcile import Request


class BlockingClient(BlockingDirect):
    """A `Client` with blocking methods; create it on the event loop.

    It has every method of `Client` except `add_index`, which is only called when a process starts.
    """

    def __init__(self, client: Client) -> None:
        super().__init__(client, asyncio.get_running_loop())

    @property
    def direct(self) -> Self:
        """Return the same client, which reads from the server instead of the cache."""
        return self._with(self._client.direct)

    @property
    def rehearsal(self) -> Self:
        """Return the same client for dry runs: the server stores nothing."""
        return self._with(self._client.rehearsal)

    @property
    def strict(self) -> Self:
        """Return the same client with strict field validation by the server."""
        return self._with(self._client.strict)

    def impersonating(
        self,
        user: str,
        *,
        groups: Sequence[str] = (),
        uid: str = "",
        extra: Mapping[str, Sequence[str]] | None = None,
    ) -> Self:
        """Return the same client, which impersonates another user and reads from the server."""
        return self._with(self._client.impersonating(user, groups=groups, uid=uid, extra=extra))

    def within(self, namespace: str) -> Self:
        """Return the same client, restricted to one namespace for namespaced kinds."""
        return self._with(self._client.within(namespace))

    def _with(self, client: Client) -> Self:
        found = copy.copy(self)
        found._client = client  # noqa: SLF001 - its own copy
        return found

    @overload
    def get(
        self,
        kind: GVK,
        key: Request,
        *,
        fresh: bool = False,
        subresource: str = "",
        metadata_only: bool = False,
    ) -> Manifest | None: ...

    @overload
    def get(self, kind: type[K], key: Request, *, fresh: bool = False) -> K | None: ...

    def get(
        self,
        kind: Any,
        key: Request,
        *,
        fresh: bool = False,
        subresource: str = "",
        metadata_only: bool = False,
    ) -> Any:
        return self._wait(
            self._client.get(
                kind, key, fresh=fresh, subresource=subresource, metadata_only=metadata_only
            )
        )

    @overload
    def require(self, kind: GVK, key: Request, *, fresh: bool = False) -> Manifest: ...

    @overload
    def require(self, kind: type[K], key: Request, *, fresh: bool = False) -> K: ...

    def require(self, kind: Any, key: Request, *, fresh: bool = False) -> Any:
        return self._wait(self._client.require(kind, key, fresh=fresh))

    @overload
    def list(
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
    def list(
        self,
        kind: type[K],
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        index: Index | None = None,
        limit: int = 0,
    ) -> Sequence[K]: ...

    def list(
        self,
        kind: GVK | type[K],
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        index: Index | None = None,
        limit: int = 0,
        metadata_only: bool = False,
    ) -> Sequence[Manifest] | Sequence[K]:
        read: Any = self._client.list
        found = read(
            kind,
            namespace=namespace,
            labels=labels,
            index=index,
            limit=limit,
            metadata_only=metadata_only,
        )
        listed: Sequence[Manifest] | Sequence[K] = self._wait(found)
        return listed

    @overload
    def apply(self, obj: Manifest, *, force: bool = True) -> Manifest: ...

    @overload
    def apply(self, obj: K, *, force: bool = True) -> K: ...

    def apply(self, obj: Any, *, force: bool = True) -> Any:
        return self._wait(self._client.apply(obj, force=force))

    @overload
    def apply_status(self, obj: Manifest, *, force: bool = True) -> Manifest: ...

    @overload
    def apply_status(self, obj: K, *, force: bool = True) -> K: ...

    def apply_status(self, obj: Any, *, force: bool = True) -> Any:
        return self._wait(self._client.apply_status(obj, force=force))

    @overload
    def create(self, obj: Manifest) -> Manifest: ...

    @overload
    def create(self, obj: K) -> K: ...

    def create(self, obj: Any) -> Any:
        return self._wait(self._client.create(obj))

    @overload
    def replace(self, obj: Manifest, *, subresource: str = "") -> Manifest: ...

    @overload
    def replace(self, obj: K, *, subresource: str = "") -> K: ...

    def replace(self, obj: Any, *, subresource: str = "") -> Any:
        return self._wait(self._client.replace(obj, subresource=subresource))

    @overload
    def update_status(self, obj: Manifest) -> Manifest: ...

    @overload
    def update_status(self, obj: K) -> K: ...

    def update_status(self, obj: Any) -> Any:
        return self._wait(self._client.update_status(obj))

    @overload
    def patch(
        self, old: Manifest, new: Manifest, *, subresource: str = "", locked: bool = False
    ) -> Manifest: ...

    @overload
    def patch(self, old: K, new: K, *, subresource: str = "", locked: bool = False) -> K: ...

    def patch(self, old: Any, new: Any, *, subresource: str = "", locked: bool = False) -> Any:
        return self._wait(self._client.patch(old, new, subresource=subresource, locked=locked))

    def delete(
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
        self._wait(
            self._client.delete(
                kind,
                key,
                uid=uid,
                resource_version=resource_version,
                propagation=propagation,
                grace=grace,
                missing_ok=missing_ok,
            )
        )

    @overload
    def create_or_update(
        self, obj: Manifest, mutate: Callable[[Manifest], None]
    ) -> tuple[Manifest, Written]: ...

    @overload
    def create_or_update(self, obj: K, mutate: Callable[[K], None]) -> tuple[K, Written]: ...

    def create_or_update(self, obj: Any, mutate: Callable[[Any], None]) -> Any:
        return self._wait(self._client.create_or_update(obj, mutate))

    @overload
    def create_or_patch(
        self, obj: Manifest, mutate: Callable[[Manifest], None]
    ) -> tuple[Manifest, Written]: ...

    @overload
    def create_or_patch(self, obj: K, mutate: Callable[[K], None]) -> tuple[K, Written]: ...

    def create_or_patch(self, obj: Any, mutate: Callable[[Any], None]) -> Any:
        return self._wait(self._client.create_or_patch(obj, mutate))
