"""Declaring what a controller watches."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.watch.handler import EnqueueMapped, EnqueueObject
from olmkit.runtime.watch.predicate import GENERATION_CHANGED, LABELS_CHANGED
from olmkit.runtime.watch.source import ChannelSource, KindSource
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.reconcile import Request
from olmkit.testing import clock
from olmkit.testing.apiserver.server import ApiServer

THING = GVK(group="tests.example.com", version="v1", kind="Thing")
PLACE = GVK(group="tests.example.com", version="v1", kind="Place")
MAP = GVK(group="", version="v1", kind="ConfigMap")
RESOURCES = [
    Resource(gvk=THING, plural="things"),
    Resource(gvk=PLACE, plural="places", namespaced=False),
    Resource(gvk=MAP, plural="configmaps"),
]


class _Recording:
    def __init__(self, enough: int = 1) -> None:
        self.seen: list[str] = []
        self.has_enough = asyncio.Event()
        self._enough = enough

    async def reconcile(self, request: Request) -> None:
        self.seen.append(str(request))
        if len(self.seen) >= self._enough:
            self.has_enough.set()


@pytest.mark.parametrize(
    ("builder", "words"),
    [
        (ControllerBuilder(), "needs a name"),
        (ControllerBuilder().named("c"), "something to watch"),
        (ControllerBuilder().named("c").owns(MAP), "needs a primary kind"),
        (ControllerBuilder().named("a b").watches_for(THING), "characters other"),
    ],
)
def test_invalid_declarations_are_refused(builder: ControllerBuilder, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        builder.build(_Recording())


def test_a_second_primary_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="one primary kind"):
        ControllerBuilder().watches_for(THING).watches_for(MAP)


def test_the_name_is_the_kind_in_lower_case() -> None:
    async def story() -> None:
        assert ControllerBuilder().watches_for(THING).build(_Recording()).name == "thing"
        source = ChannelSource(EnqueueObject())
        assert ControllerBuilder().named("c").source(source).build(_Recording()).name == "c"

    asyncio.run(story())


def _scene(builder: ControllerBuilder, work: Any) -> list[str]:
    """Return the reconciled objects while `work` changed the world."""
    server, reconciler = ApiServer.of(RESOURCES), _Recording()

    async def steps() -> None:
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
            cache = Cache(cluster)
            controller = builder.build(reconciler)
            caching = asyncio.create_task(cache.run())
            await asyncio.sleep(0)
            running = asyncio.create_task(controller.run(cache))
            await asyncio.sleep(5)
            await work(server)
            await asyncio.sleep(5)
            controller.stop()
            await running
            with pytest.raises(RuntimeError, match="was started before"):
                await controller.run(cache)
            caching.cancel()
            await asyncio.wait([caching])

    clock.run(steps(), patience=0.001)
    return reconciler.seen


def _owned(name: str, owner: GVK, **more: Any) -> dict[str, Any]:
    reference = {
        "apiVersion": f"{owner.group}/v1beta1",
        "kind": owner.kind,
        "name": f"owner-of-{name}",
        "uid": "u",
        "controller": True,
    }
    return {"metadata": {"name": name, "namespace": "n", "ownerReferences": [reference]}} | more


@pytest.mark.parametrize(
    ("owner", "request_"), [(THING, "n/owner-of-a"), (PLACE, "owner-of-a")], ids=["in", "above"]
)
def test_an_owner_is_looked_up_in_its_scope(owner: GVK, request_: str) -> None:
    async def work(server: ApiServer) -> None:
        server.put("configmaps", _owned("a", owner))

    assert _scene(ControllerBuilder().watches_for(owner).owns(MAP), work) == [request_]


def test_filters_apply_to_each_watch_together_with_its_own_predicates() -> None:
    builder = (
        ControllerBuilder()
        .watches_for(THING, GENERATION_CHANGED)
        .watches(MAP, EnqueueObject(), metadata_only=True)
        .with_event_filter(LABELS_CHANGED)
    )

    async def work(server: ApiServer) -> None:
        for plural in ("things", "configmaps"):
            server.put(plural, {"metadata": {"name": plural}, "spec": {"x": 1}})
        await asyncio.sleep(1)
        for plural in ("things", "configmaps"):
            labels = {"name": plural, "labels": {"a": "b"}}
            server.put(plural, {"metadata": labels, "spec": {"x": 1}})
            await asyncio.sleep(1)
            server.put(plural, {"metadata": labels, "spec": {"x": 2}})
            await asyncio.sleep(1)

    seen = _scene(builder, work)
    assert sorted(seen) == ["default/configmaps", "default/configmaps", "default/things"]


def test_a_source_that_is_added_later_starts_at_once() -> None:
    server, reconciler = ApiServer.of(RESOURCES), _Recording()

    async def steps() -> None:
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
            cache = Cache(cluster)
            controller = ControllerBuilder().watches_for(THING).build(reconciler)
            caching = asyncio.create_task(cache.run())
            await asyncio.sleep(0)
            running = asyncio.create_task(controller.run(cache))
            server.put("configmaps", {"metadata": {"name": "a"}})
            await asyncio.sleep(5)
            mapped = EnqueueMapped(lambda one: [Request(f"of-{one.key.name}")])
            await controller.watch(KindSource(MAP, mapped))
            await asyncio.sleep(5)
            controller.stop()
            await running
            caching.cancel()
            await asyncio.wait([caching])

    clock.run(steps(), patience=0.001)
    assert reconciler.seen == ["of-a"]


def test_a_controller_that_was_built_and_not_added_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ControllerBuilder().named("forgotten").watches_for(THING).build(_Recording())
    gc.collect()
    [record] = [one for one in caplog.records if "but not run" in one.message]
    assert record.__dict__["controller"] == "forgotten"


def test_the_metadata_of_the_primary_kind_is_sufficient() -> None:
    async def scenario() -> tuple[list[str], list[str | None], object]:
        async with ApiServer.of(RESOURCES).serving() as server:
            async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
                await cluster.create(
                    RESOURCES[0],
                    {
                        "apiVersion": "tests.example.com/v1",
                        "kind": "Thing",
                        "metadata": {"name": "a", "namespace": "n"},
                        "spec": {"big": "x" * 1000},
                    },
                )
                await cluster.create(
                    RESOURCES[2],
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {
                            "name": "of-b",
                            "namespace": "n",
                            "ownerReferences": [
                                {
                                    "apiVersion": "tests.example.com/v1",
                                    "kind": "Thing",
                                    "name": "b",
                                    "uid": "u",
                                    "controller": True,
                                }
                            ],
                        },
                    },
                )
                cache = Cache(cluster)
                noting = _Recording(enough=2)
                built = (
                    ControllerBuilder()
                    .watches_for(THING, GENERATION_CHANGED, metadata_only=True)
                    .owns(MAP)
                    .build(noting)
                )
                running = [asyncio.create_task(cache.run()), asyncio.create_task(built.run(cache))]
                async with asyncio.timeout(20):
                    await noting.has_enough.wait()
                found = await cache.get(THING, Request("a", "n"), metadata_only=True)
                built.stop()
                await running[1]
                running[0].cancel()
                await asyncio.wait(running)
                forms = [one.gvk.kind for one in cache.informers if one.metadata_only]
                assert found is not None
                return sorted(noting.seen), forms, found.manifest().get("spec")

    assert asyncio.run(scenario()) == (["n/a", "n/b"], ["Thing"], None)


def test_a_function_is_a_mapping_handler() -> None:
    server = ApiServer.of(RESOURCES)
    server.put("configmaps", {"metadata": {"name": "m", "namespace": "n"}})

    async def steps() -> None:
        reconciler = _Recording()
        builder = ControllerBuilder().named("c")
        builder.watches(MAP, lambda found: [Request(f"of-{found.key.name}", "n")])
        controller = builder.build(reconciler)
        async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
            cache = Cache(cluster)
            tasks = [asyncio.create_task(one) for one in (cache.run(), controller.run(cache))]
            await reconciler.has_enough.wait()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        assert reconciler.seen == ["n/of-m"]

    async def whole() -> None:
        async with asyncio.timeout(30), server.serving():
            await steps()

    asyncio.run(whole())


def test_declarations_that_would_fail_at_the_first_event_are_refused() -> None:
    wrong: Any
    for wrong in (EnqueueObject, "handler", None):
        with pytest.raises(TypeError, match="a handler has"):
            ControllerBuilder().watches(MAP, wrong)
    for wrong in (lambda _: True, type(GENERATION_CHANGED), "changed"):
        for watch in (
            ControllerBuilder().watches_for,
            ControllerBuilder().owns,
            lambda kind, one: ControllerBuilder().watches(kind, EnqueueObject(), one),
            lambda _, one: ControllerBuilder().with_event_filter(one),
        ):
            with pytest.raises(TypeError, match="a predicate is a `Predicate`"):
                watch(THING, wrong)
