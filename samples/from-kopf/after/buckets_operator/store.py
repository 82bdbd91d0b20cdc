"""The store of buckets, over HTTP. This module is independent of Kubernetes."""

from __future__ import annotations

import aiohttp

_LIMITS = aiohttp.ClientTimeout(total=20)


class StoreError(Exception):
    """The store cannot do it now; a retry can help."""


class StoreFull(Exception):
    """The store is full; a retry does not help."""


class Store:
    """Both methods can be repeated at any time."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    async def ensure(self, name: str, size: int) -> str:
        """Create or change the bucket; return its address."""
        async with aiohttp.ClientSession(timeout=_LIMITS) as http:
            async with http.put(f"{self._url}/{name}", json={"size": size}) as answer:
                if answer.status == 507:
                    raise StoreFull("the store is full")
                if answer.status >= 400:
                    raise StoreError(f"the store says {answer.status}")
                return str((await answer.json())["address"])

    async def remove(self, name: str) -> None:
        """Remove the bucket, if it exists."""
        async with aiohttp.ClientSession(timeout=_LIMITS) as http:
            async with http.delete(f"{self._url}/{name}") as answer:
                if answer.status not in (200, 404):
                    raise StoreError(f"the store says {answer.status}")
