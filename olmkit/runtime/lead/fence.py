"""A fence that stops writes of a former leader before they leave the process.

A process can be suspended as a whole, for example by a debugger, an overloaded node or a live
migration, and continue later, when another replica leads. The elector's thread notices this, but
the main loop may run first. So each write first checks that the last renewal of the lease is recent
enough. Reads are not checked, nor are replicas that have not led yet: what runs there needs no
leadership.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from olmkit.kube.api import Cluster, ClusterError, ImpersonatedUser, Pipe
from olmkit.kube.objects import Manifest


class NotLeading(ClusterError):  # noqa: N818 - a fact, not a fault
    """The write was stopped: the process was leader, and may no longer be."""


class FencedCluster:
    """Implements `olmkit.kube.api.Cluster`; writes only while `may_write` returns True."""

    def __init__(self, cluster: Cluster, may_write: Callable[[], bool]) -> None:
        self._cluster = cluster
        self._may_write = may_write
        self.resource = cluster.resource
        self.get = cluster.get
        self.list_page = cluster.list_page
        self.watch = cluster.watch
        self.log = cluster.log

    async def create(self, *positional: Any, **named: Any) -> Manifest:
        self._check()
        return await self._cluster.create(*positional, **named)

    async def replace(self, *positional: Any, **named: Any) -> Manifest:
        self._check()
        return await self._cluster.replace(*positional, **named)

    async def patch(self, *positional: Any, **named: Any) -> Manifest:
        self._check()
        return await self._cluster.patch(*positional, **named)

    async def delete(self, *positional: Any, **named: Any) -> Manifest:
        self._check()
        return await self._cluster.delete(*positional, **named)

    async def delete_collection(self, *positional: Any, **named: Any) -> None:
        self._check()
        await self._cluster.delete_collection(*positional, **named)

    def impersonating(self, identity: ImpersonatedUser) -> FencedCluster:
        return FencedCluster(self._cluster.impersonating(identity), self._may_write)

    def execute(self, *positional: Any, **named: Any) -> AsyncGenerator[tuple[int, bytes], None]:
        self._check()
        return self._cluster.execute(*positional, **named)

    def forward(self, namespace: str, pod: str, port: int) -> AbstractAsyncContextManager[Pipe]:
        self._check()
        return self._cluster.forward(namespace, pod, port)

    def _check(self) -> None:
        if not self._may_write():
            raise NotLeading("the write was stopped: another replica may be the leader now")
