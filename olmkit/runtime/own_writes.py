"""What a client has written and the cache has not shown yet, so that a read can wait for it.

Resource versions tell: those of one kind grow. What the cache has shown is forgotten,
and so is the oldest when there is too much of it: the memory does not grow with every
name that ever was.
"""

from __future__ import annotations

import asyncio
import re

from olmkit.kube.objects import GVK
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.work.reconcile import Request

_FRESH_TIMEOUT = 5.0
_SWEEP = 500  # writes after which it is looked which of them the cache has shown
_MAX_WRITTEN = 10_000
_COMPARABLE = re.compile(r"[1-9][0-9]*")


class OwnWrites:
    """The last versions that a client wrote, for a cache that will show them."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._versions: dict[tuple[GVK, Request], str] = {}
        self._sweep_above = _SWEEP

    def __len__(self) -> int:
        return len(self._versions)

    def remember(self, gvk: GVK, key: Request, version: str) -> None:
        """An object was written, and has this version now."""
        self._versions[(gvk, key)] = version
        if len(self._versions) > self._sweep_above:
            self._forget_shown()

    async def wait_for(self, gvk: GVK, key: Request) -> None:
        """Until the cache shows the last write of an object; `TimeoutError` after 5 s."""
        wanted = self._versions.get((gvk, key))
        if wanted is None or not _COMPARABLE.fullmatch(wanted):
            return
        informer = await self._cache.synced_informer(gvk)
        async with asyncio.timeout(_FRESH_TIMEOUT):
            while not _reached(informer.version_of(key.namespace), wanted):  # noqa: ASYNC110 - rare
                await asyncio.sleep(0.005)

    def _forget_shown(self) -> None:
        """Forget what the cache has shown meanwhile: nothing would wait for it."""
        informers = {
            one.gvk: one for one in self._cache.informers if one.synced and not one.metadata_only
        }
        for (gvk, key), version in list(self._versions.items()):
            informer = informers.get(gvk)
            if informer is not None and _reached(informer.version_of(key.namespace), version):
                del self._versions[(gvk, key)]
        while len(self._versions) > _MAX_WRITTEN:
            self._versions.pop(next(iter(self._versions)))
        self._sweep_above = max(_SWEEP, 2 * len(self._versions))


def _reached(seen: str, wanted: str) -> bool:
    """Whether a resource version is at least another: longer is greater, then as text."""
    if not _COMPARABLE.fullmatch(seen):
        return True
    return (len(seen), seen) >= (len(wanted), wanted)
