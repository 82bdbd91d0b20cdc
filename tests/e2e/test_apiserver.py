"""The client and the manager with a real API server, which is killed in between."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.api import (
    AlreadyExists,
    ClusterError,
    Conflict,
    EventType,
    Forbidden,
    NoSuchKind,
    NotFound,
    PatchType,
    Unauthorized,
)
from olmkit.kube.objects import GVK
from olmkit.runtime.client import Client
from olmkit.runtime.lead.leader import ElectionSettings, ThreadedElector
from olmkit.runtime.manager import Manager
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.watch.scope import CacheSettings, Scope
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.reconcile import Request
from olmkit.testing.control_plane import ControlPlane

pytestmark = pytest.mark.e2e

MAP = GVK(group="", version="v1", kind="ConfigMap")
EVENT = GVK(group="events.k8s.io", version="v1", kind="Event")
SECRET = GVK(group="", version="v1", kind="Secret")


def _map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _cluster(path: Path) -> HttpCluster:
    return HttpCluster(kubeconfig.load(paths=[path]))


def test_objects_are_read_written_and_watched(apiserver: ControlPlane) -> None:
    async def scenario() -> None:
        async with _cluster(apiserver.kubeconfig) as cluster:
            maps = await cluster.resource("v1", "ConfigMap")
            deployments = await cluster.resource("apps/v1", "Deployment")
            assert deployments.subresources == {"scale", "status"}
            with pytest.raises(NoSuchKind):
                await cluster.resource("cache.example.com/v1", "Memcached")
            page = await cluster.list_page(maps)
            seen: list[EventType] = []

            async def watch() -> None:
                async for event in cluster.watch(
                    maps,
                    namespace="default",
                    resource_version=page.resource_version,
                    timeout_seconds=3,
                ):
                    seen.append(event.type)  # noqa: PERF401 - as they come

            watching = asyncio.ensure_future(watch())
            made = await cluster.create(maps, _map("a", x="1"))
            with pytest.raises(AlreadyExists):
                await cluster.create(maps, _map("a"))
            applied = await cluster.patch(
                *(maps, "a", _map("a", x="2")),
                type=PatchType.APPLY,
                namespace="default",
                field_manager="tests",
                force=True,
            )
            assert applied["data"] == {"x": "2"}
            with pytest.raises(Conflict):
                await cluster.replace(maps, made)
            await cluster.delete(maps, "a", namespace="default")
            with pytest.raises(NotFound):
                await cluster.get(maps, "a", namespace="default")
            await watching
            changes = [kind for kind in seen if kind is not EventType.BOOKMARK]
            assert changes == [EventType.ADDED, EventType.MODIFIED, EventType.DELETED]

    asyncio.run(scenario())


@pytest.mark.parametrize(("suffix", "error"), [("u", Forbidden), ("wrong", Unauthorized)])
def test_a_refusal_does_not_contain_the_token(
    apiserver: ControlPlane, tmp_path: Path, suffix: str, error: type[ClusterError]
) -> None:
    token = apiserver.token + suffix
    apiserver.write_kubeconfig(tmp_path / "kubeconfig", token=token)

    async def scenario() -> None:
        async with _cluster(tmp_path / "kubeconfig") as cluster:
            await cluster.request("GET", "/api/v1/configmaps")

    with pytest.raises(error) as raised:
        asyncio.run(scenario())
    assert token not in str(raised.value)


class _Mirror:
    """Keeps a Secret for each ConfigMap whose name begins with `x`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def reconcile(self, request: Request) -> None:
        found = await self._client.get(MAP, request)
        if found is None or not request.name.startswith("x"):
            return
        owner = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": request.name,
            "uid": found["metadata"]["uid"],
            "controller": True,
        }
        metadata = {
            "name": request.name,
            "namespace": request.namespace,
            "ownerReferences": [owner],
        }
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        await self._client.apply(secret | {"stringData": found.get("data") or {}})


async def _until(done: Any, seconds: float = 180) -> None:
    async with asyncio.timeout(seconds):
        while not await done():  # noqa: ASYNC110 - what changes is on the server
            await asyncio.sleep(0.1)


def test_a_manager_continues_after_the_server_was_killed_and_restarted(
    apiserver: ControlPlane,
) -> None:
    async def scenario() -> None:
        async with _cluster(apiserver.kubeconfig) as cluster:
            manager = Manager(cluster, name="tests")
            builder = ControllerBuilder().watches_for(MAP).owns(SECRET)
            manager.add_controller(builder.build(_Mirror(manager.client)))
            running = asyncio.ensure_future(manager.run())
            direct = manager.client.direct

            async def mirrored(count: int) -> bool:
                try:
                    found = await direct.list(SECRET, namespace="default")
                except ClusterError:
                    return False
                return sum(one["metadata"]["name"].startswith("x") for one in found) == count

            for number in range(20):
                await direct.create(_map(f"x{number}", n=str(number)))
            await _until(lambda: mirrored(20))

            await direct.delete(SECRET, Request("x3", "default"))
            await _until(lambda: mirrored(20))

            await asyncio.to_thread(apiserver.stop_server, hard=True)
            await asyncio.sleep(1)
            await asyncio.to_thread(apiserver.start_server)

            async def created() -> bool:
                try:
                    await direct.create(_map("xnew", n="new"))
                except AlreadyExists:
                    return True
                except ClusterError as error:
                    if not error.temporary:
                        raise
                    return False
                return True

            await _until(created)
            await _until(lambda: mirrored(21))
            assert not running.done(), "the manager still runs"
            manager.stop()
            await running

    asyncio.run(scenario())


@pytest.mark.parametrize("streaming", [False, True], ids=["listed", "streamed"])
def test_caches_have_the_objects_of_the_server(apiserver: ControlPlane, streaming: bool) -> None:
    """Whole objects and only metadata, in one namespace, by labels, after changes."""
    label = f"cached-{streaming}".lower()

    async def scenario() -> None:
        async with _cluster(apiserver.kubeconfig) as cluster:
            settings = CacheSettings(
                streaming=streaming,
                scope=Scope(
                    label_selector=f"is={label}", field_selector="metadata.namespace=default"
                ),
            )
            cache = Cache(cluster, settings)
            client = Client(cluster, cache, field_manager="tests")
            running = asyncio.ensure_future(cache.run())
            await asyncio.sleep(0)
            for number in range(30):
                made = _map(f"{label}-{number}", x="1")
                made["metadata"]["labels"] = {"is": label}
                await client.apply(made)
            found = await client.list(MAP)
            assert len(found) == 30
            assert {one["kind"] for one in found} == {"ConfigMap"}
            key = Request(f"{label}-3", "default")
            await client.delete(MAP, key)
            changed = _map(f"{label}-4", x="2")
            changed["metadata"]["labels"] = {"is": label}
            await client.apply(changed)
            fresh = await client.require(MAP, Request(f"{label}-4", "default"), fresh=True)
            assert fresh["data"] == {"x": "2"}
            assert await client.get(MAP, key) is None
            metadata = await client.list(MAP, metadata_only=True)
            assert len(metadata) == 29
            assert all(one.keys() == {"apiVersion", "kind", "metadata"} for one in metadata)
            direct = await client.direct.list(MAP, labels=f"is={label}")
            versions = {
                one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in direct
            }
            held = await client.list(MAP)
            assert versions == {
                one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in held
            }
            with pytest.raises(ConfigurationError, match="is not watched"):
                await client.get(MAP, Request("a", "kube-system"))
            await client.delete_all(MAP, namespace="default", labels=f"is={label}")

            async def gone() -> bool:
                return not await client.list(MAP)

            await _until(gone)
            assert [one.failures for one in cache.informers] == [[], []]
            running.cancel()
            await asyncio.wait([running])

    asyncio.run(scenario())


def test_the_lease_shows_the_elected_leader(apiserver: ControlPlane) -> None:
    async def scenario() -> None:
        settings = ElectionSettings(
            name="lock",
            namespace="default",
            identity="me",
            retry_period=0.5,
            lease_duration=4,
            renew_deadline=3,
        )
        elector = ThreadedElector(lambda: _cluster(apiserver.kubeconfig), settings)
        await elector.acquire()
        await asyncio.sleep(1)
        await elector.release()
        async with _cluster(apiserver.kubeconfig) as cluster:
            leases = await cluster.resource("coordination.k8s.io/v1", "Lease")
            lease = await cluster.get(leases, "lock", namespace="default")
            assert lease["spec"].get("holderIdentity", "") == ""
            client = Client(cluster, None, field_manager="tests")
            told = await client.list(EVENT, namespace="default")
            notes = [one["note"] for one in told if one["reason"] == "LeaderElection"]
            assert sorted(notes) == ["me became leader", "me stopped leading"]

    asyncio.run(scenario())
