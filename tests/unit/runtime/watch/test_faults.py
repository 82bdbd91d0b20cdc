"""After every fault the cache equals the server's state, and every object was reconciled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.credentials import ClusterCredentials, NoCredentials, TokenFileCredentials
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.manager import Manager
from olmkit.runtime.watch.scope import CacheSettings
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.reconcile import Request
from olmkit.testing import clock
from olmkit.testing.apiserver import refusals as api_refusals
from olmkit.testing.apiserver.refusals import Refusal
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.faults import Fault

THING = GVK(group="tests.example.com", version="v1", kind="Thing")
RESOURCE = Resource(gvk=THING, plural="things", subresources=frozenset({"status"}))
_PATIENCE = 1800.0  # simulated seconds; no test waits for them


def _gone() -> Refusal:
    return api_refusals.expired("too old resource version")


def _busy() -> Refusal:
    return Refusal(429, "TooManyRequests", "try again later", retry_after=2)


def _broken() -> Refusal:
    return Refusal(500, "InternalError", "broken")


@dataclass
class World:
    """A server, and a controller that records the last state of each object that it saw."""

    server: ApiServer
    serving: AsyncExitStack = field(default_factory=AsyncExitStack)
    seen: dict[Request, str | None] = field(default_factory=dict)
    manager: Manager | None = None
    port: int = 0

    async def reconcile(self, request: Request) -> None:
        assert self.manager is not None
        found = await self.manager.client.get(THING, request)
        self.seen[request] = None if found is None else found["metadata"]["resourceVersion"]

    def put(self, name: str, **spec: Any) -> None:
        self.server.put("things", {"metadata": {"name": name}, "spec": spec})

    def drop(self, name: str) -> None:
        if self.server.get("things", name) is not None:
            self.server.remove("things", name)

    def shake(self) -> None:
        """Change, create, delete, and delete and recreate objects."""
        self.put("changed", size=2)
        self.put("made", size=1)
        self.drop("deleted")
        self.drop("again")
        self.put("again", size=9)

    def truth(self) -> dict[Request, str]:
        return {
            Request(one["metadata"]["name"], "default"): one["metadata"]["resourceVersion"]
            for one in self.server.all("things")
        }

    async def held(self) -> dict[Request, str]:
        assert self.manager is not None
        snapshots = await self.manager.cache.list(THING)
        return {one.key: one.metadata.resource_version for one in snapshots}

    async def is_settled(self) -> bool:
        truth = self.truth()
        expected: dict[Request, str | None] = dict.fromkeys(self.seen, None) | truth
        return await self.held() == truth and self.seen == expected

    async def settle(self) -> None:
        """Wait until the cache equals the server, and all objects were reconciled."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _PATIENCE
        while not await self.is_settled():
            if loop.time() > end:
                assert await self.held() == self.truth()
                assert self.seen == dict.fromkeys(self.seen, None) | self.truth()
            await asyncio.sleep(1)

    async def up(self) -> None:
        await self.serving.enter_async_context(self.server.serving(port=self.port))
        self.port = int(self.server.url.rpartition(":")[2])

    async def down(self) -> None:
        await self.serving.aclose()


@asynccontextmanager
async def watched(
    world: World, credentials: ClusterCredentials | None = None, *, streaming: bool = False
) -> AsyncIterator[World]:
    """The world with the running controller, once it has seen the existing objects."""
    for name in ("same", "changed", "deleted", "again"):
        world.put(name, size=1)
    await world.up()
    config = ClusterConfig(server=world.server.url, credentials=credentials or NoCredentials())
    async with world.serving, HttpCluster(config) as cluster:
        cached = CacheSettings(streaming=streaming)
        world.manager = manager = Manager(cluster, name="tests", cache_settings=cached)
        manager.add_controller(ControllerBuilder().watches_for(THING).build(world))
        running = asyncio.create_task(manager.run())
        try:
            await asyncio.sleep(1)
            await world.settle()
            yield world
        finally:
            manager.stop()
            await running
            await world.down()


def once(world: World, verb: str, *answers: Refusal | Fault | float) -> None:
    """The next requests with that verb get these answers."""
    left = list(answers)

    def plan(method: str, path: str) -> Refusal | Fault | float | None:
        is_it = method == "GET" and ("watch=true" in path) is (verb == "watch")
        return left.pop(0) if is_it and left else None

    world.server.plan = plan


Break = Callable[[World], Awaitable[None]]


async def watch_ends(world: World) -> None:
    world.server.end_watches()


async def watch_is_cut(world: World) -> None:
    world.server.cut_watches()


async def watch_freezes(world: World) -> None:
    world.server.freeze_watches()
    await asyncio.sleep(0)


async def history_is_forgotten(world: World) -> None:
    world.server.end_watches()
    world.shake()
    world.server.compact()


async def version_is_gone_at_the_start(world: World) -> None:
    once(world, "watch", _gone(), _gone())
    world.server.end_watches()


async def version_is_gone_in_the_list_too(world: World) -> None:
    def plan(_: str, path: str) -> Refusal | None:
        return _gone() if "resourceVersion=" in path else None

    world.server.plan = plan
    world.server.cut_watches()
    await asyncio.sleep(100)
    world.server.plan = None


async def server_is_overloaded(world: World) -> None:
    once(world, "watch", *(_busy() for _ in range(25)))
    world.server.end_watches()


async def server_is_broken(world: World) -> None:
    once(world, "watch", *(_broken() for _ in range(5)))
    world.server.end_watches()


async def lists_are_broken(world: World) -> None:
    await history_is_forgotten(world)
    once(world, "list", _broken(), _busy(), _gone(), Fault.CUT_BEFORE, _broken())


async def connections_are_cut(world: World) -> None:
    once(world, "watch", *(Fault.CUT_BEFORE for _ in range(5)))
    world.server.cut_watches()


async def server_dawdles(world: World) -> None:
    world.server.plan = lambda _, __: 20.0
    world.server.end_watches()
    await asyncio.sleep(100)
    world.server.plan = None


async def server_does_not_answer(world: World) -> None:
    once(world, "watch", 3000.0, 3000.0)
    world.server.end_watches()
    await asyncio.sleep(0)


async def clock_jumps(_: World) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, clock.ClockLoop)
    loop.advance(86_400)


async def server_restarts(world: World) -> None:
    await world.down()
    world.shake()
    await asyncio.sleep(60)
    await world.up()


async def server_restarts_without_history(world: World) -> None:
    await world.down()
    world.shake()
    world.server.compact()
    await world.up()


async def server_comes_back_from_a_backup(world: World) -> None:
    """Its resource versions are older than those that were seen."""
    await world.down()
    world.server.compact()
    world.server.version -= 90
    world.server.forgotten = world.server.version
    for one in world.server.collections.values():
        for manifest in one.objects.values():
            manifest["metadata"]["resourceVersion"] = str(world.server.version)
    await world.up()


async def lists_come_from_a_server_that_lags(world: World) -> None:
    world.server.stale_at = world.server.version
    await history_is_forgotten(world)
    world.server.stale_at = 101
    await asyncio.sleep(60)
    world.server.stale_at = None


@pytest.mark.parametrize("streaming", [False, True], ids=["listed", "streamed"])
@pytest.mark.parametrize(
    "fault",
    [
        watch_ends,
        watch_is_cut,
        watch_freezes,
        history_is_forgotten,
        version_is_gone_at_the_start,
        version_is_gone_in_the_list_too,
        server_is_overloaded,
        server_is_broken,
        lists_are_broken,
        connections_are_cut,
        server_dawdles,
        server_does_not_answer,
        clock_jumps,
        server_restarts,
        server_restarts_without_history,
        server_comes_back_from_a_backup,
        lists_come_from_a_server_that_lags,
    ],
    ids=lambda fault: fault.__name__,
)
def test_nothing_is_missed_after_each_fault(fault: Break, streaming: bool) -> None:
    async def scenario() -> None:
        async with watched(World(ApiServer.of([RESOURCE])), streaming=streaming) as world:
            await fault(world)
            world.shake()
            await world.settle()
            # The cache continues.
            world.server.plan = None
            world.put("later", size=1)
            await world.settle()

    clock.run(scenario(), patience=0.001)


def test_existing_objects_are_streamed_without_a_list() -> None:
    async def scenario() -> None:
        async with watched(World(ApiServer.of([RESOURCE])), streaming=True) as world:
            await history_is_forgotten(world)
            await world.settle()
            assert {one.verb for one in world.server.accesses} == {"watch"}

    clock.run(scenario(), patience=0.001)


@pytest.mark.parametrize("how", ["refused", "ignored"])
def test_a_server_without_streaming_lists_is_listed(how: str) -> None:
    async def scenario() -> None:
        world = World(ApiServer.of([RESOURCE]))

        def plan(_: str, path: str) -> Refusal | None:
            return Refusal(422, "Invalid", "what") if "sendInitialEvents" in path else None

        if how == "refused":
            world.server.plan = plan
        else:
            world.server.streams_lists = False
        async with watched(world, streaming=True):
            world.shake()
            await world.settle()
            assert "list" in {one.verb for one in world.server.accesses}

    clock.run(scenario(), patience=0.001)


def test_an_overloaded_server_is_not_listed() -> None:
    async def scenario() -> None:
        async with watched(World(ApiServer.of([RESOURCE]))) as world:
            before = len([one for one in world.server.accesses if one.verb == "list"])
            await server_is_overloaded(world)
            world.shake()
            await world.settle()
            after = len([one for one in world.server.accesses if one.verb == "list"])
            assert after == before

    clock.run(scenario(), patience=0.001)


def test_a_rotated_token_is_read_again(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("one")

    async def scenario() -> None:
        world = World(ApiServer.of([RESOURCE]))
        world.server.authenticates = True
        world.server.users = {"one": {"username": "me"}}
        async with watched(world, TokenFileCredentials(token)):
            world.server.users = {"two": {"username": "me"}}
            token.write_text("two")
            world.server.end_watches()
            world.shake()
            await world.settle()

    clock.run(scenario(), patience=0.001)


def test_pages_are_read_again_if_their_token_expires() -> None:
    async def scenario() -> None:
        world = World(ApiServer.of([RESOURCE]))
        for number in range(600):
            world.put(f"n{number}", size=1)
        failed: list[str] = []

        def plan(_: str, path: str) -> Refusal | None:
            if "continue=" in path and not failed:
                failed.append(path)
                return _gone()
            return None

        world.server.plan = plan
        async with watched(world):
            assert len(await world.held()) == 604
        assert failed

    clock.run(scenario(), patience=0.001)


NAMES = st.sampled_from("abcde")
STEPS = st.one_of(
    st.tuples(st.just("put"), NAMES, st.integers(1, 9)),
    st.tuples(st.just("drop"), NAMES),
    st.tuples(st.just("sleep"), st.sampled_from([0.0, 0.001, 1.0, 200.0])),
    st.tuples(
        st.sampled_from(["end_watches", "cut_watches", "freeze_watches", "compact", "restart"])
    ),
    st.tuples(st.just("refuse"), st.sampled_from(["list", "watch"]), st.integers(1, 4)),
)
ANSWERS: list[Callable[[], Refusal | Fault | float]] = [
    _gone,
    _busy,
    _broken,
    lambda: Fault.CUT_BEFORE,
    lambda: 45.0,
]


@pytest.mark.property
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STEPS, max_size=12))
def test_the_cache_equals_the_server_after_any_mixture_of_faults(
    steps: list[tuple[Any, ...]],
) -> None:
    async def scenario() -> None:
        async with watched(World(ApiServer.of([RESOURCE]))) as world:
            for step in steps:
                match step:
                    case ("put", name, size):
                        world.put(name, size=size)
                    case ("drop", name):
                        world.drop(name)
                    case ("sleep", seconds):
                        await asyncio.sleep(seconds)
                    case ("restart",):
                        await world.down()
                        await world.up()
                    case ("refuse", verb, number):
                        once(world, verb, *(ANSWERS[(number + i) % 5]() for i in range(number)))
                    case (method,):
                        getattr(world.server, method)()
            await world.settle()

    clock.run(scenario(), patience=0.001)
