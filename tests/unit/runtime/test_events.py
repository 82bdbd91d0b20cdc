"""Events: sent, merged and dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from olmkit.base import names
from olmkit.kube.api import AlreadyExists, Cause, Cluster, ClusterError, NotFound, Resource
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.events import NORMAL, WARNING, EventRecorder
from olmkit.runtime.manager import Manager
from olmkit.runtime.metrics import Registry
from olmkit.testing import clock

CR: Manifest = {
    "apiVersion": "cache.example.com/v1",
    "kind": "Memcached",
    "metadata": {"name": "m", "namespace": "n", "uid": "u", "resourceVersion": "7"},
}


@dataclass
class Server:
    """The port's part for events; `errors` are raised first."""

    created: list[Manifest] = field(default_factory=list)
    patched: list[dict[str, Any]] = field(default_factory=list)
    errors: list[ClusterError] = field(default_factory=list)
    tries: int = 0

    async def resource(self, api_version: str, kind: str) -> Resource:
        return Resource(gvk=GVK.parse(api_version, kind), plural="events")

    async def create(self, _: Resource, manifest: Manifest, *, namespace: str) -> Manifest:
        assert namespace == manifest["metadata"]["namespace"]
        self._fail()
        self.created.append(manifest)
        return manifest

    async def patch(self, _: Resource, name: str, patch: Any, **__: Any) -> Manifest:
        self._fail()
        self.patched.append(patch["series"] | {"name": name})
        return {}

    def _fail(self) -> None:
        self.tries += 1
        if self.errors:
            raise self.errors.pop(0)


def run_scenario(
    work: Callable[[EventRecorder, Server], Awaitable[None]], *errors: ClusterError
) -> Server:
    """Run a recorder while `work` records events, and stop it."""
    server = Server(errors=list(errors))

    async def steps() -> None:
        ticks = iter(range(1_700_000_000_123_456_789, 2**62, 1000))
        recorder = EventRecorder(
            cast("Cluster", server), "memcached", instance="i", now=lambda: next(ticks)
        )
        running = asyncio.create_task(recorder.run())
        await work(recorder, server)
        recorder.stop()
        await running

    clock.run(steps())
    return server


def tell(recorder: EventRecorder, note: str = "made", **more: Any) -> None:
    recorder.event(CR, more.pop("type", NORMAL), "Created", "Create", note, **more)


def test_an_event_has_the_fields_of_the_new_api() -> None:
    async def work(recorder: EventRecorder, _: Server) -> None:
        tell(recorder, related={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})
        await asyncio.sleep(1)

    (event,) = run_scenario(work).created
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "m.17979cfe3d85cd15", "namespace": "n"},
        "eventTime": "2023-11-14T22:13:20.123456Z",
        "type": "Normal",
        "reason": "Created",
        "action": "Create",
        "note": "made",
        "regarding": {
            "apiVersion": "cache.example.com/v1",
            "kind": "Memcached",
            "namespace": "n",
            "name": "m",
            "uid": "u",
            "resourceVersion": "7",
        },
        "related": {"apiVersion": "v1", "kind": "Pod", "name": "p"},
        "reportingController": "memcached",
        "reportingInstance": "i",
    }


def test_the_second_equal_event_begins_a_series_and_later_ones_only_count() -> None:
    async def work(recorder: EventRecorder, server: Server) -> None:
        for _ in range(5):
            tell(recorder)
            await asyncio.sleep(1)
        assert [one["count"] for one in server.patched] == [2]
        await asyncio.sleep(400)  # the series ends, its last count is written
        assert [one["count"] for one in server.patched] == [2, 5]
        tell(recorder)
        await asyncio.sleep(1)
        assert len(server.created) == 2

    run_scenario(work)


def test_a_running_series_is_written_every_half_hour() -> None:
    async def work(recorder: EventRecorder, server: Server) -> None:
        for _ in range(14):
            tell(recorder)
            await asyncio.sleep(290)
        assert len(server.created) == 1
        assert [one["count"] for one in server.patched][:3] == [2, 8, 14]

    run_scenario(work)


def test_another_note_is_another_event() -> None:
    async def work(recorder: EventRecorder, _: Server) -> None:
        tell(recorder, "one")
        tell(recorder, "two")
        await asyncio.sleep(1)

    server = run_scenario(work)
    assert [one["note"] for one in server.created] == ["one", "two"]
    assert server.patched == []


def test_notes_that_always_differ_are_dropped_after_a_burst() -> None:
    async def work(recorder: EventRecorder, server: Server) -> None:
        for number in range(30):
            tell(recorder, f"note {number}")
        await asyncio.sleep(1)
        assert len(server.created) == 25
        assert recorder.dropped == 5
        tell(recorder, "of the other type", type=WARNING)
        await asyncio.sleep(300)
        tell(recorder, "later")
        await asyncio.sleep(1)
        assert len(server.created) == 27

    run_scenario(work)


def test_an_event_that_the_server_deleted_is_created_again_with_its_count() -> None:
    async def work(recorder: EventRecorder, server: Server) -> None:
        tell(recorder)
        await asyncio.sleep(1)
        server.errors.append(NotFound("gone", code=404))
        tell(recorder)
        await asyncio.sleep(1)

    server = run_scenario(work)
    assert [one.get("series", {}).get("count") for one in server.created] == [None, 2]


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (ClusterError("down", temporary=True), 2),
        (ClusterError("busy", code=429), 2),
        (ClusterError("", code=403, causes=[Cause("NamespaceTerminating", "", "")]), 1),
    ],
)
def test_temporary_errors_are_retried(error: ClusterError, tries: int) -> None:
    async def work(recorder: EventRecorder, _: Server) -> None:
        tell(recorder)
        await asyncio.sleep(30)

    assert run_scenario(work, error).tries == tries


def test_an_event_is_written_to_the_core_group_if_the_roles_only_allow_that() -> None:
    async def work(recorder: EventRecorder, _: Server) -> None:
        tell(recorder)
        await asyncio.sleep(1)
        tell(recorder, "other")
        await asyncio.sleep(1)

    server = run_scenario(work, ClusterError("not allowed", code=403))
    assert server.tries == 3
    assert [one["message"] for one in server.created] == ["made", "other"]
    event = server.created[0]
    assert event["apiVersion"] == "v1"
    assert event["involvedObject"]["name"] == "m"
    assert event["reportingComponent"] == "memcached"
    assert event["reportingInstance"] == "i"
    assert not {"note", "regarding", "reportingController"} & event.keys()


def test_an_event_that_no_role_allows_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    async def work(recorder: EventRecorder, _: Server) -> None:
        tell(recorder)
        await asyncio.sleep(30)

    server = run_scenario(work, *[ClusterError("not allowed", code=403)] * 2)
    assert (server.tries, server.created) == (2, [])
    assert [one.message for one in caplog.records].count("event not written") == 1


def test_an_unreachable_server_is_tried_twelve_times() -> None:
    async def work(recorder: EventRecorder, _: Server) -> None:
        tell(recorder)
        await asyncio.sleep(200)

    assert run_scenario(work, *[ClusterError("down", temporary=True)] * 20).tries == 12


def test_recording_never_waits_and_never_raises() -> None:
    async def work() -> None:
        registry = Registry()
        recorder = EventRecorder(cast("Cluster", Server()), "memcached", registry=registry)
        for _ in range(1001):
            tell(recorder)
        recorder.event(CR, "Odd", "Reason", "Action", "note")
        recorder.event(CR, NORMAL, "", "Action", "note")
        recorder.event(cast("Manifest", None), NORMAL, "Reason", "Action", "note")
        assert recorder.dropped == 1
        assert 'olmkit_events_dropped_total{controller="memcached"} 1.0\n' in registry.render()

    asyncio.run(work())


def test_late_events_are_sent_on_stop() -> None:
    async def work(recorder: EventRecorder, _: Server) -> None:
        tell(recorder)
        tell(recorder)
        tell(recorder)

    server = run_scenario(work)
    assert len(server.created) == 1
    assert server.patched[-1]["count"] == 3


def test_long_names_and_notes_are_shortened() -> None:
    async def work(recorder: EventRecorder, _: Server) -> None:
        metadata = {"name": "x" * 253}
        recorder.event({"metadata": metadata}, NORMAL, "R" * 200, "Act", "ä" * 1000)
        await asyncio.sleep(1)

    (event,) = run_scenario(work).created
    assert len(event["metadata"]["name"]) == 36
    assert event["metadata"]["namespace"] == "default"
    assert len(event["reason"]) == 128
    assert event["note"] == "ä" * 512


def test_ended_series_are_forgotten() -> None:
    async def work(recorder: EventRecorder, _: Server) -> None:
        for number in range(100):
            metadata = CR["metadata"] | {"name": f"m{number}", "uid": f"u{number}"}
            recorder.event(CR | {"metadata": metadata}, NORMAL, "Created", "Create", "made")
        await asyncio.sleep(10)
        assert recorder.remembered == 200
        await asyncio.sleep(1000)
        tell(recorder)
        await asyncio.sleep(1)
        assert recorder.remembered == 2

    assert len(run_scenario(work).created) == 101


def test_an_event_whose_answer_was_lost_is_not_sent_indefinitely() -> None:
    async def work(recorder: EventRecorder, server: Server) -> None:
        tell(recorder, "first")
        tell(recorder, "second")
        await asyncio.sleep(15)
        assert [one["note"] for one in server.created] == ["second"]

    lost = ClusterError("the answer was lost", temporary=True)
    assert run_scenario(work, lost, AlreadyExists("there", code=409)).tries == 3


@pytest.mark.parametrize("name", ["system:node", "Upper", "", "trailing-", "a..b", "ö"])
def test_an_event_has_a_valid_name(name: str) -> None:
    async def work(recorder: EventRecorder, _: Server) -> None:
        recorder.event({"metadata": {"name": name}}, NORMAL, "Reason", "Act", "")
        await asyncio.sleep(1)

    (event,) = run_scenario(work).created
    assert names.is_subdomain(event["metadata"]["name"])
    assert event["regarding"].get("name", "") == name


def test_events_without_a_sender_are_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        recorder = EventRecorder(cast("Cluster", Server()), "memcached")
        tell(recorder)
        tell(recorder)

    clock.run(scenario())
    assert caplog.messages == ["events are not sent: nothing runs their recorder"]


def test_the_manager_runs_its_recorder(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()

    async def scenario() -> None:
        manager = Manager(cast("Cluster", server), name="tests")
        recorder = manager.recorder("memcached")
        tell(recorder)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(1)
        manager.stop()
        await running

    clock.run(scenario())
    assert [one["reportingController"] for one in server.created] == ["memcached"]
    assert not caplog.messages
