"""The client of reconcilers that block, which runs in their threads."""

from __future__ import annotations

import asyncio

import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import NotFound, Resource
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Written
from olmkit.runtime.manager import Manager
from olmkit.runtime.work.blocking import BlockingClient
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.object_reconciler import ObjectReconciler
from olmkit.runtime.work.reconcile import Request, Result
from olmkit.testing.apiserver.server import ApiServer

MAP = GVK(group="", version="v1", kind="ConfigMap")
SECRET = GVK(group="", version="v1", kind="Secret")
RESOURCES = [Resource(gvk=MAP, plural="configmaps"), Resource(gvk=SECRET, plural="secrets")]


class _Copier:
    """Keeps a Secret for each ConfigMap, by plain functions."""

    def __init__(self, client: BlockingClient) -> None:
        self._client = client

    def reconcile(self, request: Request) -> Result:
        found = self._client.get(MAP, request)
        if found is None:
            self._client.delete(SECRET, request)
            return Result()
        metadata = {"name": request.name, "namespace": request.namespace}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        self._client.apply(secret | {"stringData": found.get("data") or {}})
        return Result()


async def _until(holds: object) -> None:
    assert callable(holds)
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - what changes is on the server
            await asyncio.sleep(0.01)


def test_operator_of_plain_functions_follows_the_cluster() -> None:
    server = ApiServer.of(RESOURCES)

    async def story() -> None:
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
            manager = Manager(cluster, name="tests", max_concurrent_reconciles=3)
            reconciler = _Copier(BlockingClient(manager.client))
            manager.add_controller(ControllerBuilder().watches_for(MAP).build(reconciler))
            running = asyncio.create_task(manager.run())
            for number in range(10):
                data = {"x": str(number)}
                server.put("configmaps", {"metadata": {"name": f"m{number}"}, "data": data})
            await _until(lambda: len(server.all("secrets")) == 10)
            server.remove("configmaps", "m3")
            await _until(lambda: server.get("secrets", "m3") is None)
            manager.stop()
            await running

    asyncio.run(story())
    assert {one["stringData"]["x"] for one in server.all("secrets")} == set("012456789")


def test_every_method_returns_when_it_is_done() -> None:
    server = ApiServer.of(RESOURCES)
    base = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}}

    def mutate(manifest: Manifest) -> None:
        manifest["data"] = {"x": "2"}

    def work(client: BlockingClient) -> None:
        made = client.create(base)
        assert client.require(MAP, Request("a", "n"))["metadata"]["uid"] == made["metadata"]["uid"]
        patched = client.patch(made, {**made, "data": {"x": "1"}}, locked=True)
        assert client.replace(patched)["data"] == {"x": "1"}
        assert client.create_or_update(base, mutate)[1] is Written.UPDATED
        assert len(client.list(MAP, namespace="n")) == 1
        client.delete(MAP, Request("a", "n"))
        with pytest.raises(NotFound):
            client.require(MAP, Request("a", "n"))
        with pytest.raises(NotFound):
            client.apply_status(base | {"status": {}})

    async def story() -> None:
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
            direct = Manager(cluster, name="tests").client.direct
            client = BlockingClient(direct)
            await asyncio.to_thread(work, client)
            with pytest.raises(RuntimeError, match="wait for its own event loop"):
                client.get(MAP, Request("a", "n"))

    asyncio.run(story())


def test_function_of_the_object_is_not_called_for_one_that_is_gone() -> None:
    server = ApiServer.of(RESOURCES)
    seen: list[str] = []

    async def look(manifest: Manifest) -> Result:
        seen.append(manifest["metadata"]["name"])
        return Result(requeue_after=5)

    async def story() -> None:
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
            server.put("configmaps", {"metadata": {"name": "a"}})
            client = Manager(cluster, name="tests").client.direct
            reconciler = ObjectReconciler(client, MAP, look)
            assert await reconciler.reconcile(Request("a", "default")) == Result(requeue_after=5)
            assert await reconciler.reconcile(Request("b", "default")) == Result()

    asyncio.run(story())
    assert seen == ["a"]
