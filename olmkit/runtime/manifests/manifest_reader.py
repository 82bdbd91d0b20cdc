"""Reads of objects as plain manifests, from the cache or from the server.

`get` returns None for a missing object, `require` raises. Read with `fresh=True` to see your own
writes.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube.api import Cluster, Gone, ImpersonatedUser, NotFound, Resource
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime import typed
from olmkit.runtime.manifests.identity import as_manifest, check_namespace, check_request
from olmkit.runtime.manifests.own_writes import OwnWrites
from olmkit.runtime.typed import Kind, ModelKind
from olmkit.runtime.watch.cache import Cache, Index
from olmkit.runtime.watch.reflector import BREATH
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.watch.store import Indexer
from olmkit.runtime.work.reconcile import Request

_PAGE = 500


class ManifestReader:
    """The reads from one cluster; each returned `Manifest` is a copy that the caller may change."""

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
        check_request(key)
        if self._namespace:
            key = Request(key.name, await self._place(gvk, key.namespace))
        if self._cache is None or gvk in self._uncached or subresource:
            return await self._of_server(gvk, await self._located(gvk, key), subresource)
        if not key.namespace:
            check_namespace(await self._resource(gvk), key)
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
        check_request(key)
        if self._namespace:
            key = Request(key.name, await self._place(gvk, key.namespace))
        check_namespace(await self._resource(gvk), key)
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
