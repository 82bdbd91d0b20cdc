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
import base64
import datetime
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from olmkit.base.diagnostics import InputError
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK, Manifest
from olmkit.testing import rbac
from olmkit.testing.apiserver import (
    admission,
    answers,
    namespaces,
    ownership,
    refusals,
    rules,
    subresources,
    watch,
)
from olmkit.testing.apiserver import requests as api_requests
from olmkit.testing.apiserver.admission import Webhook, Write
from olmkit.testing.apiserver.kinds import built_in_versions, definitions, discovery
from olmkit.testing.apiserver.kinds import collection as api_collection
from olmkit.testing.apiserver.kinds.collection import Change, Collection, Convert, Key, Selection
from olmkit.testing.apiserver.ownership import Owners
from olmkit.testing.apiserver.refusals import Refusal
from olmkit.testing.apiserver.rules import Manner
from olmkit.testing.apiserver.state import ApiState
from olmkit.testing.faults import Fault
from olmkit.testing.rbac import Access

_LIST_OPTIONS = Resource(
    gvk=GVK(group="meta.k8s.io", version="v1", kind="ListOptions"), plural="listoptions"
)
_REVIEWS = {
    "/apis/authentication.k8s.io/v1/tokenreviews": "TokenReview",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews": "SelfSubjectReview",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": "SubjectAccessReview",
}
_OF_THE_NODE = frozenset({"log", "exec", "attach", "portforward", "proxy"})

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

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

    # The API

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
            who = str(user.get("username"))
            raise refusals.forbidden(collection.resource, name, access.verb, who, namespace)
        if subresource and subresource not in collection.resource.subresources:
            raise refusals.no_such_path()
        rules.check_place(collection, request.method, namespace, name)
        key = (namespace, name)
        match request.method, bool(name):
            case "POST", False:
                return await self._create(request, collection, namespace)
            case "POST", True if subresource == "eviction":
                return await self._evict(request, collection, key)
            case "POST", True if subresource == "token":
                return await self._token(request, collection, key)
            case "GET", False if access.verb == "watch":
                return await self._watch(request, collection, namespace)
            case "GET", False:
                return self._list(request, collection, namespace)
            case "DELETE", False:
                return await self._delete_all(request, collection, namespace)
            case "GET" | "POST", True if subresource in _OF_THE_NODE:
                self._present(collection, key)
                return self._of_node(collection, key, subresource)
            case "GET", True:
                return self._answer(
                    request, collection, self._present(collection, key), subresource
                )
            case "PUT" | "PATCH", True:
                return await self._change(request, collection, key, subresource)
            case "DELETE", True:
                return await self._delete(request, collection, key)
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

    def _present(self, collection: Collection, key: Key) -> Manifest:
        found = collection.objects.get(key)
        if found is None:
            raise refusals.not_found(collection.resource, key[1])
        return found

    def _answer(
        self,
        request: web.Request,
        collection: Collection,
        manifest: Manifest,
        subresource: str = "",
        *,
        status: int = 200,
        manner: Manner | None = None,
    ) -> web.Response:
        shown = self._shown(collection, manifest)
        if subresource == "scale":
            shown = answers.scale_of(collection, shown)
        elif answers.wants_metadata(request):
            shown = answers.partial(shown)
        answer = web.json_response(shown, status=status)
        for words in manner.warnings if manner is not None else ():
            quoted = words.replace("\\", "\\\\").replace('"', '\\"')
            answer.headers.add("Warning", f'299 - "{quoted}"')
        return answer

    def _shown(self, collection: Collection, manifest: Manifest) -> Manifest:
        """Return an object for a response, with its managed fields."""
        shown = collection.shown(manifest)
        owners = collection.storage.owners.get(api_collection.key_of(shown))
        if owners is not None:
            fields = owners.managed_fields(collection.resource.api_version, self.now())
            if fields:
                shown["metadata"]["managedFields"] = fields
        return shown

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

    # Reading

    def _selection(self, request: web.Request, collection: Collection, namespace: str) -> Selection:
        try:
            found = Selection.parse(collection, namespace, request.query)
        except InputError as error:
            raise refusals.bad_request(str(error)) from error
        if isinstance(found, str):
            raise refusals.bad_request(found)
        return found

    def _list(
        self, request: web.Request, collection: Collection, namespace: str
    ) -> web.StreamResponse:
        selection = self._selection(request, collection, namespace)
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
        present = self.stale_at if self.stale_at is not None and asked is not None else self.version
        version, after = present, ("", "")
        metadata: dict[str, Any] = {}
        if token:
            version, after = self._moment(token)
        elif asked is not None and asked > present:
            raise refusals.too_large_version(asked, present)
        elif match == "Exact" and asked is not None:
            if asked < self.forgotten:
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
        shown = [self._shown(collection, one) for one in page]
        return web.json_response(answers.listed(request, collection, shown, metadata))

    def _moment(self, token: str) -> tuple[int, Key]:
        """Return the resource version and the last key in a continue token."""
        try:
            found = json.loads(base64.urlsafe_b64decode(token.encode()))
            version, after = int(found["v"]), (str(found["n"]), str(found["k"]))
        except (ValueError, KeyError, TypeError) as error:
            raise refusals.bad_request("continue key is not valid") from error
        if version == -1:
            return self.version, after
        if version < self.forgotten:
            raise refusals.expired(
                "The provided continue parameter is too old to display a consistent list result.",
                **{"continue": api_requests.token_for(-1, after)},
            )
        return version, after

    async def _watch(
        self, request: web.Request, collection: Collection, namespace: str
    ) -> web.StreamResponse:
        selection = self._selection(request, collection, namespace)
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
        version = self.version
        try:
            if asked and asked < self.forgotten:
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
                request, queue, selection, told, lambda: self.version, bookmarks=marks
            )
        except ConnectionError:
            pass
        finally:
            watchers.remove(queue)
        return response

    # Writing

    async def _create(
        self, request: web.Request, collection: Collection, namespace: str
    ) -> web.StreamResponse:
        manner, dry_run = api_requests.manner_of(request)
        manifest = rules.check_identity(
            collection, await api_requests.body_of(request), (namespace, "")
        )
        metadata = manifest["metadata"]
        if not metadata.get("name") and metadata.get("generateName"):
            word = uuid.uuid5(uuid.NAMESPACE_OID, str(self.version)).hex[:5]
            metadata["name"] = metadata["generateName"] + word
        manifest = rules.created(collection, manifest, manner)
        key = api_collection.key_of(manifest)
        manifest = await self._admitted(request, collection, None, manifest, "", manner, dry_run)
        self._check_namespace(collection, key)
        if key in collection.objects:
            raise refusals.exists(collection.resource, key[1])
        made = self._make(collection, manifest, dry_run=dry_run)
        if not dry_run:
            self._owned(collection, request, {}, made)
        return self._answer(request, collection, made, status=201, manner=manner)

    async def _change(
        self, request: web.Request, collection: Collection, key: Key, subresource: str
    ) -> web.StreamResponse:
        manner, dry_run = api_requests.manner_of(request)
        is_apply = request.method == "PATCH" and "apply-patch" in request.content_type
        wanted = await api_requests.body_of(request)
        if is_apply and not subresource and key not in collection.objects:
            return await self._create_by_apply(request, collection, key, wanted, manner, dry_run)
        old = self._present(collection, key)
        shown, owners = subresource, None
        if subresource == "scale":
            scale = answers.scale_of(collection, collection.shown(old))
            new = answers.scaled(collection, old, api_requests.patched(request, scale, wanted))
            subresource = ""  # the replicas are in the object itself
        elif is_apply:
            new, owners = self._applied(request, collection, key, wanted, old, subresource)
        elif request.method == "PUT":
            new = rules.replacing(collection, wanted, key)
        else:
            given = api_requests.patched(request, collection.shown(old), wanted)
            new = rules.check_identity(collection, given, key)
        new = rules.changed(collection, collection.shown(old), new, subresource, manner)
        new = await self._admitted(request, collection, old, new, subresource, manner, dry_run)
        kept = self._keep(collection, new, old, dry_run=dry_run)
        if collection.resource.path() == _CRDS and not dry_run:
            self.install(kept)
        if not dry_run and key in collection.objects:
            if owners is not None:
                collection.storage.owners[key] = owners
            elif isinstance(wanted, dict) and api_requests.clears_owners(wanted):
                collection.storage.owners.pop(key, None)
            else:
                self._owned(collection, request, old, kept, subresource)
        return self._answer(request, collection, kept, shown, manner=manner)

    async def _admitted(
        self,
        request: web.Request,
        collection: Collection,
        old: Manifest | None,
        new: Manifest,
        subresource: str,
        manner: Manner,
        dry_run: bool,
    ) -> Manifest:
        """Return the object after the admission webhooks."""
        if not self.webhooks:
            return new
        write = Write(
            collection=collection,
            operation="CREATE" if old is None else "UPDATE",
            old=old,
            new=collection.shown(new),
            user=str(self._user(request).get("username")),
            subresource=subresource,
            dry_run=dry_run,
        )
        found = await admission.mutated(self.webhooks, write, manner.warnings)
        if found is not None and found != write.new:
            new = rules.shaped(collection, found, manner)
            rules.check(collection, new, manner)
        await admission.check(self.webhooks, write, collection.shown(new), manner.warnings)
        return new

    def _check_namespace(self, collection: Collection, key: Key) -> None:
        """Raise a `Refusal` if namespaces are served and this one does not exist."""
        known = self.collections.get(namespaces.PATH)
        if known is not None and collection.resource.namespaced:
            namespaces.check(known, collection, *key)

    def _make(self, collection: Collection, manifest: Manifest, *, dry_run: bool) -> Manifest:
        """Store a new object, with the server's changes for its kind."""
        if collection.resource.path() == _CRDS and not dry_run:
            manifest = definitions.established(manifest, self.now())
            self.install(manifest)
        return self._keep(collection, manifest, None, dry_run=dry_run)

    async def _create_by_apply(
        self,
        request: web.Request,
        collection: Collection,
        key: Key,
        wanted: Manifest,
        manner: Manner,
        dry_run: bool,
    ) -> web.StreamResponse:
        manager = api_requests.manager_of(request)
        api_requests.check_unmanaged(wanted)
        wanted = rules.check_identity(collection, wanted, key)
        rules.check_declared(collection, wanted)
        if wanted["metadata"].get("uid"):
            uid = wanted["metadata"]["uid"]
            raise refusals.conflict(
                *(collection.resource, key[1]),
                f"uid mismatch: the provided object specified uid {uid}, "
                "and no existing object was found",
            )
        fields = set(dict(ownership.leaves(wanted, collection.list_keys)))
        manifest = rules.created(collection, wanted, manner)
        manifest = await self._admitted(request, collection, None, manifest, "", manner, dry_run)
        self._check_namespace(collection, key)
        made = self._make(collection, manifest, dry_run=dry_run)
        if not dry_run:
            collection.storage.owners[key] = Owners({(manager, "Apply", ""): fields})
        return self._answer(request, collection, made, status=201, manner=manner)

    def _applied(
        self,
        request: web.Request,
        collection: Collection,
        key: Key,
        wanted: Manifest,
        old: Manifest,
        subresource: str,
    ) -> tuple[Manifest, Owners]:
        manager = api_requests.manager_of(request)
        api_requests.check_unmanaged(wanted)
        wanted = rules.check_identity(collection, wanted, key)
        rules.check_declared(collection, wanted)
        told = {
            name: wanted["metadata"][name]
            for name in ("resourceVersion", "uid")
            if name in wanted["metadata"]
        }
        if subresource:
            wanted = {name: wanted[name] for name in ("metadata", subresource) if name in wanted}
            wanted["metadata"] = {}
        elif "status" in collection.resource.subresources:
            wanted = {name: item for name, item in wanted.items() if name != "status"}
        new, owners, conflicts = ownership.apply(
            collection.shown(old),
            wanted,
            collection.storage.owners.get(key) or Owners(),
            (manager, "Apply", subresource),
            collection.list_keys,
            force=request.query.get("force") == "true",
        )
        if conflicts:
            raise answers.field_conflicts(conflicts, collection.resource.api_version)
        new["metadata"].pop("resourceVersion", None)
        new["metadata"] |= told
        return new, owners

    def _owned(
        self,
        collection: Collection,
        request: web.Request,
        old: Manifest,
        new: Manifest,
        subresource: str = "",
    ) -> None:
        """Return the field owners after a write other than apply."""
        agent = request.headers.get("User-Agent", "").partition("/")[0]
        manager = (request.query.get("fieldManager") or agent, "Update", subresource)
        owners = collection.storage.owners.setdefault(api_collection.key_of(new), Owners())
        owners.wrote(manager, old, new, collection.list_keys)

    async def _delete(
        self, request: web.Request, collection: Collection, key: Key
    ) -> web.StreamResponse:
        options = await api_requests.body_of(request) if request.can_read_body else {}
        _, dry_run = api_requests.manner_of(request)
        dry_run = dry_run or options.get("dryRun") == ["All"]
        old = self._present(collection, key)
        rules.check_preconditions(collection, old, options)
        if self.webhooks:
            write = Write(
                collection=collection,
                operation="DELETE",
                old=old,
                new=None,
                user=str(self._user(request).get("username")),
                dry_run=dry_run,
            )
            await admission.check(self.webhooks, write, None, [])
        if namespaces.is_kind(collection):
            ended = self._keep(collection, namespaces.ended(old, self.now()), old, dry_run=dry_run)
            if self.collects_garbage and not dry_run:
                self._empty(key[1])
            return self._answer(request, collection, ended)
        if collection.resource.path() == _CRDS and not dry_run:
            for path in definitions.paths(old):
                self.collections.pop(path, None)
        policy = options.get("propagationPolicy") or request.query.get("propagationPolicy")
        grace = rules.grace_of(collection, old, options, request.query)
        gone = self._end(collection, key, policy, grace, dry_run=dry_run)
        if gone is not None:
            return self._answer(request, collection, gone)
        details = refusals.details_of(collection.resource, key[1])
        return web.json_response(
            {
                "kind": "Status",
                "apiVersion": "v1",
                "metadata": {},
                "status": "Success",
                "details": details | {"uid": old["metadata"]["uid"]},
            }
        )

    async def _evict(
        self, request: web.Request, collection: Collection, key: Key
    ) -> web.StreamResponse:
        pod = self._present(collection, key)
        body = await api_requests.body_of(request)
        _, dry_run = api_requests.manner_of(request)
        options = body.get("deleteOptions") or {}
        dry_run = dry_run or options.get("dryRun") == ["All"]
        budgets = self.collections.get("/apis/policy/v1/poddisruptionbudgets")
        if budgets is not None:
            budget = subresources.budget_of(pod, budgets.objects.values())
            if budget is not None:
                old = budgets.objects[api_collection.key_of(budget)]
                self._keep(budgets, budget, old, dry_run=dry_run)
        rules.check_preconditions(collection, pod, options)  # after the budget was reduced
        grace = rules.grace_of(collection, pod, options, request.query)
        self._end(collection, key, options.get("propagationPolicy"), grace, dry_run=dry_run)
        answer = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return web.json_response(answer | {"code": 201}, status=201)

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
        account = self._present(collection, key)
        body = await api_requests.body_of(request)
        now = datetime.datetime.fromisoformat(self.now())
        return web.json_response(subresources.token_of(account, body, now), status=201)

    async def _delete_all(
        self, request: web.Request, collection: Collection, namespace: str
    ) -> web.StreamResponse:
        selection = self._selection(request, collection, namespace)
        options = await api_requests.body_of(request) if request.can_read_body else {}
        _, dry_run = api_requests.manner_of(request)
        found = [one for _, one in sorted(collection.objects.items()) if selection.takes(one)]
        for one in found:
            self._end(
                collection,
                api_collection.key_of(one),
                options.get("propagationPolicy"),
                rules.grace_of(collection, one, options, request.query),
                dry_run=dry_run or options.get("dryRun") == ["All"],
            )
        metadata = {"resourceVersion": str(self.version)}
        shown = [collection.shown(one) for one in found]
        return web.json_response(answers.listed(request, collection, shown, metadata))


def _share(collections: Mapping[str, Collection]) -> None:
    """Let the versions and groups of one built-in kind have the same objects."""
    for plural, convert in built_in_versions.CONVERT.items():
        found = [one for one in collections.values() if one.resource.plural == plural]
        for one in found[1:]:
            one.storage = found[0].storage
        if len(found) > 1:
            found[0].storage.convert = convert
