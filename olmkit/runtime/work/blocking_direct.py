"""The methods of the blocking client that bypass the cache: patches, subresources, pages, watches.

Each call runs on the event loop while the reconciler's thread waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast, overload

from olmkit.kube.api import Propagation
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.direct.following import Watched
from olmkit.runtime.direct.pods import Executed, Pods
from olmkit.runtime.direct.subresources import Scale, Token
from olmkit.runtime.durations import Duration
from olmkit.runtime.typed import K, Kind, ModelKind
from olmkit.runtime.work.reconcile import Request

T = TypeVar("T")


class OfLoop:
    """Runs coroutines on the event loop and waits for them in a thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        work.close()
        if here is self._loop:
            raise RuntimeError("a blocking client would wait for its own event loop")
        raise RuntimeError("use a blocking client in a thread without an event loop")

    def _each(self, items: AsyncIterator[T]) -> Iterator[T]:
        """Yield the items one by one; close the iterator when the caller stops."""
        try:
            while (item := self._wait(_next(items))) is not _END:
                yield cast("T", item)
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                self._wait(close())


_END = object()


async def _next(items: AsyncIterator[T]) -> T | object:
    return await anext(items, _END)


class BlockingPods(OfLoop):
    """`Pods` with blocking methods, without port forwarding, which needs an event loop."""

    def __init__(self, pods: Pods, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._pods = pods

    def logs(
        self,
        pod: Request,
        *,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        since: Duration | None = None,
        since_time: str = "",
        tail: int | None = None,
        timestamps: bool = False,
        limit: int | None = None,
    ) -> Iterator[str]:
        return self._each(
            self._pods.logs(
                pod,
                container=container,
                follow=follow,
                previous=previous,
                since=since,
                since_time=since_time,
                tail=tail,
                timestamps=timestamps,
                limit=limit,
            )
        )

    def execute(
        self,
        pod: Request,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bytes | None = None,
    ) -> Executed:
        return self._wait(self._pods.execute(pod, command, container=container, stdin=stdin))


class BlockingDirect(OfLoop):
    """Patches, subresources, pages, watches and waiting."""

    def __init__(self, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._client = client

    @property
    def pods(self) -> BlockingPods:
        return BlockingPods(self._client.pods, self._loop)

    @overload
    def json_patch(
        self,
        kind: GVK,
        key: Request,
        operations: Sequence[Mapping[str, Any]],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> Manifest: ...

    @overload
    def json_patch(
        self,
        kind: type[K],
        key: Request,
        operations: Sequence[Mapping[str, Any]],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> K: ...

    def json_patch(
        self,
        kind: Any,
        key: Request,
        operations: Sequence[Mapping[str, Any]],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> Any:
        return self._wait(
            self._client.json_patch(
                kind,
                key,
                operations,
                subresource=subresource,
                uid=uid,
                resource_version=resource_version,
            )
        )

    @overload
    def merge_patch(
        self,
        kind: GVK,
        key: Request,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> Manifest: ...

    @overload
    def merge_patch(
        self,
        kind: type[K],
        key: Request,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> K: ...

    def merge_patch(
        self,
        kind: Any,
        key: Request,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> Any:
        return self._wait(
            self._client.merge_patch(
                kind,
                key,
                patch,
                subresource=subresource,
                uid=uid,
                resource_version=resource_version,
            )
        )

    @overload
    def strategic_patch(
        self,
        kind: GVK,
        key: Request,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> Manifest: ...

    @overload
    def strategic_patch(
        self,
        kind: type[K],
        key: Request,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> K: ...

    def strategic_patch(
        self,
        kind: Any,
        key: Request,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> Any:
        return self._wait(
            self._client.strategic_patch(
                kind,
                key,
                patch,
                subresource=subresource,
                uid=uid,
                resource_version=resource_version,
            )
        )

    def delete_all(
        self,
        kind: GVK | type[Kind | ModelKind],
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
        propagation: Propagation | None = None,
        grace: Duration | None = None,
    ) -> None:
        self._wait(
            self._client.delete_all(
                kind,
                namespace=namespace,
                labels=labels,
                fields=fields,
                propagation=propagation,
                grace=grace,
            )
        )

    def scale_of(self, kind: GVK | type[Kind | ModelKind], key: Request) -> Scale | None:
        return self._wait(self._client.scale_of(kind, key))

    def scale(
        self,
        kind: GVK | type[Kind | ModelKind],
        key: Request,
        replicas: int,
        *,
        resource_version: str = "",
    ) -> Scale:
        return self._wait(
            self._client.scale(kind, key, replicas, resource_version=resource_version)
        )

    def evict(
        self,
        pod: Request,
        *,
        uid: str = "",
        resource_version: str = "",
        grace: Duration | None = None,
        missing_ok: bool = True,
    ) -> None:
        self._wait(
            self._client.evict(
                pod,
                uid=uid,
                resource_version=resource_version,
                grace=grace,
                missing_ok=missing_ok,
            )
        )

    def token(
        self,
        account: Request,
        *,
        audiences: Sequence[str] = (),
        lifetime: Duration = 3600.0,
        pod: Manifest | None = None,
    ) -> Token:
        return self._wait(
            self._client.token(account, audiences=audiences, lifetime=lifetime, pod=pod)
        )

    @overload
    def pages(
        self,
        kind: GVK,
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
        size: int = 500,
    ) -> Iterator[Sequence[Manifest]]: ...

    @overload
    def pages(
        self,
        kind: type[K],
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
        size: int = 500,
    ) -> Iterator[Sequence[K]]: ...

    def pages(
        self,
        kind: Any,
        *,
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
        size: int = 500,
    ) -> Iterator[Any]:
        return self._each(
            self._client.pages(
                kind,
                namespace=namespace,
                labels=labels,
                fields=fields,
                size=size,
            )
        )

    @overload
    def watch(
        self,
        kind: GVK,
        *,
        name: str = "",
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
    ) -> Iterator[Watched[Manifest]]: ...

    @overload
    def watch(
        self,
        kind: type[K],
        *,
        name: str = "",
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
    ) -> Iterator[Watched[K]]: ...

    def watch(
        self,
        kind: Any,
        *,
        name: str = "",
        namespace: str = "",
        labels: str | Mapping[str, Any] = "",
        fields: str = "",
    ) -> Iterator[Any]:
        return self._each(
            self._client.watch(
                kind,
                name=name,
                namespace=namespace,
                labels=labels,
                fields=fields,
            )
        )

    @overload
    def wait_for(self, kind: GVK, key: Request, until: str, *, within: Duration) -> Manifest: ...

    @overload
    def wait_for(self, kind: type[K], key: Request, until: str, *, within: Duration) -> K: ...

    @overload
    def wait_for(
        self, kind: GVK, key: Request, until: Callable[[Manifest | None], bool], *, within: Duration
    ) -> Manifest | None: ...

    @overload
    def wait_for(
        self, kind: type[K], key: Request, until: Callable[[K | None], bool], *, within: Duration
    ) -> K | None: ...

    def wait_for(self, kind: Any, key: Request, until: Any, *, within: Duration) -> Any:
        found: Any = self._client.wait_for(kind, key, until, within=within)
        return self._wait(found)
