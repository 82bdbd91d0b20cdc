"""The client of blocking reconcilers, which run in threads."""

from __future__ import annotations

import asyncio
import base64
import inspect
from collections.abc import Callable

import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Conflict, EventType, NotFound, Resource
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client, Written
from olmkit.runtime.direct.pods import Pods
from olmkit.runtime.manager import Manager
from olmkit.runtime.work.blocking import BlockingClient
from olmkit.runtime.work.blocking_direct import BlockingPods
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.object_reconciler import ObjectReconciler
from olmkit.runtime.work.reconcile import Request, Result
from olmkit.testing.apiserver.server import ApiServer

MAP = GVK(group="", version="v1", kind="ConfigMap")
SECRET = GVK(group="", version="v1", kind="Secret")
RESOURCES = [Resource(gvk=MAP, plural="configmaps"), Resource(gvk=SECRET, plural="secrets")]


class _Copier:
    """Keeps a Secret for each ConfigMap, with plain functions."""

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
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - what changes is on the server
            await asyncio.sleep(0.01)


def test_an_operator_with_plain_functions_follows_the_cluster() -> None:
    server = ApiServer.of(RESOURCES)

    async def scenario() -> None:
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

    asyncio.run(scenario())
    data = {base64.b64decode(one["data"]["x"]).decode() for one in server.all("secrets")}
    assert data == set("012456789")


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

    async def scenario() -> None:
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
            direct = Manager(cluster, name="tests").client.direct
            client = BlockingClient(direct)
            await asyncio.to_thread(work, client)
            with pytest.raises(RuntimeError, match="wait for its own event loop"):
                client.get(MAP, Request("a", "n"))

    asyncio.run(scenario())


def test_the_function_of_create_or_update_is_not_called_for_a_deleted_object() -> None:
    server = ApiServer.of(RESOURCES)
    seen: list[str] = []

    async def look(manifest: Manifest) -> Result:
        seen.append(manifest["metadata"]["name"])
        return Result(requeue_after=5)

    async def scenario() -> None:
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
            server.put("configmaps", {"metadata": {"name": "a"}})
            client = Manager(cluster, name="tests").client.direct
            reconciler = ObjectReconciler(client, MAP, look)
            assert await reconciler.reconcile(Request("a", "default")) == Result(requeue_after=5)
            assert await reconciler.reconcile(Request("b", "default")) == Result()

    asyncio.run(scenario())
    assert seen == ["a"]


def test_it_has_the_methods_of_the_client() -> None:
    """Names, parameters and defaults; `add_index` belongs to the start of a process."""
    pairs: list[tuple[type, type, set[str]]] = [
        (BlockingClient, Client, {"add_index"}),
        (BlockingPods, Pods, {"forward"}),
    ]
    for ours, theirs, without in pairs:
        names = {name for name in dir(theirs) if not name.startswith("_")} - without
        assert names - set(dir(ours)) == set()
        for name in names:
            wanted, found = getattr(theirs, name), getattr(ours, name)
            if callable(wanted):
                assert _parameters(found) == _parameters(wanted), name


def _parameters(function: Callable[..., object]) -> list[tuple[str, object]]:
    found = inspect.signature(function).parameters.values()
    renamed = {"gvk": "kind"}
    return [(renamed.get(one.name, one.name), one.default) for one in found]


def test_patches_pages_watches_and_waits_also_return() -> None:
    server = ApiServer.of(RESOURCES)
    base = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}}
    key = Request("a", "n")

    def mutate(manifest: Manifest) -> None:
        manifest["data"] = {"z": "1"}

    def work(client: BlockingClient) -> list[tuple[EventType, str]]:
        client.rehearsal.create(base)
        assert client.get(MAP, key) is None
        uid = client.create(base)["metadata"]["uid"]
        assert client.merge_patch(MAP, key, {"data": {"x": "1"}}, uid=uid)["data"] == {"x": "1"}
        operations = [{"op": "add", "path": "/data/y", "value": "2"}]
        assert client.json_patch(MAP, key, operations)["data"] == {"x": "1", "y": "2"}
        with pytest.raises(Conflict):
            client.merge_patch(MAP, key, {}, uid="other")
        assert client.create_or_patch(base, mutate)[1] is Written.UPDATED
        assert client.within("n").require(MAP, Request("a"))["data"] == {"z": "1"}
        client.create(base | {"metadata": {"name": "b", "namespace": "n"}})
        assert [len(page) for page in client.pages(MAP, size=1)] == [1, 1]
        assert client.wait_for(MAP, key, lambda one: one is not None, within=5) is not None
        with pytest.raises(TimeoutError):
            client.wait_for(MAP, key, "Ready", within=0.05)
        seen = []
        for change in client.watch(MAP, namespace="n"):
            seen.append((change.type, change.object["metadata"]["name"]))
            if len(seen) == 2:
                client.delete(MAP, Request("b", "n"))
            if len(seen) == 3:
                break
        client.delete_all(MAP, namespace="n")
        assert not client.list(MAP, namespace="n", limit=1)
        return seen

    async def scenario() -> list[tuple[EventType, str]]:
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
            client = BlockingClient(Manager(cluster, name="tests").client.direct)
            async with asyncio.timeout(30):
                found = await asyncio.to_thread(work, client)
            # The watch has ended with the `for` loop.
            assert not [one for one in asyncio.all_tasks() if "Reflector" in repr(one)]
            return found

    assert asyncio.run(scenario()) == [
        (EventType.ADDED, "a"),
        (EventType.ADDED, "b"),
        (EventType.DELETED, "b"),
    ]
