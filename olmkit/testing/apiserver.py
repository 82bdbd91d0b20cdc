"""A small Kubernetes API on loopback, for tests of controllers.

It stores objects, counts resource versions and generations, streams watches
and merges applied fields. It knows no schemas, no admission and no field
ownership: what those do is tried against a real API server.
"""

from __future__ import annotations

import asyncio
import copy
import json
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from olmkit.kube.api import Resource
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import Manifest

Key = tuple[str, str]


@dataclass(slots=True)
class Collection:
    """The objects of one resource, and who watches them."""

    resource: Resource
    objects: dict[Key, Manifest] = field(default_factory=dict)
    watchers: list[asyncio.Queue[dict[str, Any] | None]] = field(default_factory=list)


@dataclass(slots=True)
class ApiServer:
    """Serves the given resources. `requests` holds method and path of everything asked."""

    collections: dict[str, Collection]
    url: str = ""
    version: int = 100
    requests: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, resources: Iterable[Resource]) -> Self:
        return cls({resource.path(): Collection(resource) for resource in resources})

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Self]:
        """Listen on a free port of the loopback until left."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        try:
            yield self
        finally:
            self.end_watches()
            await runner.cleanup()

    # The state of the world, for tests

    def get(self, plural: str, name: str, namespace: str = "default") -> Manifest | None:
        found = self._collection(plural).objects.get((namespace, name))
        return copy.deepcopy(found)

    def put(self, plural: str, manifest: Manifest) -> Manifest:
        """Create or change an object as somebody else would."""
        collection = self._collection(plural)
        metadata = manifest.setdefault("metadata", {})
        metadata.setdefault("namespace", "default")
        old = collection.objects.get((metadata["namespace"], metadata["name"]))
        return self._store(collection, copy.deepcopy(manifest), old)

    def remove(self, plural: str, name: str, namespace: str = "default") -> None:
        self._drop(self._collection(plural), (namespace, name))

    def end_watches(self) -> None:
        """Close every watch, as a server that restarts does."""
        for collection in self.collections.values():
            for watcher in collection.watchers:
                watcher.put_nowait(None)

    def writes(self) -> list[tuple[str, str]]:
        return [request for request in self.requests if request[0] != "GET"]

    def _collection(self, plural: str) -> Collection:
        return next(c for c in self.collections.values() if c.resource.plural == plural)

    # The API

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.method, request.path))
        if request.path in ("/api", "/apis"):
            return web.json_response(self._discovery(is_core=request.path == "/api"))
        found = self._find(request.path)
        if found is None:
            return _status(404, "NotFound", "the server could not find the requested resource")
        collection, namespace, name, subresource = found
        if not name:
            if request.method == "POST":
                return await self._create(request, collection, namespace)
            if request.query.get("watch") == "true":
                return await self._watch(request, collection, namespace)
            return self._list(request, collection, namespace)
        key = (namespace, name)
        match request.method:
            case "GET":
                one = collection.objects.get(key)
                return web.json_response(one) if one else _missing(collection, name)
            case "PATCH" | "PUT":
                return await self._change(request, collection, key, subresource)
            case "DELETE":
                if key not in collection.objects:
                    return _missing(collection, name)
                return web.json_response(self._drop(collection, key))
            case _:
                return _status(405, "MethodNotAllowed", "the server does not allow this method")

    def _discovery(self, *, is_core: bool) -> dict[str, Any]:
        groups: dict[str, dict[str, list[Any]]] = {}
        for collection in self.collections.values():
            resource = collection.resource
            if bool(resource.gvk.group) is is_core:
                continue
            entry = {
                "resource": resource.plural,
                "responseKind": {"kind": resource.gvk.kind},
                "scope": "Namespaced" if resource.namespaced else "Cluster",
                "subresources": [{"subresource": name} for name in resource.subresources],
                "verbs": ["get", "list", "watch", "create", "patch", "update", "delete"],
            }
            versions = groups.setdefault(resource.gvk.group, {})
            versions.setdefault(resource.gvk.version, []).append(entry)
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "items": [
                {
                    "metadata": {"name": group},
                    "versions": [{"version": v, "resources": r} for v, r in versions.items()],
                }
                for group, versions in groups.items()
            ],
        }

    def _find(self, path: str) -> tuple[Collection, str, str, str] | None:
        parts = path.strip("/").split("/")
        size = 3 if parts[0] == "apis" else 2
        root, rest = parts[:size], parts[size:]
        namespace = ""
        if len(rest) > 2 and rest[0] == "namespaces":
            namespace, rest = rest[1], rest[2:]
        collection = self.collections.get("/" + "/".join([*root, *rest[:1]]))
        if collection is None:
            return None
        name, subresource = (*rest[1:3], "", "")[:2]
        return collection, namespace, name, subresource

    def _list(
        self, request: web.Request, collection: Collection, namespace: str
    ) -> web.StreamResponse:
        items = [
            one
            for (place, _), one in sorted(collection.objects.items())
            if _is_wanted(request, one) and namespace in ("", place)
        ]
        return web.json_response(
            {
                "kind": f"{collection.resource.gvk.kind}List",
                "apiVersion": collection.resource.api_version,
                "metadata": {"resourceVersion": str(self.version)},
                "items": items,
            }
        )

    async def _watch(
        self, request: web.Request, collection: Collection, namespace: str
    ) -> web.StreamResponse:
        since = int(request.query.get("resourceVersion") or 0)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        collection.watchers.append(queue)
        for one in list(collection.objects.values()):
            if int(one["metadata"]["resourceVersion"]) > since:
                queue.put_nowait({"type": "MODIFIED", "object": one})
        try:
            while (event := await queue.get()) is not None:
                one = event["object"]
                if _is_wanted(request, one) and namespace in ("", one["metadata"]["namespace"]):
                    await response.write(json.dumps(event).encode() + b"\n")
        except ConnectionError:
            pass
        finally:
            collection.watchers.remove(queue)
        return response

    async def _create(
        self, request: web.Request, collection: Collection, namespace: str
    ) -> web.StreamResponse:
        manifest = await request.json()
        manifest.setdefault("metadata", {})["namespace"] = namespace
        if (namespace, manifest["metadata"]["name"]) in collection.objects:
            return _status(409, "AlreadyExists", "the object exists already")
        return web.json_response(self._store(collection, manifest, None), status=201)

    async def _change(
        self, request: web.Request, collection: Collection, key: Key, subresource: str
    ) -> web.StreamResponse:
        old = collection.objects.get(key)
        wanted = await request.json()
        is_apply = "apply-patch" in request.content_type
        if old is None:
            if not is_apply or subresource:
                return _missing(collection, key[1])
            wanted.setdefault("metadata", {})["namespace"] = key[0]
            return web.json_response(self._store(collection, wanted, None), status=201)
        told = (wanted.get("metadata") or {}).get("resourceVersion")
        if told and told != old["metadata"]["resourceVersion"]:
            return _status(409, "Conflict", "the object has been modified")
        new = copy.deepcopy(old)
        if subresource:
            wanted = {subresource: wanted.get(subresource)}
        elif "status" in collection.resource.subresources:
            wanted.pop("status", None)
        if request.method == "PUT":
            new = {**old, **wanted}
        else:
            _merge(new, wanted)
        for kept in ("uid", "creationTimestamp", "generation", "resourceVersion"):
            new["metadata"][kept] = old["metadata"][kept]
        if new == old:
            return web.json_response(old)
        return web.json_response(self._store(collection, new, old))

    def _store(self, collection: Collection, manifest: Manifest, old: Manifest | None) -> Manifest:
        self.version += 1
        metadata = manifest["metadata"]
        resource = collection.resource
        manifest["apiVersion"], manifest["kind"] = resource.api_version, resource.gvk.kind
        before = old["metadata"] if old else {}
        metadata["uid"] = before.get("uid") or str(
            uuid.uuid5(uuid.NAMESPACE_OID, str(self.version))
        )
        metadata.setdefault("creationTimestamp", "2024-01-01T00:00:00Z")
        is_new_wish = old is None or old.get("spec") != manifest.get("spec")
        metadata["generation"] = before.get("generation", 0) + is_new_wish
        metadata["resourceVersion"] = str(self.version)
        collection.objects[(metadata["namespace"], metadata["name"])] = manifest
        self._tell(collection, "MODIFIED" if old else "ADDED", manifest)
        return manifest

    def _drop(self, collection: Collection, key: Key) -> Manifest:
        self.version += 1
        gone = collection.objects.pop(key)
        gone["metadata"]["resourceVersion"] = str(self.version)
        self._tell(collection, "DELETED", gone)
        return gone

    def _tell(self, collection: Collection, kind: str, manifest: Manifest) -> None:
        event = {"type": kind, "object": copy.deepcopy(manifest)}
        for watcher in collection.watchers:
            watcher.put_nowait(event)


def _is_wanted(request: web.Request, manifest: Manifest) -> bool:
    selector = request.query.get("labelSelector", "")
    labels: Mapping[str, str] = manifest["metadata"].get("labels") or {}
    return not selector or LabelSelector.parse(selector).matches(labels)


def _merge(target: dict[str, Any], patch: Mapping[str, Any]) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = copy.deepcopy(value)


def _missing(collection: Collection, name: str) -> web.Response:
    return _status(404, "NotFound", f'{collection.resource} "{name}" not found')


def _status(code: int, reason: str, message: str) -> web.Response:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
    return web.json_response(body, status=code)
