"""Records writes that are not in the cache yet, so that a read can wait for them.

Writes and the cache are compared by resource version, which increases within a kind. Records that
the cache has caught up with are discarded, and so are the oldest if there are too many, so that
memory stays bounded.
"""

from __future__ import annotations

import asyncio
import re

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.watch.cache import Cache, Informer
from olmkit.runtime.work.reconcile import Request

_FRESH_TIMEOUT = 5.0
_SWEEP = 500  # writes between two checks of what the cache has caught up with
_MAX_WRITTEN = 10_000
_COMPARABLE = re.compile(r"[1-9][0-9]*")


class OwnWrites:
    """The last writes and deletions of a client, compared with its cache."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._versions: dict[tuple[GVK, Request], str] = {}
        self._deleted: dict[tuple[GVK, Request], str] = {}  # UIDs
        self._excluded: dict[tuple[GVK, Request], str] = {}  # by the selector
        self._sweep_above = _SWEEP

    def __len__(self) -> int:
        return len(self._versions) + len(self._deleted) + len(self._excluded)

    def remember(self, gvk: GVK, key: Request, version: str) -> None:
        """Record that an object was written and has this version now."""
        self._versions[(gvk, key)] = version
        self._excluded.pop((gvk, key), None)
        self._bound()

    def note_selection(self, resource: Resource, written: Manifest) -> None:
        """Record whether the cache selects the written object, by its labels."""
        selector = self._cache.excludes(resource, written)
        if selector:
            metadata = written["metadata"]
            key = Request(metadata.get("name") or "", metadata.get("namespace") or "")
            self._excluded[(resource.gvk, key)] = selector

    def remember_deletion(self, gvk: GVK, key: Request, uid: str) -> None:
        """Record that an object was deleted; without its UID there is nothing to wait for."""
        self._versions.pop((gvk, key), None)
        self._excluded.pop((gvk, key), None)
        if uid:
            self._deleted[(gvk, key)] = uid
            self._bound()

    async def wait_for(self, gvk: GVK, key: Request) -> None:
        """Wait until the cache has the last write and the last deletion of an object.

        Raises `TimeoutError` after 5 s, and `ConfigurationError` at once if the cache does not
        select the object.
        """
        if selector := self._excluded.get((gvk, key)):
            raise ConfigurationError(
                f"the cache does not hold `{gvk.kind}` `{key}`: its selector is `{selector}`",
                hint="set the labels, change the cache's selector, or read through `client.direct`",
            )
        wanted = self._versions.get((gvk, key), "")
        uid = self._deleted.get((gvk, key), "")
        if not uid and not _COMPARABLE.fullmatch(wanted):
            return
        informer = await self._cache.synced_informer(gvk)
        try:
            async with asyncio.timeout(_FRESH_TIMEOUT):
                while not self._is_shown(informer, gvk, key, wanted, uid):  # noqa: ASYNC110 - rare
                    await asyncio.sleep(0.005)
        except TimeoutError:
            raise TimeoutError(_late(informer, key, is_deletion=bool(uid))) from None
        self._deleted.pop((gvk, key), None)

    def _is_shown(
        self, informer: Informer, gvk: GVK, key: Request, expected: str, uid: str
    ) -> bool:
        if _COMPARABLE.fullmatch(expected) and not _reached(
            informer.version_of(key.namespace), expected
        ):
            return False
        found = self._cache.peek(gvk, key) if uid else None
        # An object with finalizers remains, with a deletion timestamp.
        return found is None or found.metadata.uid != uid or bool(found.metadata.deletion_timestamp)

    def _bound(self) -> None:
        for memory in (self._deleted, self._excluded):
            while len(memory) > _MAX_WRITTEN:
                memory.pop(next(iter(memory)))
        if len(self._versions) > self._sweep_above:
            self._forget_shown()

    def _forget_shown(self) -> None:
        """Discard the records that the cache has caught up with: no read needs to wait for them."""
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


def _late(informer: Informer, key: Request, *, is_deletion: bool) -> str:
    what = "deletion" if is_deletion else "write"
    reasons = "; ".join(str(failure) for failure in informer.failures)
    return (
        f"the cache did not show this client's last {what} of `{informer.gvk.kind}` `{key}` "
        f"within {_FRESH_TIMEOUT:g} s" + (reasons and f": {reasons}")
    )


def _reached(seen: str, expected: str) -> bool:
    """Return whether a resource version is at least another: longer is greater, then by text."""
    if not _COMPARABLE.fullmatch(seen):
        return True
    return (len(seen), seen) >= (len(expected), expected)
