"""The end of a watch decides what follows; the server is scripted."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from olmkit.kube.api import (
    ClusterError,
    EventType,
    Gone,
    NoSuchKind,
    ObjectList,
    Resource,
    TooLargeResourceVersion,
    TooManyRequests,
    Unreachable,
    WatchEvent,
)
from olmkit.kube.objects import GVK
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.watch.reflector import Backoff, Reflector
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.work.reconcile import Request
from olmkit.testing import clock

KIND = GVK(group="", version="v1", kind="ConfigMap")
RESOURCE = Resource(gvk=KIND, plural="configmaps")
Step = Callable[[], Any]


def _raw(name: str, version: int, **other: Any) -> bytes:
    metadata = {"name": name, "namespace": "n", "resourceVersion": str(version), **other}
    return json.dumps({"metadata": metadata}).encode()


def _event(kind: EventType, name: str, version: int) -> WatchEvent:
    return WatchEvent(kind, _raw(name, version))


class _Server:
    """Answers lists and watches from a script, and records the requests."""

    def __init__(self, lists: Sequence[Any], watches: Sequence[Any] = ()) -> None:
        self.lists = list(lists)
        self.watches = list(watches)
        self.asked: list[str] = []
        self.at: list[float] = []  # when each watch was requested

    async def resource(self, api_version: str, kind: str) -> Resource:  # noqa: ARG002
        return RESOURCE

    async def list_page(self, resource: Resource, **options: Any) -> ObjectList:  # noqa: ARG002
        version, limit = options["resource_version"], options["limit"]
        token = options["continue_token"]
        self.asked.append(f"list {version} {limit}" + (f" {token}" if token else ""))
        answer = self.lists.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, ObjectList)
        return answer

    async def watch(self, resource: Resource, **options: Any) -> AsyncIterator[WatchEvent]:  # noqa: ARG002
        self.asked.append(f"watch {options['resource_version']}")
        self.at.append(asyncio.get_running_loop().time())
        script = self.watches.pop(0) if self.watches else [asyncio.Event().wait]
        for step in script:
            if isinstance(step, WatchEvent):
                yield step
            elif isinstance(step, Exception):
                raise step
            elif step == "accepted":
                options["opened"]()
            elif isinstance(step, int | float):
                await asyncio.sleep(step)
            else:
                await step()


class _Sink:
    def __init__(self) -> None:
        self.seen: list[str] = []

    async def replace(self, snapshots: Sequence[Snapshot]) -> None:
        self.seen.append("replace " + ",".join(one.key.name for one in snapshots))

    def upsert(self, snapshot: Snapshot) -> None:
        self.seen.append(f"upsert {snapshot.key.name}")

    def remove(self, snapshot: Snapshot) -> None:
        self.seen.append(f"remove {snapshot.key.name}")


def _page(*names: str, version: int = 10, token: str = "") -> ObjectList:
    return ObjectList(
        resource_version=str(version),
        items=[_raw(name, version) for name in names],
        continue_token=token,
    )


def _story(server: _Server, *, seconds: float = 600) -> tuple[list[str], list[str]]:
    """Return the requests and the calls of the sink after some time."""
    sink = _Sink()

    async def scenario() -> None:
        reflector = Reflector(
            server,  # type: ignore[arg-type]
            RESOURCE,
            sink,
            chance=random.Random(1),
        )
        task = asyncio.ensure_future(reflector.run())
        await asyncio.sleep(seconds)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    clock.run(scenario())
    return server.asked, sink.seen


def test_the_first_list_takes_any_version_and_the_watch_begins_there() -> None:
    asked, seen = _story(_Server([_page("a", "b")]))
    assert asked == ["list 0 500", "watch 10"]
    assert seen == ["replace a,b"]


def test_events_and_bookmarks_advance_the_version() -> None:
    watch = [
        _event(EventType.ADDED, "c", 11),
        _event(EventType.MODIFIED, "a", 12),
        _event(EventType.DELETED, "b", 13),
        _event(EventType.BOOKMARK, "", 20),
        5,
    ]
    asked, seen = _story(_Server([_page("a", "b")], [watch]))
    assert seen == ["replace a,b", "upsert c", "upsert a", "remove b"]
    assert asked == ["list 0 500", "watch 10", "watch 20"], "a clean end needs no list"


@pytest.mark.parametrize(
    ("end", "next_"),
    [
        (Gone("gone", code=410), "list 11 None"),
        (ClusterError("boom", code=500, temporary=True), "list 11 None"),
        (TooManyRequests("slow down", code=429, temporary=True), "watch 11"),
        (Unreachable("refused", temporary=True), "watch 11"),
        (ClusterError("no event", temporary=True), "list 11 None"),
    ],
)
def test_the_end_of_a_watch_decides_what_follows(end: Exception, next_: str) -> None:
    asked, _ = _story(
        _Server([_page("a"), _page("a", version=30)], [[_event(EventType.ADDED, "b", 11), 2, end]])
    )
    assert asked[2] == next_


def test_a_watch_that_worked_and_was_disconnected_is_opened_again_at_once_each_time() -> None:
    cut = ["accepted", 5, Unreachable("reset by peer", temporary=True)]
    server = _Server([_page("a")], [cut] * 20)
    asked, _ = _story(server, seconds=120)
    assert asked[1:] == ["watch 10"] * 21
    assert [round(two - one, 3) for one, two in zip(server.at, server.at[1:], strict=False)] == (
        [5.0] * 20
    )


def test_a_watch_that_is_disconnected_at_once_is_opened_with_growing_delays_and_not_listed() -> (
    None
):
    cut = ["accepted", 0.01, Unreachable("reset by peer", temporary=True)]
    works = ["accepted", 5, Unreachable("reset by peer", temporary=True)]
    server = _Server([_page("a")], [*[cut] * 6, works, cut])
    asked, _ = _story(server, seconds=120)
    assert set(asked[1:]) == {"watch 10"}
    pauses = [two - one for one, two in zip(server.at, server.at[1:], strict=False)]
    assert 0.1 <= pauses[0] <= 0.3
    assert all(one < two * 1.3 for one, two in itertools.pairwise(pauses[:6]))
    assert pauses[5] > 2
    assert pauses[7] <= 0.3, "it worked in between"


def test_a_server_that_becomes_unreachable_is_first_retried_soon() -> None:
    away = [Unreachable("refused", temporary=True)]
    works = ["accepted", 5, Unreachable("reset by peer", temporary=True)]
    server = _Server([_page("a")], [*[away] * 5, works, away])
    _story(server, seconds=200)
    pauses = [two - one for one, two in zip(server.at, server.at[1:], strict=False)]
    assert pauses[4] > 10
    assert pauses[5] == 5
    assert pauses[6] <= 1.7


def test_a_watch_that_is_closed_at_once_is_an_error_and_lists_again() -> None:
    asked, _ = _story(_Server([_page("a"), _page("a", version=12)], [[]]))
    assert asked[:4] == ["list 0 500", "watch 10", "list 10 None", "watch 12"]


@pytest.mark.parametrize(
    "refusal", [Gone("gone", code=410), TooLargeResourceVersion("ahead", code=504)]
)
def test_a_list_whose_version_is_refused_is_requested_without_one_at_once(
    refusal: Exception,
) -> None:
    asked, seen = _story(_Server([refusal, _page("a")]), seconds=0.5)
    assert asked == ["list 0 500", "list None 500", "watch 10"]
    assert seen == ["replace a"]


def test_a_token_that_expires_between_pages_restarts_the_list() -> None:
    asked, seen = _story(
        _Server([_page("a", token="t"), Gone("expired", code=410), _page("a", "b")]), seconds=0.5
    )
    assert asked == ["list 0 500", "list 0 500 t", "list None 500", "watch 10"]
    assert seen == ["replace a,b"]


def test_pages_are_joined() -> None:
    _, seen = _story(_Server([_page("a", token="t"), _page("b", version=11)]))
    assert seen == ["replace a,b"]


def test_an_invalid_object_hides_no_other() -> None:
    odd = ObjectList(resource_version="10", items=[b"{", _raw("a", 1), b'{"metadata":[]}'])
    _, seen = _story(_Server([odd]))
    assert seen == ["replace a"]


def test_an_unreadable_event_lists_again() -> None:
    asked, _ = _story(
        _Server([_page("a"), _page("a", version=12)], [[2, WatchEvent(EventType.ADDED, b"{")]])
    )
    assert asked[2] == "list 10 None"


def test_a_failing_list_is_retried_indefinitely_with_growing_delays() -> None:
    failures = [ClusterError("away", temporary=True) for _ in range(6)]
    asked, seen = _story(_Server([*failures, _page("a")]))
    assert asked.count("list 0 500") == 7
    assert seen == ["replace a"]


def test_the_back_off_doubles_up_to_its_limit_and_is_reset_after_quiet() -> None:
    class _NoJitter(random.Random):
        def random(self) -> float:
            return 0.0

    async def scenario() -> None:
        backoff = Backoff(chance=_NoJitter())
        assert [backoff.delay() for _ in range(7)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]
        await asyncio.sleep(200)
        assert backoff.delay() == 0.8

    clock.run(scenario())


def test_a_kind_without_a_crd_is_retried_until_it_exists() -> None:
    class _Late(_Server):
        missing = 3

        async def resource(self, api_version: str, kind: str) -> Resource:
            if self.missing:
                self.missing -= 1
                raise NoSuchKind("no such kind", code=404)
            return await super().resource(api_version, kind)

    asked, _ = _story(_Late([_page("a")]))
    assert asked == ["list 0 500", "watch 10"]


def test_a_late_handler_gets_existing_objects_as_copies() -> None:
    async def scenario() -> None:
        server = _Server([_page("a")], [[_event(EventType.ADDED, "b", 11), asyncio.Event().wait]])
        cache = Cache(server)  # type: ignore[arg-type]
        running = asyncio.ensure_future(cache.run())
        await asyncio.sleep(1)
        informer = await cache.synced_informer(KIND)
        await asyncio.sleep(1)
        seen: list[str] = []
        informer.add_handler(lambda event: seen.append(type(event).__name__))
        assert seen == ["CreateEvent", "CreateEvent"]
        found = await cache.get(KIND, Request("b", "n"))
        assert found is not None
        assert found.metadata.resource_version == "11"
        assert len(await cache.list(KIND, namespace="n")) == 2
        assert await cache.list(KIND, namespace="other") == []
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    clock.run(scenario())


def test_the_version_is_not_taken_from_an_unordered_stream() -> None:
    """A server whose lists have no version is watched from the beginning: all objects are added."""
    unversioned = ObjectList(resource_version="", items=[_raw("a", 7)])
    server = _Server(
        [unversioned, unversioned],
        [
            [_event(EventType.ADDED, "b", 9), _event(EventType.ADDED, "a", 7), 2],
            [_event(EventType.ADDED, "b", 9), _event(EventType.MODIFIED, "a", 12), 2],
        ],
    )
    asked, _ = _story(server)
    assert asked == ["list 0 500", "watch ", "list None None", "watch ", "watch 12"]


def test_other_tasks_run_during_many_events() -> None:
    """The received data can contain ten thousand events."""
    taken: list[int] = []

    class Counting(_Sink):
        def upsert(self, snapshot: Snapshot) -> None:  # noqa: ARG002
            taken[0] += 1

    async def scenario() -> None:
        events = [_event(EventType.MODIFIED, f"x{number}", number) for number in range(20, 10020)]
        server = _Server([_page()], [[*events, asyncio.Event().wait]])
        reflector = Reflector(server, RESOURCE, Counting())  # type: ignore[arg-type]
        taken.append(0)
        running = asyncio.create_task(reflector.run())
        longest, before = 0, 0
        while taken[0] < 10_000:
            await asyncio.sleep(0)
            longest, before = max(longest, taken[0] - before), taken[0]
        assert longest <= 200
        running.cancel()

    clock.run(scenario())
