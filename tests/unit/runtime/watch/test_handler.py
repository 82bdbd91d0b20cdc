from __future__ import annotations

import asyncio
from typing import Any

import pytest

from olmkit.kube.api import Unreachable
from olmkit.runtime.watch import handler
from olmkit.runtime.watch.handler import EnqueueMapped, EnqueueObject, EnqueueOwner
from olmkit.runtime.watch.predicate import (
    CreateEvent,
    DeleteEvent,
    Event,
    GenericEvent,
    UpdateEvent,
)
from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.work.reconcile import Request
from olmkit.runtime.work.workqueue import LOW_PRIORITY, WorkQueue
from olmkit.testing import clock


class _Queue:
    """Records added requests."""

    def __init__(self) -> None:
        self.added: list[tuple[str, int | None]] = []

    def add(self, key: Request, *, priority: int | None = None) -> None:
        self.added.append((str(key), priority))


def _object(name: str = "a", version: str = "1", **metadata: Any) -> Snapshot:
    return Snapshot.of(
        {"metadata": {"name": name, "namespace": "n", "resourceVersion": version, **metadata}}
    )


def _owner(name: str, **other: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cache.example.com/v1",
        "kind": "Memcached",
        "name": name,
        "uid": "u",
    } | other


def _asked(handles: handler.Handler, event: Event) -> list[tuple[str, int | None]]:
    queue = _Queue()
    handles.handle(event, queue)  # type: ignore[arg-type]
    return queue.added


@pytest.mark.parametrize(
    ("event", "added"),
    [
        (CreateEvent(_object()), [("n/a", None)]),
        (CreateEvent(_object(), initial=True), [("n/a", LOW_PRIORITY)]),
        (UpdateEvent(_object(), _object(version="2")), [("n/a", None)]),
        (UpdateEvent(_object(), _object()), [("n/a", LOW_PRIORITY)]),
        (UpdateEvent(_object("old"), None), [("n/old", None)]),
        (UpdateEvent(None, None), []),
        (DeleteEvent(_object(), state_unknown=True), [("n/a", None)]),
        (GenericEvent(_object()), [("n/a", None)]),
    ],
)
def test_an_event_requests_its_object(event: Event, added: list[tuple[str, int | None]]) -> None:
    assert _asked(EnqueueObject(), event) == added


def test_a_priority_of_the_author_is_kept() -> None:
    event = CreateEvent(_object(), initial=True)
    assert _asked(EnqueueObject(priority=3), event) == [("n/a", 3)]


@pytest.mark.parametrize(
    ("owners", "controller_only", "added"),
    [
        ([_owner("m", controller=True)], True, ["n/m"]),
        ([_owner("m")], True, []),
        ([_owner("m")], False, ["n/m"]),
        ([_owner("m", controller=True, apiVersion="cache.example.com/v9")], True, ["n/m"]),
        ([_owner("m", controller=True, apiVersion="other.example.com/v1")], True, []),
        ([_owner("m", controller=True, apiVersion="v1")], True, []),
        ([_owner("m", controller=True, kind="Other")], True, []),
        (None, True, []),
    ],
)
def test_an_owner_matches_by_group_and_kind(
    owners: list[dict[str, Any]] | None, controller_only: bool, added: list[str]
) -> None:
    handles = EnqueueOwner(
        group="cache.example.com", kind="Memcached", controller_only=controller_only
    )
    event = CreateEvent(_object(ownerReferences=owners))
    assert [key for key, _ in _asked(handles, event)] == added


def test_a_cluster_scoped_owner_is_requested_without_a_namespace() -> None:
    handles = EnqueueOwner(group="cache.example.com", kind="Memcached", namespaced=False)
    event = CreateEvent(_object(ownerReferences=[_owner("m", controller=True)]))
    assert _asked(handles, event) == [("m", None)]


def test_an_owner_with_unknown_scope_only_gets_events_of_its_objects(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handles = EnqueueOwner(group="cache.example.com", kind="Memcached", namespaced=None)
    assert _asked(handles, CreateEvent(_object())) == []
    assert caplog.text == ""
    assert (
        _asked(handles, CreateEvent(_object(ownerReferences=[_owner("m", controller=True)]))) == []
    )
    assert "scope of the owner's kind is not known" in caplog.text


def test_an_owner_that_lost_its_child_gets_an_event() -> None:
    handles = EnqueueOwner(group="cache.example.com", kind="Memcached")
    event = UpdateEvent(
        _object(ownerReferences=[_owner("before", controller=True)]),
        _object(version="2", ownerReferences=[_owner("after", controller=True)]),
    )
    assert [key for key, _ in _asked(handles, event)] == ["n/before", "n/after"]


def test_a_mapping_runs_for_old_and_new_and_repeats_no_request_of_each() -> None:
    handles = EnqueueMapped(lambda snapshot: [Request(snapshot.metadata.resource_version)] * 2)
    event = UpdateEvent(_object(version="1"), _object(version="2"))
    assert _asked(handles, event) == [("1", None), ("2", None)]


def test_an_exception_in_a_mapping_is_logged_and_other_events_continue(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def mapping(snapshot: Snapshot) -> list[Request]:
        if snapshot.metadata.resource_version == "1":
            raise ValueError("oops")
        return [Request("b")]

    event = UpdateEvent(_object(version="1"), _object(version="2"))
    assert _asked(EnqueueMapped(mapping), event) == [("b", None)]
    assert "mapping function failed" in caplog.text


def test_free_functions_get_event_and_queue() -> None:
    seen: list[Event] = []
    handles = handler.Funcs(delete=lambda event, _: seen.append(event))
    _asked(handles, CreateEvent(_object()))
    _asked(handles, DeleteEvent(_object()))
    assert seen == [DeleteEvent(_object())]


def test_a_mapping_without_results_can_return_none() -> None:
    assert _asked(handler.EnqueueMapped(lambda _: None), CreateEvent(_object())) == []


def _ran(function: handler.Mapping, *events: Event, seconds: float = 60) -> list[str]:
    """The keys that a queue got within some simulated seconds."""

    async def scenario() -> list[str]:
        queue: WorkQueue[Request] = WorkQueue()
        handles = EnqueueMapped(function)
        for event in events:
            handles.handle(event, queue)
        await asyncio.sleep(seconds)
        found = []
        while len(queue):
            item = await queue.get()
            assert item is not None
            found.append(str(item[0]))
        queue.shut_down()
        return found

    return clock.run(scenario())


def test_a_mapping_can_be_asynchronous() -> None:
    at_once = most = 0

    async def find(snapshot: Snapshot) -> list[Request]:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.1)
        at_once -= 1
        return [Request(snapshot.metadata.resource_version)]

    events = [
        UpdateEvent(_object(version=f"{number}"), _object(version=f"{number + 1}"))
        for number in range(0, 60, 2)
    ]
    assert sorted(_ran(find, *events), key=int) == [str(number) for number in range(60)]
    assert most == 8  # a few at a time, not one for each event


def test_a_plain_function_that_wraps_an_asynchronous_mapping_is_awaited() -> None:
    async def find(_: Snapshot) -> list[Request]:
        return [Request("b")]

    assert _ran(lambda snapshot: find(snapshot), CreateEvent(_object())) == ["b"]


def test_an_event_is_not_lost_while_the_server_does_not_answer() -> None:
    tries = 0

    async def find(_: Snapshot) -> list[Request]:
        nonlocal tries
        tries += 1
        if tries < 6:
            raise Unreachable("refused")
        return [Request("b")]

    assert _ran(find, CreateEvent(_object())) == ["b"]
    assert tries == 6


def test_an_exception_in_an_asynchronous_mapping_is_logged_and_other_events_continue(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def find(snapshot: Snapshot) -> list[Request] | None:
        if snapshot.metadata.resource_version == "1":
            raise ValueError("oops")
        return [Request("b")] if snapshot.metadata.resource_version == "2" else None

    events = [CreateEvent(_object(version=version)) for version in "123"]
    assert _ran(find, *events) == ["b"]
    assert caplog.text.count("mapping function failed") == 1
