"""The same behavior on two servers: the double, and with `--e2e` a real kube-apiserver.

Tests here are coroutines that get a `World`. Each has its own namespace, and
can only inspect what HTTP shows.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from olmkit.base import documents
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.testing.apiserver.kinds.built_in_kinds import BUILT_IN
from olmkit.testing.apiserver.server import ApiServer, Handler
from olmkit.testing.control_plane import ControlPlane, Programs

CRDS = [
    one.value for one in documents.load_all(Path(__file__).with_name("kinds.yaml").read_bytes(), "")
]
_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response over HTTP."""

    status: int
    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server of either kind. `compact` discards old revisions."""

    config: ClusterConfig
    token: str
    compact: Callable[[], None]
    is_double: bool
    handlers: dict[str, Handler] = field(default_factory=dict)


@dataclass(kw_only=True)
class World:
    """The objects of a test: a server, a namespace, and two ways to send requests."""

    server: Server
    namespace: str
    cluster: HttpCluster
    session: aiohttp.ClientSession

    @property
    def is_double(self) -> bool:
        return self.server.is_double

    def path(self, plural: str, name: str = "", subresource: str = "") -> str:
        """Return the URL path of a collection, by plural."""
        root = {
            "configmaps": "/api/v1",
            "services": "/api/v1",
            "deployments": "/apis/apps/v1",
            "leases": "/apis/coordination.k8s.io/v1",
            "events": "/apis/events.k8s.io/v1",
            "pods": "/api/v1",
            "serviceaccounts": "/api/v1",
            "nodes": "/api/v1",
            "poddisruptionbudgets": "/apis/policy/v1",
        }.get(plural, "/apis/tests.example.com/v1")
        place = "" if plural in ("gadgets", "nodes") else f"namespaces/{self.namespace}"
        return "/".join(part for part in (root, place, plural, name, subresource) if part)

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        kind: str = "application/json",
        accept: str = "application/json",
        **params: str,
    ) -> Answer:
        """Send one request; `kind` is the content type of the body.

        A real server answers 429 while it fills its cache of a new kind; the request is repeated.
        """
        for _ in range(300):
            answer = await self._ask(method, path, body, kind, accept, params)
            if answer.status != 429 or "(re)initializing" not in str(answer.body):
                break
            await asyncio.sleep(0.2)
        return answer

    async def _ask(
        self,
        method: str,
        path: str,
        body: Any,
        kind: str,
        accept: str,
        params: Mapping[str, str],
    ) -> Answer:
        headers = {"Accept": accept, "Authorization": f"Bearer {self.server.token}"}
        data = None
        if body is not None:
            headers["Content-Type"] = kind
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
        context = self.server.config.ssl_context()
        async with self.session.request(
            method,
            self.server.config.server + path,
            params=params,
            data=data,
            headers=headers,
            ssl=True if context is None else context,
        ) as answer:
            text = await answer.text()
            body = json.loads(text) if "json" in answer.content_type else text
            return Answer(answer.status, body, answer.headers)

    async def make(self, plural: str, name: str, **fields: Any) -> dict[str, Any]:
        """Create an object that is valid; `metadata` adds to name and namespace."""
        answer = await self.ask("POST", self.path(plural), self.manifest(plural, name, **fields))
        assert answer.status == 201, answer.body
        made: dict[str, Any] = answer.body
        return made

    def manifest(self, plural: str, name: str, **fields: Any) -> dict[str, Any]:
        """Return an object as a user would write it."""
        api_version, kind = {
            "configmaps": ("v1", "ConfigMap"),
            "services": ("v1", "Service"),
            "deployments": ("apps/v1", "Deployment"),
            "leases": ("coordination.k8s.io/v1", "Lease"),
            "events": ("events.k8s.io/v1", "Event"),
            "pods": ("v1", "Pod"),
            "serviceaccounts": ("v1", "ServiceAccount"),
            "nodes": ("v1", "Node"),
            "poddisruptionbudgets": ("policy/v1", "PodDisruptionBudget"),
            "widgets": ("tests.example.com/v1", "Widget"),
            "gadgets": ("tests.example.com/v1", "Gadget"),
        }[plural]
        metadata = {"name": name} | fields.pop("metadata", {})
        if plural == "widgets":
            fields.setdefault("spec", {"colour": "green"})
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | fields

    async def until_established(self, definition: str) -> None:
        """Wait until a new kind is served, which a real server reports a moment too early."""
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{definition}"
        while True:
            found = (await self.ask("GET", path)).body.get("status") or {}
            listed = found.get("conditions") or ()
            if any(c["type"] == "Established" and c["status"] == "True" for c in listed):
                break
            await asyncio.sleep(0.1)
        if not self.is_double:
            await asyncio.sleep(3)

    async def read(self, plural: str, name: str) -> dict[str, Any]:
        answer = await self.ask("GET", self.path(plural, name))
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.body
        return found

    async def patch(
        self, plural: str, name: str, patch: Any, kind: str = "merge", sub: str = "", **params: str
    ) -> Answer:
        """Send a patch of one of the four types: merge, json, strategic, apply."""
        media = "apply-patch+yaml" if kind == "apply" else f"{kind}-patch+json"
        if kind == "strategic":
            media = "strategic-merge-patch+json"
        return await self.ask(
            "PATCH", self.path(plural, name, sub), patch, kind=f"application/{media}", **params
        )

    async def apply(
        self,
        manager: str,
        plural: str,
        name: str,
        sub: str = "",
        force: bool = False,
        **fields: Any,
    ) -> Answer:
        """Apply with a field manager."""
        body = self.manifest(plural, name)
        body.pop("spec", None)
        body["metadata"] |= fields.pop("metadata", {})
        params = {"fieldManager": manager} | ({"force": "true"} if force else {})
        return await self.patch(plural, name, body | fields, "apply", sub, **params)

    async def events(self, plural: str, *, seconds: int = 1, **params: str) -> list[dict[str, Any]]:
        """Return all lines of a watch for `seconds`, without bookmarks unless requested.

        A real server answers 429 while it fills its cache of a new kind; the request is repeated.
        """
        for _ in range(100):
            found = await self._events(plural, seconds, params)
            if not found or found[0]["type"] != "HTTP 429":
                break
            await asyncio.sleep(0.1)
        return found

    async def _events(
        self, plural: str, seconds: int, params: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        context = self.server.config.ssl_context()
        asked = {"watch": "true", "timeoutSeconds": str(seconds)} | dict(params)
        async with self.session.get(
            self.server.config.server + self.path(plural),
            params=asked,
            headers={"Authorization": f"Bearer {self.server.token}"},
            ssl=True if context is None else context,
        ) as answer:
            if answer.status != 200:
                return [
                    {"type": f"HTTP {answer.status}", "object": json.loads(await answer.text())}
                ]
            return [json.loads(line) for line in (await answer.text()).splitlines()]


@pytest.fixture(scope="session")
def double() -> Iterator[Server]:
    """Serve the double in a thread with its own loop."""
    server = ApiServer.of(BUILT_IN, crds=CRDS)
    loop = asyncio.new_event_loop()
    started, stop = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with server.serving():
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(10)
    yield Server(
        config=ClusterConfig(server=server.url),
        token="double",
        compact=server.compact,
        is_double=True,
        handlers=server.handlers,
    )
    loop.call_soon_threadsafe(stop.set)
    thread.join(60)
    loop.close()


@pytest.fixture(scope="session")
def real(
    tmp_path_factory: pytest.TempPathFactory, control_plane_programs: Programs
) -> Iterator[Server]:
    """A kube-apiserver with the same kinds."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("conformance")
        plane = stack.enter_context(ControlPlane(folder=folder, programs=control_plane_programs))
        config = kubeconfig.load(paths=[plane.kubeconfig])
        asyncio.run(_install(config))

        def compact() -> None:
            """Discard the history of etcd and the server's cache."""
            plane.compact()
            plane.stop_server(hard=True)
            plane.start_server()

        yield Server(config=config, token=plane.token, compact=compact, is_double=False)


async def _install(config: ClusterConfig) -> None:
    async with HttpCluster(config) as cluster:
        crds = await cluster.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        for manifest in CRDS:
            await cluster.create(crds, manifest)
        async with asyncio.timeout(60):
            for manifest in CRDS:
                name = manifest["metadata"]["name"]
                while True:
                    found = await cluster.get(crds, name)
                    listed = (found.get("status") or {}).get("conditions") or []
                    if any(c["type"] == "Established" and c["status"] == "True" for c in listed):
                        break
                    await asyncio.sleep(0.1)
    await asyncio.sleep(1)  # until its handlers exist, which no condition shows


@pytest.fixture(params=["double", pytest.param("real", marks=pytest.mark.e2e)])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def world(server: Server) -> Server:
    """Provide what `pytest_pyfunc_call` needs to create a `World` inside the loop."""
    return server


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test in a new loop, with a fresh namespace on its server."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {
        name: pyfuncitem.funcargs[name]
        for name in inspect.signature(pyfuncitem.obj).parameters
        if name != "world"
    }
    server: Server = pyfuncitem.funcargs["world"]

    async def run() -> None:
        namespace = f"ns-{next(_NUMBERS)}"
        async with (
            asyncio.timeout(60),
            HttpCluster(server.config) as cluster,
            aiohttp.ClientSession() as session,
        ):
            world = World(server=server, namespace=namespace, cluster=cluster, session=session)
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            answer = await world.ask("POST", "/api/v1/namespaces", body)
            assert answer.status == 201, answer.body
            await pyfuncitem.obj(world, **arguments)

    asyncio.run(run())
    return True
