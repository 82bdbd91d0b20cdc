"""Random disconnects, compactions, deletions and recreations: nothing is missed or late."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.credentials import NoCredentials
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import EventType, Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.client import Client
from olmkit.runtime.manager import Manager
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.watch.predicate import (
    GENERATION_CHANGED,
    CreateEvent,
    Event,
    Predicate,
    UpdateEvent,
    on_update,
)
from olmkit.runtime.watch.scope import CacheSettings
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.reconcile import Request
from olmkit.testing import clock
from olmkit.testing.apiserver.refusals import Refusal
from olmkit.testing.apiserver.server import ApiServer

THING = GVK(group="tests.example.com", version="v1", kind="Thing")
RESOURCE = Resource(gvk=THING, plural="things", subresources=frozenset({"status"}))
NAMES = [f"t{number}" for number in range(12)]
CONVERGENCE = 2.0  # seconds after the last fault
PATIENCE = 0.005  # real seconds for sockets: both ends are in this loop


def _size_changed(event: UpdateEvent) -> bool:
    """A filter as authors write it: it ignores UIDs."""
    assert event.old is not None
    assert event.new is not None
    return event.old.manifest()["spec"] != event.new.manifest()["spec"]


@dataclass
class World:
    """A server, and a controller that records the last object and generation that it saw."""

    server: ApiServer = field(default_factory=lambda: ApiServer.of([RESOURCE]))
    seen: dict[Request, tuple[str, int] | None] = field(default_factory=dict)
    manager: Manager | None = None

    async def reconcile(self, request: Request) -> None:
        assert self.manager is not None
        found = await self.manager.client.get(THING, request)
        self.seen[request] = found and (found["metadata"]["uid"], found["metadata"]["generation"])

    def put(self, name: str, **spec: Any) -> None:
        self.server.put("things", {"metadata": {"name": name}, "spec": spec})

    def drop(self, name: str) -> None:
        if self.server.get("things", name) is not None:
            self.server.remove("things", name)

    def again(self, name: str) -> None:
        """Create another object under the same name, with the same spec and generation."""
        old = self.server.get("things", name)
        self.drop(name)
        self.put(name, **(old["spec"] if old is not None else {"size": 1}))

    def truth(self) -> dict[Request, tuple[str, int]]:
        return {
            Request(one["metadata"]["name"], "default"): (
                one["metadata"]["uid"],
                one["metadata"]["generation"],
            )
            for one in self.server.all("things")
        }

    def missing(self) -> dict[Request, Any]:
        expected = dict.fromkeys(self.seen, None) | self.truth()
        return {key: one for key, one in expected.items() if self.seen.get(key, 0) != one}


@asynccontextmanager
async def controlled(
    world: World, *predicates: Predicate, streaming: bool = False
) -> AsyncIterator[World]:
    for name in NAMES[::2]:
        world.put(name, size=1)
    async with world.server.serving():
        config = ClusterConfig(server=world.server.url, credentials=NoCredentials())
        async with HttpCluster(config) as cluster:
            settings = CacheSettings(streaming=streaming)
            world.manager = manager = Manager(cluster, name="tests", cache_settings=settings)
            manager.add_controller(ControllerBuilder().watches_for(THING, *predicates).build(world))
            running = asyncio.create_task(manager.run())
            try:
                yield world
            finally:
                manager.stop()
                await running


def _shake(world: World, source: random.Random) -> None:
    """The changes of users, some of them at the same time."""
    for _ in range(source.randint(1, 4)):
        name = source.choice(NAMES)
        match source.randrange(4):
            case 0:
                world.put(name, size=source.randint(1, 3))
            case 1:
                world.drop(name)
            case _:
                world.again(name)


def _break(world: World, source: random.Random) -> None:
    """The faults of networks, proxies and etcd."""
    match source.randrange(4):
        case 0:
            world.server.cut_watches()
        case 1:
            world.server.end_watches()
        case 2:
            world.server.compact()
        case _:
            world.server.cut_watches()
            _shake(world, source)
            world.server.compact()


@pytest.mark.parametrize("seed", range(60))
def test_every_object_converges_soon_after_the_last_fault(seed: int) -> None:
    source = random.Random(seed)
    predicates = [(), (GENERATION_CHANGED,), (on_update(_size_changed),)][seed % 3]

    async def story() -> None:
        async with controlled(World(), *predicates, streaming=seed % 2 == 1) as world:
            await asyncio.sleep(1)
            for _ in range(source.randint(5, 25)):
                _shake(world, source)
                if source.random() < 0.6:
                    _break(world, source)
                await asyncio.sleep(source.choice([0, 0, 0.01, 0.3, 1.5, 6]))
            _shake(world, source)
            _break(world, source)
            _shake(world, source)
            await _until(lambda: not world.missing())
            assert not world.missing()

    clock.run(story(), patience=PATIENCE)


def test_changes_after_each_disconnect_are_seen_at_once() -> None:
    async def story() -> None:
        async with controlled(World(), GENERATION_CHANGED) as world:
            await asyncio.sleep(1)
            for number in range(30):
                await asyncio.sleep(5)
                world.server.cut_watches()
                world.put("t0", size=number)
                await _until(lambda: not world.missing())
                assert not world.missing(), f"after {number} cuts"
            listed = [one for one in world.server.accesses if one.verb == "list"]
            assert len(listed) == 1, "a disconnect needs no list"

    clock.run(story(), patience=PATIENCE)


def test_a_day_of_an_idle_proxy_that_disconnects_every_five_minutes_needs_no_list() -> None:
    async def story() -> None:
        server = ApiServer.of([RESOURCE])
        events: list[Event] = []
        async with server.serving():
            config = ClusterConfig(server=server.url, credentials=NoCredentials())
            async with HttpCluster(config) as cluster:
                cache = Cache(cluster)
                cache.informer(THING).add_handler(events.append)
                running = asyncio.create_task(cache.run())
                await asyncio.sleep(1)
                for number in range(24 * 12):
                    await asyncio.sleep(300)
                    server.cut_watches()
                    server.put("things", {"metadata": {"name": "a"}, "spec": {"size": number}})
                    await _until(lambda number=number: len(events) > number)
                    assert len(events) == number + 1
                running.cancel()
        assert [one.verb for one in server.accesses].count("list") == 1

    clock.run(story(), patience=PATIENCE)


def test_a_new_object_under_an_old_name_is_a_deletion_and_a_creation() -> None:
    async def story() -> None:
        events: list[Event] = []
        async with controlled(World()) as world:
            await asyncio.sleep(1)
            assert world.manager is not None
            world.manager.cache.informer(THING).add_handler(events.append)
            events.clear()
            world.server.cut_watches()
            world.again("t0")
            world.server.compact()
            await asyncio.sleep(1)
            told = [type(one).__name__ for one in events if _name(one) == "t0"]
            assert told == ["DeleteEvent", "CreateEvent"]
            [created] = [one for one in events if isinstance(one, CreateEvent)]
            assert not created.initial, "it has the priority of a current change"

    clock.run(story(), patience=PATIENCE)


async def _until(question: Callable[[], bool]) -> None:
    """Wait for a condition, within the time in which all objects must have converged.

    Each step gives sockets some real time, which a busy machine needs.
    """
    for _ in range(20):
        await asyncio.sleep(CONVERGENCE / 20)
        if question():
            return


def _name(event: Event) -> str:
    assert not isinstance(event, UpdateEvent) or event.new is not None
    found = event.new if isinstance(event, UpdateEvent) else event.object
    assert found is not None
    return found.key.name


def test_a_kind_that_the_server_cannot_convert_is_read_soon_after_it_can() -> None:
    """A `Retry-After` of half a minute is not waited for: the webhook can be in this process."""
    words = (
        "storage is (re)initializing: conversion webhook for tests.example.com/v1, Kind=Thing "
        'failed: Post "https://x.default.svc:443/convert?timeout=30s": dial tcp: refused'
    )

    def refuse(_: str, path: str) -> Refusal | None:
        if "/things" not in path:
            return None
        return Refusal(429, "TooManyRequests", words, retry_after=30)

    async def story() -> None:
        async with controlled(World()) as world:
            await asyncio.sleep(1)
            world.server.plan = refuse
            world.again("t0")
            world.server.cut_watches()
            await asyncio.sleep(5)
            assert world.manager is not None
            [failure] = world.manager.cache.informer(THING).failures
            assert "conversion webhook" in str(failure)
            world.server.plan = None
            await asyncio.sleep(15)
            assert not world.missing()
            assert not world.manager.cache.informer(THING).failures
            listed = [one for one in world.server.accesses if one.verb == "list"]
            assert len(listed) == 1, "no list: nothing was missed"

    clock.run(story(), patience=PATIENCE)


def test_a_first_list_that_the_server_cannot_convert_is_retried() -> None:
    async def story() -> None:
        world = World()
        left = [
            Refusal(
                429,
                "TooManyRequests",
                "storage is (re)initializing: conversion webhook for x failed",
                retry_after=30,
            )
            for _ in range(3)
        ]
        world.server.plan = lambda _, path: left.pop() if left and "/things" in path else None
        async with controlled(world) as world:
            await asyncio.sleep(15)
            assert not left
            assert not world.missing()

    clock.run(story(), patience=PATIENCE)


@pytest.mark.parametrize("seed", range(60))
def test_a_watch_of_the_client_has_the_current_state_soon_after_the_last_fault(seed: int) -> None:
    source = random.Random(seed)
    world = World()
    shown: dict[Request, tuple[str, int]] = {}

    async def follow(client: Client) -> None:
        async with contextlib.aclosing(client.watch(THING)) as changes:
            async for change in changes:
                metadata = change.object["metadata"]
                key = Request(metadata["name"], metadata["namespace"])
                is_known = key in shown
                match change.type:
                    case EventType.DELETED:
                        assert is_known
                        del shown[key]
                    case _:
                        # Shown objects are changed, others are added.
                        assert (change.type is EventType.MODIFIED) == is_known
                        shown[key] = (metadata["uid"], metadata["generation"])
                if source.random() < 0.2:
                    await asyncio.sleep(source.choice([0, 0.3]))  # a slow caller

    async def scenario() -> None:
        for name in NAMES[::2]:
            world.put(name, size=1)
        async with world.server.serving():
            config = ClusterConfig(server=world.server.url, credentials=NoCredentials())
            async with HttpCluster(config) as cluster:
                following = asyncio.create_task(follow(Client(cluster, None, field_manager="t")))
                for _ in range(25):
                    _shake(world, source)
                    _break(world, source)
                    await asyncio.sleep(source.choice([0, 0, 0.05, 0.4, 3]))
                    assert not following.done()
                await asyncio.sleep(CONVERGENCE + 3)
                assert shown == world.truth()
                following.cancel()
                await asyncio.wait([following])

    clock.run(scenario(), patience=PATIENCE)


def test_a_watch_of_the_client_restarts_after_its_version_is_forgotten() -> None:
    """410 as the answer to the watch, and 410 within it, as an event."""
    world = World()
    seen: list[tuple[EventType, str]] = []

    async def scenario() -> None:
        world.put("a", size=1)
        async with world.server.serving():
            config = ClusterConfig(server=world.server.url, credentials=NoCredentials())
            async with HttpCluster(config) as cluster:
                client = Client(cluster, None, field_manager="t")
                async with contextlib.aclosing(client.watch(THING)) as changes:
                    async for change in changes:
                        seen.append((change.type, change.object["metadata"]["name"]))
                        match len(seen):
                            case 1:
                                await asyncio.sleep(1)
                                world.server.cut_watches()
                                world.drop("a")
                                world.put("b", size=1)
                                world.server.compact()
                            case 3:
                                break
                            case _:
                                pass

    clock.run(scenario(), patience=PATIENCE)
    assert seen[0] == (EventType.ADDED, "a")
    assert sorted(seen[1:]) == [(EventType.ADDED, "b"), (EventType.DELETED, "a")]
