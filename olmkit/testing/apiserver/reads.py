"""Lists and watches of a collection."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK, Manifest
from olmkit.testing.apiserver import answers, refusals, watch
from olmkit.testing.apiserver import requests as api_requests
from olmkit.testing.apiserver.kinds import collection as api_collection
from olmkit.testing.apiserver.kinds.collection import Change, Collection, Key
from olmkit.testing.apiserver.selection import select
from olmkit.testing.apiserver.state import ApiState

_LIST_OPTIONS = Resource(
    gvk=GVK(group="meta.k8s.io", version="v1", kind="ListOptions"), plural="listoptions"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """Responds to lists and watches.

    `stale_at`: the resource version of lists that may be stale.
    """

    state: ApiState
    stale_at: int | None
    streams_lists: bool
    sends_bookmarks: bool

    def list(
        self, request: web.Request, collection: Collection, namespace: str
    ) -> web.StreamResponse:
        selection = select(request, collection, namespace)
        asked = api_requests.version_of(request)
        limit = api_requests.limit_of(request)
        token = request.query.get("continue", "")
        match = request.query.get("resourceVersionMatch", "")
        if match and asked is None and not token:
            cause = refusals.FieldCause(
                *("resourceVersionMatch", "FieldValueForbidden"),
                "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
            )
            raise refusals.invalid(_LIST_OPTIONS, "", [cause])
        present = (
            self.stale_at if self.stale_at is not None and asked is not None else self.state.version
        )
        version, after = present, ("", "")
        metadata: dict[str, Any] = {}
        if token:
            version, after = self._moment(token)
        elif asked is not None and asked > present:
            raise refusals.too_large_version(asked, present)
        elif match == "Exact" and asked is not None:
            if asked < self.state.forgotten:
                raise refusals.expired("The resourceVersion for the provided list is too old.")
            version = asked
        objects = sorted(collection.storage.at(version).items())
        wanted = [one for key, one in objects if key > after and selection.takes(one)]
        page = wanted[:limit] if limit else wanted
        if len(page) < len(wanted):
            metadata["continue"] = api_requests.token_for(version, api_collection.key_of(page[-1]))
            if selection.is_all:
                metadata["remainingItemCount"] = len(wanted) - len(page)
        metadata = {"resourceVersion": str(version)} | metadata
        shown = [answers.shown(collection, one, self.state.now()) for one in page]
        return web.json_response(answers.listed(request, collection, shown, metadata))

    def _moment(self, token: str) -> tuple[int, Key]:
        """Return the resource version and the last key in a continue token."""
        try:
            found = json.loads(base64.urlsafe_b64decode(token.encode()))
            version, after = int(found["v"]), (str(found["n"]), str(found["k"]))
        except (ValueError, KeyError, TypeError) as error:
            raise refusals.bad_request("continue key is not valid") from error
        if version == -1:
            return self.state.version, after
        if version < self.state.forgotten:
            raise refusals.expired(
                "The provided continue parameter is too old to display a consistent list result.",
                **{"continue": api_requests.token_for(-1, after)},
            )
        return version, after

    async def watch(
        self, request: web.Request, collection: Collection, namespace: str
    ) -> web.StreamResponse:
        selection = select(request, collection, namespace)
        asked = api_requests.version_of(request)
        begins = self.streams_lists and request.query.get("sendInitialEvents") == "true"
        if begins and request.query.get("resourceVersionMatch") != "NotOlderThan":
            cause = refusals.FieldCause(
                *("resourceVersionMatch", "FieldValueForbidden"),
                "Forbidden: sendInitialEvents needs resourceVersionMatch to be NotOlderThan",
            )
            raise refusals.invalid(collection.resource, "", [cause])
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        told = watch.Teller(request, collection, response)
        queue: asyncio.Queue[Change | None] = asyncio.Queue()
        watchers = collection.storage.watchers
        watchers.append(queue)  # before the first await, so that no event is missed
        if asked and not begins:
            replayed = [one for one in collection.storage.changes if one.version > asked]
            initial: list[Manifest] = []
        else:
            replayed = []
            initial = [one for _, one in sorted(collection.objects.items()) if selection.takes(one)]
        version = self.state.version
        try:
            if asked and asked < self.state.forgotten:
                refusal = refusals.expired(f"too old resource version: {asked}")
                await told.event("ERROR", refusal.status)
                return response
            for one in initial:
                await told.object("ADDED", one)
            if begins:
                await told.bookmark(version, ended=True)
            for change in replayed:
                await told.change(selection, change)
            marks = self.sends_bookmarks and request.query.get("allowWatchBookmarks") == "true"
            await watch.follow(
                request, queue, selection, told, lambda: self.state.version, bookmarks=marks
            )
        except ConnectionError:
            pass
        finally:
            watchers.remove(queue)
        return response
