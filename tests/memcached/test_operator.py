"""The shipped operator with a small API server on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from memcached_operator import wiring
from memcached_operator.api.v1alpha1.memcached import Memcached
from memcached_operator.reconcilers.memcached import Settings

from olmkit.runtime import ClusterConfig, HttpCluster, Manager, Manifest, Resource, conditions
from olmkit.testing import BUILT_IN, ApiServer

RESOURCES = [
    Resource(gvk=Memcached.gvk, plural="memcacheds", subresources=frozenset({"status"})),
    *BUILT_IN,
]
IMAGE = "memcached:1.6"


@asynccontextmanager
async def operator(*, image: str = IMAGE) -> AsyncIterator[ApiServer]:
    """A server, and the operator that runs with it."""
    async with ApiServer.of(RESOURCES).serving() as server, operating(server, image=image):
        yield server


@asynccontextmanager
async def operating(server: ApiServer, *, image: str) -> AsyncIterator[None]:
    """The operator that runs with a server."""
    async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
        manager = Manager(cluster, name="memcached-operator", cache_settings=wiring.CACHE)
        wiring.add_controller(
            manager, settings=Settings(image=image), now=lambda: "2024-05-01T00:00:00Z"
        )
        running = asyncio.create_task(manager.run())
        try:
            yield
        finally:
            manager.stop()
            await running


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(30):
            await work()

    asyncio.run(bounded())


async def until(holds: Callable[[], Any]) -> Any:
    """Wait until a condition holds, and return it."""
    while not (found := holds()):  # noqa: ASYNC110 - nothing signals the change
        await asyncio.sleep(0.01)
    return found


def memcached(size: int = 2) -> Manifest:
    return {"metadata": {"name": "sample"}, "spec": {"size": size, "containerPort": 11211}}


def condition(server: ApiServer, kind: str) -> str:
    found = server.get("memcacheds", "sample") or {}
    listed = (found.get("status") or {}).get("conditions") or []
    return str((conditions.find(listed, kind) or {}).get("status"))


def report(server: ApiServer, available: int) -> None:
    """Write what the cluster's own controllers would write about the Deployment and its pods."""
    deployment = server.get("deployments", "sample")
    assert deployment is not None
    deployment["status"] = {
        "observedGeneration": deployment["metadata"]["generation"],
        "availableReplicas": available,
    }
    server.put("deployments", deployment)
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    for index in range(available):
        server.put("pods", {"metadata": {"name": f"sample-{index}", "labels": dict(labels)}})


def test_the_deployment_is_created_and_the_status_follows_the_pods() -> None:
    async def work() -> None:
        async with operator() as server:
            server.put("memcacheds", memcached())
            deployment = await until(lambda: server.get("deployments", "sample"))
            assert deployment["spec"]["replicas"] == 2
            assert deployment["metadata"]["ownerReferences"][0]["kind"] == "Memcached"
            await until(lambda: condition(server, "Available") == "False")
            report(server, 2)
            await until(lambda: condition(server, "Available") == "True")
            found = await until(
                lambda: (
                    (status := (server.get("memcacheds", "sample") or {})["status"])["nodes"]
                    == ["sample-0", "sample-1"]
                    and status
                )
            )
            assert [one["type"] for one in found["conditions"]] == [
                "Available",
                "Progressing",
                "Degraded",
            ]

    run(work)


def test_a_change_of_size_and_drift_are_corrected() -> None:
    async def work() -> None:
        async with operator() as server:
            server.put("memcacheds", memcached(1))
            await until(lambda: server.get("deployments", "sample"))
            changed = server.get("memcacheds", "sample")
            assert changed is not None
            changed["spec"]["size"] = 4
            server.put("memcacheds", changed)
            await until(lambda: server.get("deployments", "sample")["spec"]["replicas"] == 4)  # type: ignore[index]
            drifted = server.get("deployments", "sample")
            assert drifted is not None
            drifted["spec"]["replicas"] = 1
            drifted["metadata"]["annotations"]["restarted"] = "now"
            server.put("deployments", drifted)
            await until(lambda: server.get("deployments", "sample")["spec"]["replicas"] == 4)  # type: ignore[index]
            again = server.get("deployments", "sample")
            assert again is not None
            assert again["metadata"]["annotations"]["restarted"] == "now"

    run(work)


def test_a_deleted_deployment_is_created_again() -> None:
    async def work() -> None:
        async with operator() as server:
            server.put("memcacheds", memcached())
            await until(lambda: server.get("deployments", "sample"))
            await until(lambda: condition(server, "Available") == "False")
            server.remove("deployments", "sample")
            await until(lambda: server.get("deployments", "sample"))

    run(work)


def test_nothing_is_written_without_a_change() -> None:
    async def work() -> None:
        async with operator() as server:
            server.put("memcacheds", memcached())
            await until(lambda: server.get("deployments", "sample"))
            report(server, 2)
            await until(lambda: condition(server, "Available") == "True")
            await until(lambda: len(server.get("memcacheds", "sample")["status"]["nodes"]) == 2)  # type: ignore[index]
            await asyncio.sleep(0.2)
            before = server.writes()
            touched = server.get("deployments", "sample")
            assert touched is not None
            touched["metadata"]["annotations"]["a"] = "b"
            server.put("deployments", touched)
            await asyncio.sleep(0.3)
            assert server.writes() == before

    run(work)


def test_a_deployment_of_another_owner_is_kept() -> None:
    async def work() -> None:
        async with operator() as server:
            theirs = {"metadata": {"name": "sample"}, "spec": {"replicas": 9}}
            server.put("deployments", theirs)
            server.put("memcacheds", memcached())
            await until(lambda: condition(server, "Degraded") == "True")
            found = server.get("deployments", "sample")
            assert found is not None
            assert found["spec"] == {"replicas": 9}

    run(work)


def test_a_missing_image_is_reported_and_no_deployment_is_created() -> None:
    async def work() -> None:
        async with operator(image="") as server:
            server.put("memcacheds", memcached())
            await until(lambda: condition(server, "Degraded") == "True")
            status = (server.get("memcacheds", "sample") or {})["status"]
            found = conditions.find(status["conditions"], "Available") or {}
            assert (found["status"], found["reason"]) == ("False", "Reconciling")
            assert "MEMCACHED_IMAGE" in found["message"]
            assert server.get("deployments", "sample") is None

    run(work)


def test_the_image_of_a_new_release_is_rolled_out_and_the_selector_stays() -> None:
    async def work() -> None:
        async with operator(image="memcached:1.5") as server:
            server.put("memcacheds", memcached())
            before = await until(lambda: server.get("deployments", "sample"))
            await until(lambda: server.get("services", "sample"))
        async with server.serving():
            async with operating(server, image="registry:5000/memcached:1.6"):
                after = await until(
                    lambda: (
                        (found := server.get("deployments", "sample"))
                        and found["spec"] != before["spec"]
                        and found
                    )
                )
        [container] = after["spec"]["template"]["spec"]["containers"]
        assert container["image"] == "registry:5000/memcached:1.6"
        assert after["metadata"]["labels"]["app.kubernetes.io/version"] == "1.6"
        assert after["spec"]["selector"] == before["spec"]["selector"]

    run(work)


def test_watches_that_end_are_opened_again() -> None:
    async def work() -> None:
        async with operator() as server:
            await until(lambda: any(c.watchers for c in server.collections.values()))
            server.end_watches()
            server.put("memcacheds", memcached())
            await until(lambda: server.get("deployments", "sample"))

    run(work)


def test_an_object_that_is_being_deleted_is_ignored() -> None:
    async def work() -> None:
        async with operator() as server:
            going = memcached()
            going["metadata"]["deletionTimestamp"] = "2024-05-01T00:00:00Z"
            server.put("memcacheds", going)
            server.put("memcacheds", {**memcached(), "metadata": {"name": "other"}})
            await until(lambda: server.get("deployments", "other"))
            assert server.get("deployments", "sample") is None

    run(work)
