"""The client for reconcilers that block: plain functions in threads.

Each call is handed to the event loop and waited for. Made for the threads in
which a controller runs such reconcilers; called from the loop's own thread it
would wait for itself, and says so instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from olmkit.kube.api import Propagation
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client, Written
from olmkit.runtime.work.reconcile import Request

T = TypeVar("T")


class BlockingClient:
    """`Client`, whose methods return when they are done; made on the event loop."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()

    def get(self, gvk: GVK, key: Request, *, fresh: bool = False) -> Manifest | None:
        return self._wait(self._client.get(gvk, key, fresh=fresh))

    def require(self, gvk: GVK, key: Request, *, fresh: bool = False) -> Manifest:
        return self._wait(self._client.require(gvk, key, fresh=fresh))

    def list(
        self,
        gvk: GVK,
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        index: tuple[str, str] | Mapping[str, str] | None = None,
    ) -> Sequence[Manifest]:
        return self._wait(self._client.list(gvk, namespace=namespace, labels=labels, index=index))

    def apply(self, manifest: Manifest, *, force: bool = True) -> Manifest:
        return self._wait(self._client.apply(manifest, force=force))

    def apply_status(self, manifest: Manifest, *, force: bool = True) -> Manifest:
        return self._wait(self._client.apply_status(manifest, force=force))

    def create(self, manifest: Manifest) -> Manifest:
        return self._wait(self._client.create(manifest))

    def replace(self, manifest: Manifest, *, subresource: str = "") -> Manifest:
        return self._wait(self._client.replace(manifest, subresource=subresource))

    def patch(
        self, old: Manifest, new: Manifest, *, subresource: str = "", locked: bool = False
    ) -> Manifest:
        return self._wait(self._client.patch(old, new, subresource=subresource, locked=locked))

    def delete(
        self,
        gvk: GVK,
        key: Request,
        *,
        uid: str = "",
        propagation: Propagation | None = None,
        missing_ok: bool = True,
    ) -> None:
        self._wait(
            self._client.delete(gvk, key, uid=uid, propagation=propagation, missing_ok=missing_ok)
        )

    def create_or_update(
        self, manifest: Manifest, mutate: Callable[[Manifest], None]
    ) -> tuple[Manifest, Written]:
        return self._wait(self._client.create_or_update(manifest, mutate))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        work.close()
        if here is self._loop:
            raise RuntimeError("a blocking client would wait for its own event loop")
        raise RuntimeError("a blocking client belongs to a thread without event loop")
