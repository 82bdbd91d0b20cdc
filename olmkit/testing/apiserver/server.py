"""A test double of the Kubernetes API on loopback, for tests of controllers.

It stores objects with resource versions, generations and field managers, streams watches from any
version that was not compacted, and supports subresources, finalizers, dry runs and the schemas of
CRDs. Tests can make it slow, reject requests, compact its history and freeze watches. For built-in
kinds it knows the fields and their types, but neither defaults nor rules between fields. It ignores
CEL rules, and runs no controllers except a garbage collector if `collects_garbage` is set: test
what depends on those with a real API server.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from olmkit.kube.api import Resource
from olmkit.kube.objects import Manifest
from olmkit.testing import rbac
from olmkit.testing.apiserver import answers, namespaces, refusals, rules, subresources
from olmkit.testing.apiserver import requests as api_requests
from olmkit.testing.apiserver.admission import Webhook
from olmkit.testing.apiserver.deletions import Deletions
from olmkit.testing.apiserver.kinds import built_in_versions, discovery
from olmkit.testing.apiserver.kinds import collection as api_collection
from olmkit.testing.apiserver.kinds.collection import Collection, Convert, Key
from olmkit.testing.apiserver.reads import Reads
from olmkit.testing.apiserver.refusals import Refusal
from olmkit.testing.apiserver.state import ApiState
from olmkit.testing.apiserver.writes import Writes
from olmkit.testing.faults import Fault
from olmkit.testing.rbac import Access

_REVIEWS = {
    "/apis/authentication.k8s.io/v1/tokenreviews": "TokenReview",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews": "SelfSubjectReview",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": "SubjectAccessReview",
}
_OF_THE_NODE = frozenset({"log", "exec", "attach", "portforward", "proxy"})


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Plan = Callable[[str, str], "Refusal | Fault | float | None"]
"""Decides what happens to a request with this method and this path with query: an error response, a
broken connection, or a response after some seconds.
"""


@dataclass(slots=True)
class ApiServer(ApiState):
    """Serves the given resources. `requests` has the method and path of each request.

    `users`: users by bearer token; with `authenticates`, every request needs a token.
    `denies`: decides which accesses are forbidden. `allows`: decides SubjectAccessReviews.
    `stale_at`: the resource version of lists that may be stale.
    `webhooks`: admission webhooks to call, from `admission.of_configuration`.
    `handlers`: respond to paths without objects, such as `log` and `exec` of a pod.
    `sends_bookmarks`: False simulates an etcd without progress notifications, such as 3.4.
    """

    url: str = ""
    requests: list[tuple[str, str]] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    plan: Plan | None = None
    authenticates: bool = False
    users: dict[str, Mapping[str, Any]] = field(
        default_factory=lambda: {"double": {"username": "admin", "groups": ["system:masters"]}}
    )
    denies: Callable[[Access], bool] = lambda _: False
    allows: Callable[[Mapping[str, Any]], bool] = lambda spec: (
        "system:masters" in (spec.get("groups") or ())
    )
    stale_at: int | None = None
    webhooks: list[Webhook] = field(default_factory=list)
    handlers: dict[str, Handler] = field(default_factory=dict)
    streams_lists: bool = True
    sends_bookmarks: bool = True

    @classmethod
    def of(
        cls,
        resources: Iterable[Resource] = (),
        *,
        crds: Iterable[Manifest] = (),
        convert: Convert | None = None,
    ) -> Self:
        """Create a server for kinds given as resources or as CRDs.

        `convert` converts an object to another version, for CRDs with several versions.
        """
        found = {one.path(): api_collection.built_in(one) for one in resources}
        _share(found)
        server = cls(found)
        for crd in crds:
            server.install(crd, convert=convert)
        for one in found.values():
            if one.storage.convert is None:
                one.storage.convert = convert
        if namespaces.PATH in found:
            for name in namespaces.SYSTEM:
                server.put("namespaces", {"metadata": {"name": name}})
        return server

    def install(self, crd: Manifest, *, convert: Convert | None = None) -> None:
        """Serve the kind of a CRD from now on, or update it if it is already served."""
        collections = list(api_collection.of_crd(crd))
        kept = next(
            (
                old.storage
                for one in collections
                if (old := self.collections.get(one.resource.path())) is not None
            ),
            None,
        )
        for one in collections:
            one.storage = kept or one.storage
            one.storage.convert = convert or one.storage.convert
            self.collections[one.resource.path()] = one

    @asynccontextmanager
    async def serving(self, *, port: int = 0) -> AsyncIterator[Self]:
        """Listen on loopback within the block; enter again with the same port for a restart."""
        application = web.Application(client_max_size=16 << 20)
        application.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port, reuse_address=True)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        try:
            yield self
        finally:
            self.end_watches()
            await runner.cleanup()

    def writes(self) -> list[tuple[str, str]]:
        """Return method and path of each write request, in order."""
        return [request for request in self.requests if request[0] != "GET"]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.method, request.path))
        try:
            await self._suffer(request)
            return await self._route(request, self._user(request))
        except Refusal as refusal:
            headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else None
            return web.json_response(refusal.status, status=refusal.code, headers=headers)

    async def _suffer(self, request: web.Request) -> None:
        fault = self.plan(request.method, request.path_qs) if self.plan is not None else None
        match fault:
            case None:
                return
            case Refusal():
                raise fault
            case Fault.TOO_MANY:
                raise Refusal(
                    429, "TooManyRequests", "too many requests, try again later", retry_after=1
                )
            case Fault.ERROR:
                raise Refusal(500, "InternalError", "a fault made for a test")
            case int() | float():
                await asyncio.sleep(fault)
            case _:
                if request.transport is not None:
                    request.transport.abort()
                raise ConnectionResetError("cut for a test")

    def _user(self, request: web.Request) -> Mapping[str, Any]:
        """Return the user of a request, or the impersonated user if RBAC allows that."""
        token = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        user = self.users.get(token)
        if user is None and self.authenticates:
            raise refusals.unauthorized()
        asking = user or {"username": "system:anonymous", "groups": ["system:unauthenticated"]}
        name = str(asking.get("username"))
        identity = api_requests.identity_of(request)
        for access in api_requests.accesses_of(identity):
            self.accesses.append(access)
            if self.denies(access):
                raise refusals.forbidden_to_impersonate(access, name)
        return identity or asking

    async def _route(self, request: web.Request, user: Mapping[str, Any]) -> web.StreamResponse:
        path = request.path.rstrip("/")
        if path in self.handlers:
            return await self.handlers[path](request)
        if path in _REVIEWS and request.method == "POST":
            _, group, _, resource = path.strip("/").split("/")
            self.accesses.append(Access(verb="create", group=group, resource=resource))
            return await self._review(request, _REVIEWS[path], user)
        known = discovery.answer(path, request, self.collections.values())
        if known is not None:
            return discovery.response(known)
        found = self._find(path)
        if found is None:
            return web.Response(status=404, text="404 page not found\n")
        collection, (namespace, name), subresource = found
        access = rbac.access_of(request.method, path, request.query)
        assert access is not None  # noqa: S101 - a path of a collection
        self.accesses.append(access)
        if self.denies(access):
            user_name = str(user.get("username"))
            raise refusals.forbidden(collection.resource, name, access.verb, user_name, namespace)
        if subresource and subresource not in collection.resource.subresources:
            raise refusals.no_such_path()
        rules.check_place(collection, request.method, namespace, name)
        return await self._respond(request, user, found, access.verb)

    async def _respond(
        self,
        request: web.Request,
        user: Mapping[str, Any],
        found: tuple[Collection, Key, str],
        verb: str,
    ) -> web.StreamResponse:
        collection, key, subresource = found
        namespace, name = key
        username = str(user.get("username"))
        reads = Reads(
            state=self,
            stale_at=self.stale_at,
            streams_lists=self.streams_lists,
            sends_bookmarks=self.sends_bookmarks,
        )
        writes = Writes(state=self, webhooks=self.webhooks, user=username, install=self.install)
        deletions = Deletions(state=self, webhooks=self.webhooks, user=username)
        match request.method, bool(name):
            case "POST", False:
                return await writes.create(request, collection, namespace)
            case "POST", True if subresource == "eviction":
                return await deletions.evict(request, collection, key)
            case "POST", True if subresource == "token":
                return await self._token(request, collection, key)
            case "GET", False if verb == "watch":
                return await reads.watch(request, collection, namespace)
            case "GET", False:
                return reads.list(request, collection, namespace)
            case "DELETE", False:
                return await deletions.delete_all(request, collection, namespace)
            case "GET" | "POST", True if subresource in _OF_THE_NODE:
                rules.present(collection, key)
                return self._of_node(collection, key, subresource)
            case "GET", True:
                present = rules.present(collection, key)
                return answers.answer(request, collection, present, self.now(), subresource)
            case "PUT" | "PATCH", True:
                return await writes.change(request, collection, key, subresource)
            case "DELETE", True:
                return await deletions.delete(request, collection, key)
            case _:
                raise refusals.method_not_allowed()

    def _find(self, path: str) -> tuple[Collection, Key, str] | None:
        parts = path.strip("/").split("/")
        size = 3 if parts[0] == "apis" else 2
        root, rest = parts[:size], parts[size:]
        namespace = ""
        is_of_namespace = parts[0] == "api" and rest[2:] in (["status"], ["finalize"])
        if len(rest) > 2 and rest[0] == "namespaces" and not is_of_namespace:
            namespace, rest = rest[1], rest[2:]
        collection = self.collections.get("/" + "/".join([*root, *rest[:1]]))
        if collection is None or len(rest) > 3:
            return None
        name, subresource = (*rest[1:3], "", "")[:2]
        return collection, (namespace, name), subresource

    async def _review(
        self, request: web.Request, kind: str, asking: Mapping[str, Any]
    ) -> web.Response:
        review = await api_requests.body_of(request)
        spec = review.get("spec") or {}
        if kind == "SelfSubjectReview":
            review["status"] = {"userInfo": dict(asking)}
        elif kind == "TokenReview":
            user = self.users.get(str(spec.get("token") or ""))
            review["status"] = {"authenticated": True, "user": dict(user)} if user else {}
        else:
            review["status"] = {"allowed": bool(self.allows(spec))}
        return web.json_response(review, status=201)

    def _of_node(self, collection: Collection, key: Key, subresource: str) -> web.StreamResponse:
        """Raise the refusal of a subresource that a node would serve."""
        found = collection.objects[key]
        is_pod = collection.resource.plural == "pods"
        if not is_pod or (found.get("spec") or {}).get("nodeName"):
            raise refusals.bad_request(
                f"the double has no nodes: put what `{subresource}` answers into its `handlers`"
            )
        if subresource == "log":
            return web.Response(text="")
        raise refusals.bad_request(f"pod {key[1]} does not have a host assigned")

    async def _token(
        self, request: web.Request, collection: Collection, key: Key
    ) -> web.StreamResponse:
        account = rules.present(collection, key)
        body = await api_requests.body_of(request)
        now = datetime.datetime.fromisoformat(self.now())
        return web.json_response(subresources.token_of(account, body, now), status=201)


def _share(collections: Mapping[str, Collection]) -> None:
    """Let the versions and groups of one built-in kind have the same objects."""
    for plural, convert in built_in_versions.CONVERT.items():
        found = [one for one in collections.values() if one.resource.plural == plural]
        for one in found[1:]:
            one.storage = found[0].storage
        if len(found) > 1:
            found[0].storage.convert = convert
