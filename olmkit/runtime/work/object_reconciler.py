"""For authors who need the object and nothing else: the runtime reads it."""

from __future__ import annotations

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
        return Result() if found is None else await self._function(found)
