"""The operator's reaction to everything that can be found in a cluster."""

from __future__ import annotations

import asyncio
import copy
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from memcached_operator import decisions, wiring
from memcached_operator.api.v1alpha1.memcached import Memcached
from memcached_operator.decisions import FINALIZER
from memcached_operator.reconcilers.memcached import Settings

from olmkit.runtime import (
    ClusterConfig,
    ConfigurationError,
    HttpCluster,
    Manager,
    Manifest,
    Resource,
    conditions,
)
from olmkit.testing import BUILT_IN, Access, ApiServer

RESOURCES = [
    Resource(gvk=Memcached.gvk, plural="memcacheds", subresources=frozenset({"status"})),
    *BUILT_IN,
]
NOW = "2024-05-01T00:00:00Z"


@asynccontextmanager
async def operator(server: ApiServer, image: str = "memcached:1.6") -> AsyncIterator[None]:
    """The operator running against a server."""
    async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
        manager = Manager(cluster, name="memcached-operator", cache_settings=wiring.CACHE)
        wiring.add_controller(manager, settings=Settings(image=image), now=lambda: NOW)
        running = asyncio.create_task(manager.run())
        try:
            yield
        finally:
            manager.stop()
            await running


def run_scenario(
    work: Callable[[ApiServer], Awaitable[None]],
    *there: tuple[str, Manifest],
    image: str = "m:1",
    denies: Callable[[Access], bool] = lambda _: False,
) -> ApiServer:
    """Create objects, run the operator, and let `work` change and inspect the world."""
    server = ApiServer.of(RESOURCES)
    server.denies = denies

    async def steps() -> None:
        async with asyncio.timeout(30), server.serving():
            for plural, manifest in there:
                server.put(plural, manifest)
            async with operator(server, image):
                await work(server)

    asyncio.run(steps())
    return server


async def until(holds: Callable[[], Any]) -> Any:
    while not (found := holds()):  # noqa: ASYNC110 - nothing signals the change
        await asyncio.sleep(0.01)
    return found


def memcached(name: str = "m", size: Any = 2, **metadata: Any) -> Manifest:
    return {"metadata": {"name": name} | metadata, "spec": {"size": size, "containerPort": 11211}}


def said(server: ApiServer, kind: str, name: str = "m", namespace: str = "default") -> Any:
    found = server.get("memcacheds", name, namespace) or {}
    listed = (found.get("status") or {}).get("conditions") or []
    one = conditions.find(listed, kind) or {}
    return one.get("status"), one.get("reason")


def said_no(server: ApiServer, namespace: str) -> bool:
    return bool(said(server, "Available", "m", namespace)[0] == "False")


def events(server: ApiServer) -> list[Manifest]:
    return list(server._collection("events").objects.values())  # noqa: SLF001 - all of them


def change(server: ApiServer, plural: str, alter: Callable[[Any], None], name: str = "m") -> None:
    found = server.get(plural, name)
    assert found is not None
    alter(found)
    server.put(plural, found)


async def settled(server: ApiServer) -> None:
    await until(lambda: said(server, "Available")[0] and server.get("services", "m"))
    seen = -1
    while seen != server.version:
        seen = server.version
        await asyncio.sleep(0.1)


def test_the_finalizer_is_stored_before_an_object_is_created() -> None:
    server = run_scenario(settled, ("memcacheds", memcached()))
    found = server.get("memcacheds", "m")
    assert found is not None
    assert found["metadata"]["finalizers"] == [FINALIZER]
    writes = [path for _, path in server.writes() if "events" not in path]
    assert writes[0].endswith("/memcacheds/m")
    assert said(server, "Available") == ("False", "Reconciling")
    assert {one["reason"] for one in events(server)} == {"Created"}


def test_a_deleted_object_is_released_with_one_warning_and_its_children_stay() -> None:
    async def work(server: ApiServer) -> None:
        await until(lambda: server.get("memcacheds", "m") is None)
        last = server.collections["/apis/cache.example.com/v1alpha1/memcacheds"].last("m")
        degraded = conditions.find(last["status"]["conditions"], "Degraded") or {}
        assert (degraded["status"], degraded["reason"]) == ("True", "Finalizing")
        assert server.get("deployments", "m") is None

    server = run_scenario(
        work, ("memcacheds", memcached(deletionTimestamp=NOW, finalizers=[FINALIZER]))
    )
    (event,) = events(server)
    assert (event["type"], event["reason"]) == ("Warning", "Deleting")
    assert event["note"] == "Memcached m is being deleted from the namespace default"
    assert all(method != "DELETE" for method, _ in server.writes())


def test_a_deleted_object_with_other_finalizers_is_ignored() -> None:
    async def work(server: ApiServer) -> None:
        await asyncio.sleep(0.3)
        assert server.writes() == []

    run_scenario(
        work, ("memcacheds", memcached(deletionTimestamp=NOW, finalizers=["example.com/other"]))
    )


def test_a_change_of_size_is_reported_with_both_numbers() -> None:
    async def work(server: ApiServer) -> None:
        await settled(server)
        change(server, "memcacheds", lambda one: one["spec"].update(size=5))
        await until(lambda: said(server, "Progressing") == ("True", "Resizing"))
        await settled(server)
        assert said(server, "Progressing") == ("True", "Resizing")

    server = run_scenario(work, ("memcacheds", memcached()))
    assert "scaled from 2 to 5 pods" in {one["note"] for one in events(server)}


def _container(one: Any) -> Any:
    return one["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("plural", "drift"),
    [
        ("deployments", lambda one: one["spec"].update(replicas=1)),
        ("deployments", lambda one: one["spec"].pop("replicas")),
        ("deployments", lambda one: _container(one).update(image="other")),
        ("deployments", lambda one: _container(one).update(command=["sh"])),
        ("deployments", lambda one: _container(one)["securityContext"].update(runAsUser=0)),
        ("deployments", lambda one: _container(one)["ports"][0].update(containerPort=1)),
        ("services", lambda one: one["spec"].update(selector={})),
        ("services", lambda one: one["spec"]["ports"][0].update(port=1)),
    ],
    ids=["size", "no size", "image", "command", "user", "port", "selector", "service port"],
)
def test_a_manual_change_is_reverted(plural: str, drift: Callable[[Any], None]) -> None:
    async def work(server: ApiServer) -> None:
        await settled(server)
        wanted = server.get(plural, "m")
        assert wanted is not None
        change(server, plural, drift)
        await until(lambda: (server.get(plural, "m") or {})["spec"] == wanted["spec"])

    run_scenario(work, ("memcacheds", memcached()))


def test_port_and_image_are_changed_and_the_selector_is_not() -> None:
    old = decisions.deployment_for(_typed("m"), "memcached:1")
    new = _typed("m")
    new.spec.container_port = 11333
    made = decisions.deployment_for(new, "memcached:2")
    assert _container(made)["command"][-1] == "11333"
    assert _container(made)["ports"][0]["containerPort"] == 11333
    assert decisions.service_for(new, "")["spec"]["ports"][0]["targetPort"] == "memcached"
    assert made["metadata"]["labels"]["app.kubernetes.io/version"] == "2"
    assert made["spec"]["selector"] == old["spec"]["selector"]


@pytest.mark.parametrize("plural", ["deployments", "services"])
def test_a_child_of_another_owner_is_kept_and_reported(plural: str) -> None:
    theirs: Manifest = {"metadata": {"name": "m"}, "spec": {"theirs": True}}

    async def work(server: ApiServer) -> None:
        await until(lambda: said(server, "Degraded") == ("True", "NameTaken"))
        await settled(server)

    server = run_scenario(work, (plural, copy.deepcopy(theirs)), ("memcacheds", memcached()))
    found = server.get(plural, "m")
    assert found is not None
    assert found["spec"] == {"theirs": True}
    assert [one["type"] for one in events(server) if one["reason"] == "NameTaken"] == ["Warning"]


def test_a_deleted_child_is_created_again() -> None:
    async def work(server: ApiServer) -> None:
        await settled(server)
        for plural in ("deployments", "services"):
            server.remove(plural, "m")
            await until(functools.partial(server.get, plural, "m"))

    run_scenario(work, ("memcacheds", memcached()))


def test_a_restart_without_changes_writes_nothing() -> None:
    async def steps() -> None:
        async with asyncio.timeout(30), ApiServer.of(RESOURCES).serving() as server:
            server.put("memcacheds", memcached())
            async with operator(server):
                await settled(server)
            before = server.writes()
            async with operator(server):
                await asyncio.sleep(0.4)
            assert server.writes() == before

    asyncio.run(steps())


def test_the_same_name_in_two_namespaces_is_two_objects() -> None:
    async def work(server: ApiServer) -> None:
        for namespace in ("one", "two"):
            await until(functools.partial(server.get, "deployments", "m", namespace))
            await until(functools.partial(said_no, server, namespace))

    run_scenario(
        work,
        ("memcacheds", memcached(namespace="one")),
        ("memcacheds", memcached(namespace="two")),
    )


def test_a_size_outside_its_range_is_reported_and_nothing_is_created() -> None:
    async def work(server: ApiServer) -> None:
        await until(lambda: said(server, "Degraded") == ("True", "InvalidSpec"))
        assert server.get("deployments", "m") is None

    run_scenario(work, ("memcacheds", memcached(size=9)))


def test_labels_of_the_object_cause_no_pass() -> None:
    async def work(server: ApiServer) -> None:
        await settled(server)
        before = list(server.requests)
        change(server, "memcacheds", lambda one: one["metadata"].update(labels={"a": "b"}))
        await asyncio.sleep(0.3)
        assert server.requests == before

    run_scenario(work, ("memcacheds", memcached()))


@pytest.mark.parametrize(
    ("resource", "verbs"),
    [
        ("services", ["patch"]),
        ("services", ["get", "list", "watch", "patch"]),
        ("deployments", ["get", "list", "watch", "patch"]),
        ("pods", ["list", "watch"]),
    ],
    ids=["services alone", "services", "deployments", "pods"],
)
def test_a_missing_permission_is_reported_and_the_other_objects_are_written(
    resource: str, verbs: list[str]
) -> None:
    def denies(access: Access) -> bool:
        return access.resource == resource and access.verb in verbs

    def message(server: ApiServer) -> str:
        found = server.get("memcacheds", "m") or {}
        listed = (found.get("status") or {}).get("conditions") or []
        return str((conditions.find(listed, "Degraded") or {}).get("message"))

    async def work(server: ApiServer) -> None:
        verb = "list" if "list" in verbs else "patch"
        await until(lambda: f'cannot {verb} resource "{resource}"' in message(server))
        assert said(server, "Degraded") == ("True", "Reconciling")
        for other in {"services", "deployments"} - {resource}:
            assert server.get(other, "m") is not None
        server.denies = lambda _: False
        await until(lambda: said(server, "Degraded")[0] == "False")
        await settled(server)

    run_scenario(work, ("memcacheds", memcached()), denies=denies)


def _typed(name: str) -> Memcached:
    return Memcached.from_manifest(memcached(name, namespace="n", uid="u"))


@pytest.mark.parametrize("name", ["a" * 253, "a.b", "1st", "a" * 63, ".".join(["ab"] * 80)])
def test_names_that_a_service_cannot_have_are_converted(name: str) -> None:
    made = decisions.child_name(_typed(name))
    assert len(made) <= 63
    assert made[0].isalpha()
    assert "." not in made
    assert (made == name) is (name == "a" * 63)
    assert decisions.child_name(_typed(name + "x")) != made
    assert all(len(value) <= 63 for value in decisions.selector_for(_typed(name)).values())


def test_two_objects_have_disjoint_selectors() -> None:
    assert decisions.selector_for(_typed("a")) != decisions.selector_for(_typed("b"))


@pytest.mark.parametrize(
    ("condition", "degraded"),
    [
        ({"type": "ReplicaFailure", "status": "True", "message": "quota"}, ("True", "quota")),
        (
            {
                "type": "Progressing",
                "status": "False",
                "reason": "ProgressDeadlineExceeded",
                "message": "late",
            },
            ("True", "late"),
        ),
        ({"type": "Available", "status": "True"}, ("False", "")),
    ],
)
def test_degraded_has_the_reason_of_the_deployment(
    condition: dict[str, str], degraded: tuple[str, str]
) -> None:
    deployment: Manifest = {"metadata": {}, "status": {"conditions": [condition]}}
    status = decisions.status_from(_typed("m"), deployment, [], NOW)
    found = conditions.find(status["conditions"], "Degraded") or {}
    assert (found["status"], found["message"]) == degraded


def test_a_failed_scaling_is_reported_and_available_is_correct() -> None:
    deployment: Manifest = {"metadata": {}, "status": {"availableReplicas": 2}}
    trouble = decisions.Trouble("Reconciling", "quota", is_scaling=True)
    status = decisions.status_from(_typed("m"), deployment, [], NOW, troubles=[trouble])
    found = {one["type"]: one for one in status["conditions"]}
    assert found["Available"]["status"] == "True"
    assert (found["Progressing"]["status"], found["Progressing"]["reason"]) == (
        "False",
        "Resizing",
    )
    assert found["Progressing"]["message"] == "quota"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Settings(image="")),
        ({"MEMCACHED_IMAGE": "i", "MEMCACHED_RUN_AS_USER": ""}, Settings(image="i", user=None)),
        ({"MEMCACHED_RUN_AS_USER": "7"}, Settings(image="", user=7)),
    ],
)
def test_the_environment_is_read(environment: dict[str, str], expected: Settings) -> None:
    assert wiring.settings(environment) == expected


def test_a_user_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        wiring.settings({"MEMCACHED_RUN_AS_USER": "root"})
