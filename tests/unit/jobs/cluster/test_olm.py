"""OLM's own manifests, and the status of OLM in a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from olmkit.base.diagnostics import InputError, RemoteError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import olm
from olmkit.jobs.cluster.wait import Timeouts
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.testing.apiserver.server import ApiServer

OPERATORS = "operators.coreos.com"
QUICK = Timeouts(seconds=5, interval=0.02, believed=0.1)

MANIFESTS = """apiVersion: v1
kind: List
items:
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: olm-operator, namespace: olm},
   spec: {selector: {matchLabels: {app: x}},
          template: {spec: {containers: [{name: olm-operator, image: "olm:1"}]}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: olm}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: packageserver, namespace: olm}
spec: {}
"""


def resource(group: str, version: str, kind: str, plural: str, *, spaced: bool = True) -> Resource:
    gvk = GVK(group=group, version=version, kind=kind)
    return Resource(gvk=gvk, plural=plural, namespaced=spaced, subresources=frozenset({"status"}))


BARE = (
    resource("", "v1", "Namespace", "namespaces", spaced=False),
    resource("apps", "v1", "Deployment", "deployments"),
)
OLM = (
    resource(OPERATORS, "v1alpha1", "Subscription", "subscriptions"),
    resource(OPERATORS, "v1alpha1", "ClusterServiceVersion", "clusterserviceversions"),
)

Scenario = Callable[[ClusterObjects, ApiServer], Awaitable[None]]


def run(scenario: Scenario, *kinds: Resource) -> None:
    async def whole() -> None:
        server = ApiServer.of(kinds)

        async def controllers() -> None:
            while True:
                _look(server, kinds)
                await asyncio.sleep(0.01)

        async with asyncio.timeout(30), server.serving():
            working = asyncio.ensure_future(controllers())
            try:
                async with HttpCluster(ClusterConfig(server=server.url)) as http:
                    await scenario(ClusterObjects(http), server)
            finally:
                working.cancel()

    asyncio.run(whole())


def _look(server: ApiServer, kinds: tuple[Resource, ...]) -> None:
    available: dict[str, Any] = {"conditions": [{"type": "Available", "status": "True"}]}
    for one in server.all("deployments"):
        status = available | {"observedGeneration": one["metadata"].get("generation", 1)}
        if one.get("status") != status:
            server.put("deployments", one | {"status": status})
    if len(kinds) > len(BARE):
        for one in server.all("clusterserviceversions"):
            if not one.get("status"):
                server.put("clusterserviceversions", one | {"status": {"phase": "Succeeded"}})


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "olm.yaml"
    path.write_text(MANIFESTS)
    return str(path)


@asynccontextmanager
async def shelf(files: Mapping[str, str]) -> AsyncIterator[str]:
    """Return the URL of a server that has these files, and answers 404 for others."""

    async def answer(request: web.Request) -> web.Response:
        text = files.get(request.path)
        return web.Response(status=404) if text is None else web.Response(text=text)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def test_without_manifests_those_of_a_release_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    kind, _, rest = MANIFESTS.partition("---\n")
    files = {"/v0.46.0/crds.yaml": rest, "/v0.46.0/olm.yaml": kind}

    async def scenario() -> None:
        async with shelf(files) as address:
            monkeypatch.setattr(olm, "_ADDRESS", f"{address}/{{}}/{{}}")
            found = await olm.manifests([], olm.RELEASE, Access())
            with pytest.raises(RemoteError, match=r"v9/crds\.yaml` cannot be downloaded") as raised:
                await olm.manifests([], "v9", Access())

        assert [one["kind"] for one in found] == [
            "Namespace",
            "Deployment",
            "ClusterServiceVersion",
        ]
        assert "--manifests" in raised.value.hint

    asyncio.run(scenario())


def test_manifests_are_read_from_files_and_urls_and_sorted(file: str) -> None:
    async def scenario() -> None:
        async with shelf({"/olm.yaml": MANIFESTS}) as address:
            local = await olm.manifests([file], "", Access())
            remote = await olm.manifests([f"{address}/olm.yaml"], "", Access())
            with pytest.raises(RemoteError, match="answered 404"):
                await olm.manifests([f"{address}/other.yaml"], "", Access())

        assert remote == local
        assert [one["kind"] for one in local] == [
            "Namespace",
            "Deployment",
            "ClusterServiceVersion",
        ]

    asyncio.run(scenario())


def test_without_a_network_the_hint_names_files() -> None:
    with pytest.raises(RemoteError) as raised:
        asyncio.run(olm.manifests(["http://127.0.0.1:1/olm.yaml"], "", Access()))
    assert raised.value.hint.endswith("; or pass files or other URLs with `--manifests`")


def test_a_file_without_objects_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("# nothing\n")

    with pytest.raises(InputError, match="no objects"):
        asyncio.run(olm.manifests([str(tmp_path / "empty.yaml")], "", Access()))


def test_a_cluster_without_olm_is_reported() -> None:
    async def scenario(reader: ClusterObjects, _: ApiServer) -> None:
        found = await olm.status(reader)

        assert (found.generations, found.parts, found.is_ready) == ((), (), False)

    run(scenario, *BARE)


def test_the_state_of_olm_counts_what_the_user_may_list() -> None:
    group = "olm.operatorframework.io"
    v1 = [
        resource(group, "v1", kind, f"{kind.lower()}s", spaced=False)
        for kind in ("ClusterExtension", "ClusterCatalog")
    ]

    async def scenario(reader: ClusterObjects, server: ApiServer) -> None:
        server.put("clustercatalogs", {
            "apiVersion": f"{group}/v1", "kind": "ClusterCatalog", "metadata": {"name": "shelf"},
        })  # fmt: skip
        server.put("deployments", {
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "catalogd-controller-manager", "namespace": "olmv1-system"},
        })  # fmt: skip
        found = await olm.status(reader)
        assert (found.generations, found.subscriptions) == (("v0", "v1"), 0)
        assert (found.extensions, found.catalogs) == (0, 1)
        server.denies = lambda access: access.resource == "subscriptions"
        found = await olm.status(reader)
        assert [part.generation for part in found.parts] == ["v1"]
        assert (found.subscriptions, found.catalogs) == (None, 1)

    run(scenario, *BARE, *OLM, *v1)


def test_olm_is_installed_inspected_and_removed(file: str) -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer) -> None:
        server.collects_garbage = True
        wanted = await olm.manifests([file], "", Access())
        done = await olm.install(reader, wanted, report=[].append, timeouts=QUICK)

        assert done.is_ready
        found = await olm.status(reader)
        assert found.is_ready
        assert [(part.name, part.image) for part in found.parts] == [("olm-operator", "olm:1")]

        server.put("subscriptions", {
            "apiVersion": f"{OPERATORS}/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "cache", "namespace": "apps"}, "spec": {"name": "cache"},
        })  # fmt: skip
        with pytest.raises(InputError, match="`apps/cache`"):
            await olm.removal(reader, wanted)
        server.remove("subscriptions", "cache", "apps")

        made = await olm.removal(reader, wanted)
        gone = await olm.uninstall(reader, made, report=[].append, timeouts=QUICK)
        assert [one["kind"] for one in gone.gone] == [
            "ClusterServiceVersion",
            "Deployment",
            "Namespace",
        ]

    run(scenario, *BARE, *OLM)
