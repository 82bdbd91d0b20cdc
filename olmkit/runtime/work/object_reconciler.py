"""A reconciler for functions of an object, which the runtime reads."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, overload

from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.typed import K
from olmkit.runtime.work.reconcile import Request, Result


class ObjectReconciler:
    """Calls a function with the object of each request; does nothing if the object does not exist.

    The function gets a typed object if a class was passed, and a manifest if a `GVK` was passed.
    """

    @overload
    def __init__(
        self, client: Client, kind: GVK, function: Callable[[Manifest], Awaitable[Result | None]]
    ) -> None: ...

    @overload
    def __init__(
        self, client: Client, kind: type[K], function: Callable[[K], Awaitable[Result | None]]
    ) -> None: ...

    def __init__(
        self,
        client: Client,
        kind: GVK | type[Any],
        function: Callable[[Any], Awaitable[Result | None]],
    ) -> None:
        self._client = client
        self._kind = kind
        self._function = function

    async def reconcile(self, request: Request) -> Result | None:
        found: Any = await self._client.get(self._kind, request)
        if found is None:
            return Result()
        result: object = self._function(found)
        if not inspect.isawaitable(result):
            name = getattr(self._function, "__name__", type(self._function).__name__)
            raise TypeError(f"`{name}` is not `async`: write `async def`")
        outcome: Result | None = await result
        return outcome
