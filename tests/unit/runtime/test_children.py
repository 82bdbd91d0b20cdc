"""Declared children: applied if they differ, removed if they are no longer declared."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Conflict, Forbidden, Resource
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.children import Change, Children, NameTaken
from olmkit.runtime.client import Client
from olmkit.runtime.events import EventRecorder
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.work.reconcile import Request
from olmkit.testing.apiserver.server import ApiServer

MAP = GVK("", "v1", "ConfigMap")
SECRET = GVK("", "v1", "Secret")
DEPLOYMENT = GVK("apps", "v1", "Deployment")
SITE = GVK("web.example.com", "v1", "Site")
ROLE = GVK("rbac.authorization.k8s.io", "v1", "ClusterRole")
RESOURCES = [
    Resource(gvk=MAP, plural="configmaps"),
    Resource(gvk=SECRET, plural="secrets"),
    Resource(gvk=DEPLOYMENT, plural="deployments", subresources=frozenset({"status"})),
    Resource(gvk=SITE, plural="sites"),
    Resource(gvk=ROLE, plural="clusterroles", namespaced=False),
]

Work = Callable[[ApiServer, Client, Manifest], Awaitable[None]]


def run_scenario(work: Work, *, cached: bool = True) -> ApiServer:
    """Run `work` with a client and the object that owns the children."""
    server = ApiServer.of(RESOURCES)

    async def steps() -> None:
        async with (
            asyncio.timeout(30),
            server.serving(),
            HttpCluster(ClusterConfig(server=server.url)) as cluster,
        ):
            server.put("sites", {"metadata": {"name": "s", "namespace": "n"}})
            cache = Cache(cluster)
            client = Client(cluster, cache if cached else None, field_manager="me")
            running: asyncio.Task[None] | None = None

            async def start() -> None:
                nonlocal running
                running = asyncio.create_task(cache.run())
                await asyncio.sleep(0)

            server_owner = await client.direct.require(SITE, Request("s", "n"))
            try:
                client_with_start: Any = client
                client_with_start.start = start
                await work(server, client, server_owner)
            finally:
                if running is not None:
                    running.cancel()
                    await asyncio.wait([running])

    asyncio.run(steps())
    return server


async def started(client: Client, **options: Any) -> Children:
    made = Children(client, **options)
    found: Any = client
    await found.start()
    return made


def page(**data: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page"}, "data": data}


def web(**security: Any) -> Manifest:
    container = {"name": "web", "image": "i", "securityContext": {"runAsNonRoot": True} | security}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "n"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def found(server: ApiServer, plural: str, name: str) -> Any:
    one = server.get(plural, name, "n")
    assert one is not None
    return one


def test_missing_children_are_created_and_nothing_is_sent_without_differences() -> None:
    async def work(server: ApiServer, client: Client, owner: Manifest) -> None:
        children = await started(client)
        family = await children.apply(owner, [page(a="b"), web()])
        assert [one.change for one in family.children] == [Change.CREATED, Change.CREATED]
        made = found(server, "configmaps", "page")
        assert made["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
        await asyncio.sleep(0.05)
        await children.apply(owner, [page(a="b"), web()])
        asked = len(server.requests)
        family = await children.apply(owner, [web(), page(a="b")])
        assert [one.change for one in family.children] == [Change.UNCHANGED, Change.UNCHANGED]
        assert family.of(MAP, "page").manifest["data"] == {"a": "b"}
        assert len(server.requests) == asked, "not even read"
        family.check()

    run_scenario(work)


def test_a_field_that_is_no_longer_declared_is_removed() -> None:
    async def work(server: ApiServer, client: Client, owner: Manifest) -> None:
        children = await started(client)
        await children.apply(owner, [web(runAsUser=1001)])
        deployment = found(server, "deployments", "web")
        deployment["spec"]["replicas"] = 4  # another manager
        server.put("deployments", deployment)
        family = await children.apply(owner, [web()])
        assert family.of(DEPLOYMENT).change == Change.UPDATED
        spec = found(server, "deployments", "web")["spec"]
        [container] = spec["template"]["spec"]["containers"]
        assert container["securityContext"] == {"runAsNonRoot": True}
        assert spec["replicas"] == 4

    run_scenario(work)


def test_changes_of_another_manager_are_reported_and_reverted() -> None:
    async def work(server: ApiServer, client: Client, owner: Manifest) -> None:
        other = Client(client.cluster, None, field_manager="kubectl")
        children = await started(client)
        strict = Children(client, force=False)
        await children.apply(owner, [page(a="b")])
        old = await other.require(MAP, Request("page", "n"))
        await other.patch(old, {**old, "data": {"a": "theirs", "c": "theirs"}})
        await asyncio.sleep(0.05)
        child = (await strict.apply(owner, [page(a="b")])).of(MAP)
        assert isinstance(child.error, Conflict)
        assert [one.field for one in child.conflicts] == [".data.a"]
        with pytest.raises(Conflict):
            (await strict.apply(owner, [page(a="b")])).check()
        child = (await children.apply(owner, [page(a="b")])).of(MAP)
        assert (child.change, child.error) == (Change.UPDATED, None)
        assert [one.field for one in child.conflicts] == [".data.a"]
        assert found(server, "configmaps", "page")["data"] == {"a": "b", "c": "theirs"}

    run_scenario(work)


@pytest.mark.parametrize("cached", [True, False])
def test_a_child_that_is_no_longer_declared_is_removed(cached: bool) -> None:
    async def work(server: ApiServer, client: Client, owner: Manifest) -> None:
        children = await started(client, removes=[MAP])
        reference = {
            **{key: owner[key] for key in ("apiVersion", "kind")},
            **{key: owner["metadata"][key] for key in ("name", "uid")},
            "controller": True,
        }
        byhand = {"name": "by-hand", "namespace": "n", "ownerReferences": [reference]}
        server.put("configmaps", {"metadata": byhand})
        server.put("configmaps", {"metadata": {"name": "alien", "namespace": "n"}})
        second = page() | {"metadata": {"name": "second"}}
        await children.apply(owner, [page(), second, web()])
        await asyncio.sleep(0.05)
        family = await children.apply(owner, [page()])
        assert [(one.key.name, one.change) for one in family.children] == [
            ("page", Change.UNCHANGED),
            ("second", Change.REMOVED),
        ]
        left = {one["metadata"]["name"] for one in server.all("configmaps")}
        assert left == {"page", "by-hand", "alien"}
        assert server.get("deployments", "web", "n"), "children of its kind are not removed"

    run_scenario(work, cached=cached)


def test_an_object_of_another_owner_is_kept_and_the_other_children_are_applied() -> None:
    told: list[str] = []

    class Recorder(EventRecorder):
        def event(self, *args: Any, **_: Any) -> None:
            told.append(args[4])

    async def work(server: ApiServer, client: Client, owner: Manifest) -> None:
        children = await started(client, recorder=Recorder(client.cluster, "c"), removes=[MAP])
        server.put("deployments", {"metadata": {"name": "web", "namespace": "n"}, "spec": {"x": 1}})
        family = await children.apply(owner, [web(), page()])
        assert isinstance(family.of(DEPLOYMENT).error, NameTaken)
        assert family.of(MAP).change == Change.CREATED
        assert found(server, "deployments", "web")["spec"] == {"x": 1}
        with pytest.raises(NameTaken, match="a Deployment named web belongs to another owner"):
            family.check()
        with pytest.raises(KeyError, match="no `Secret`"):
            family.of(SECRET)

    run_scenario(work)
    assert told == [
        "a Deployment named web belongs to another owner",
        "created ConfigMap page",
    ]


def test_refusals_are_collected_and_nothing_is_removed_then() -> None:
    async def work(server: ApiServer, client: Client, owner: Manifest) -> None:
        children = await started(client, removes=[MAP])
        await children.apply(owner, [page()])
        server.denies = lambda access: access.verb in ("patch", "create")
        second = page() | {"metadata": {"name": "second"}}
        family = await children.apply(owner, [second, web()])
        assert [type(one.error) for one in family.children] == [Forbidden, Forbidden]
        with pytest.raises(ExceptionGroup, match="some children are not as they should be"):
            family.check()
        assert found(server, "configmaps", "page")

    run_scenario(work)


def test_values_that_the_server_writes_differently_are_applied_once() -> None:
    """Real servers remove empty values, and encode strings of Secrets."""

    async def work(server: ApiServer, client: Client, owner: Manifest) -> None:
        children = await started(client)
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "key"},
            "stringData": {"a": "b"},
        }
        await children.apply(owner, [secret, page()])
        # The answer of a real server.
        family = await children.apply(owner, [secret, page()])
        assert [one.change for one in family.children] == [Change.UNCHANGED, Change.UNCHANGED]
        assert found(server, "secrets", "key")["data"] == {"a": "Yg=="}
        changed = found(server, "secrets", "key")
        changed["data"] = {"a": "eA=="}
        server.put("secrets", changed)
        await asyncio.sleep(0.05)
        family = await children.apply(owner, [secret])
        assert family.of(SECRET).change == Change.UPDATED
        assert found(server, "secrets", "key")["data"] == {"a": "Yg=="}

    run_scenario(work)


def test_a_namespaced_owner_has_no_cluster_scoped_children() -> None:
    async def work(_: ApiServer, client: Client, owner: Manifest) -> None:
        children = await started(client)
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
        with pytest.raises(ValueError, match="cannot own the cluster-scoped ClusterRole"):
            await children.apply(owner, [role | {"metadata": {"name": "r"}}])

    run_scenario(work)


def test_errors_in_a_declaration_are_named() -> None:
    async def work(_: ApiServer, client: Client, owner: Manifest) -> None:
        one: Any = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        with pytest.raises(TypeError, match="a list of objects, not one"):
            await Children(client).apply(owner, one)
        with pytest.raises(ValueError, match="the manifest of `a` has no `kind`"):
            await Children(client).apply(owner, [{"apiVersion": "v1", "metadata": {"name": "a"}}])

    run_scenario(work)
