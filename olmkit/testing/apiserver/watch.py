"""One watch of the API server double: its events, its bookmarks and its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from olmkit.kube.objects import Manifest
from olmkit.testing.apiserver import answers
from olmkit.testing.apiserver.kinds.collection import Change, Collection, Selection

_BOOKMARKS = 60.0  # seconds between two
_LAST_BOOKMARK = 2.0  # seconds before a watch ends
# Commands of a test to a watch, in the same queue as the changes.
FREEZE = Change(-1, None, None)
BOOKMARK = Change(-2, None, None)
CUT = Change(-3, None, None)


class Teller:
    """Writes the events of one watch to its response."""

    def __init__(
        self, request: web.Request, collection: Collection, response: web.StreamResponse
    ) -> None:
        self._collection = collection
        self._response = response
        self._metadata_only = answers.wants_metadata(request)

    async def change(self, selection: Selection, change: Change) -> None:
        told = selection.told(change)
        if told is not None:
            await self.object(*told)

    async def object(self, kind: str, manifest: Manifest) -> None:
        shown = self._collection.shown(manifest)
        await self.event(kind, answers.partial(shown) if self._metadata_only else shown)

    async def bookmark(self, version: int, *, ended: bool = False) -> None:
        metadata: dict[str, Any] = {"resourceVersion": str(version)}
        if ended:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        await self.object("BOOKMARK", {"metadata": metadata})

    async def event(self, kind: str, shown: Manifest) -> None:
        line = json.dumps({"type": kind, "object": shown}, separators=(",", ":"))
        await self._response.write(line.encode() + b"\n")


async def follow(
    request: web.Request,
    queue: asyncio.Queue[Change | None],
    selection: Selection,
    told: Teller,
    present: Callable[[], int],
    *,
    bookmarks: bool,
) -> None:
    """Send events until the watch ends; `present` returns the server's resource version."""
    clock = asyncio.get_running_loop().time
    seconds = float(request.query.get("timeoutSeconds") or 1800)
    end = clock() + seconds
    last_mark = end - _LAST_BOOKMARK
    mark = min(clock() + _BOOKMARKS, last_mark) if bookmarks and seconds > _LAST_BOOKMARK else end
    while clock() < end:
        try:
            async with asyncio.timeout_at(min(mark, end)):
                change = await queue.get()
        except TimeoutError:
            if mark < end:
                await told.bookmark(present())
                mark = min(mark + _BOOKMARKS, last_mark) if mark < last_mark else end
            continue
        if change is None:
            return
        if change is FREEZE:
            while await queue.get() is not None:
                pass
            return
        if change is CUT:
            if request.transport is not None:
                request.transport.abort()
            return
        if change is BOOKMARK:
            await told.bookmark(present())
        else:
            await told.change(selection, change)
