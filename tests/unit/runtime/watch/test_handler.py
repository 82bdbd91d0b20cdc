from __future__ import annotations

from typing import Any

import pytest

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
from olmkit.runtime.work.workqueue import LOW_PRIORITY


class _Queue:
    """Records what is added."""

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
def test_an_event_asks_for_its_object(event: Event, added: list[tuple[str, int | None]]) -> None:
    assert _asked(EnqueueObject(), event) == added


def test_a_priority_that_the_author_chose_stays() -> None:
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


def test_an_owner_without_namespace_is_asked_for_without_one() -> None:
    handles = EnqueueOwner(group="cache.example.com", kind="Memcached", namespaced=False)
    event = CreateEvent(_object(ownerReferences=[_owner("m", controller=True)]))
    assert _asked(handles, event) == [("m", None)]


def test_an_owner_with_unknown_scope_gets_events_of_its_objects_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handles = EnqueueOwner(group="cache.example.com", kind="Memcached", namespaced=None)
    assert _asked(handles, CreateEvent(_object())) == []
    assert caplog.text == ""
    assert (
        _asked(handles, CreateEvent(_object(ownerReferences=[_owner("m", controller=True)]))) == []
    )
    assert "scope of the owner's kind is not known" in caplog.text


def test_an_owner_that_lost_its_child_hears_of_it() -> None:
    handles = EnqueueOwner(group="cache.example.com", kind="Memcached")
    event = UpdateEvent(
        _object(ownerReferences=[_owner("before", controller=True)]),
        _object(version="2", ownerReferences=[_owner("after", controller=True)]),
    )
    assert [key for key, _ in _asked(handles, event)] == ["n/before", "n/after"]


def test_a_mapping_is_asked_for_old_and_new_and_repeats_nothing_within_each() -> None:
    handles = EnqueueMapped(lambda snapshot: [Request(snapshot.metadata.resource_version)] * 2)
    event = UpdateEvent(_object(version="1"), _object(version="2"))
    assert _asked(handles, event) == [("1", None), ("2", None)]


def test_a_mapping_that_raises_is_logged_and_the_rest_continues(
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


def test_mapping_that_finds_nothing_may_say_none() -> None:
    assert _asked(handler.EnqueueMapped(lambda _: None), CreateEvent(_object())) == []


def test_mapping_that_would_have_to_be_awaited_is_refused_at_once() -> None:
    async def find(_: Snapshot) -> list[Request]:
        return []

    with pytest.raises(TypeError, match="nothing can be awaited"):
        handler.EnqueueMapped(find)  # type: ignore[arg-type]
