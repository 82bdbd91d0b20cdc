"""For authors who need the object and nothing else: the runtime reads it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.work.reconcile import Request, Result


class ObjectReconciler:
    """A reconciler around a function of the object; one that is gone needs nothing."""

    def __init__(
        self,
        client: Client,
        gvk: GVK,
        function: Callable[[Manifest], Awaitable[Result | None]],
    ) -> None:
        self._client = client
        self._gvk = gvk
        self._function = function

    async def reconcile(self, request: Request) -> Result | None:
        found = await self._client.get(self._gvk, request)
        if found is None:
            return Result()
        result: object = self._function(found)
        if not inspect.isawaitable(result):
            name = getattr(self._function, "__name__", type(self._function).__name__)
            raise TypeError(f"`{name}` is not `async`: write `async def`")
        outcome: Result | None = await result
        return outcome
