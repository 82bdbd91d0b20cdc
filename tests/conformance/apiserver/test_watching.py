"""Watches: their start, their events, and their end."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from olmkit.kube.api import Gone

if TYPE_CHECKING:
    from conftest import World


def types_and_names(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["type"], one["object"]["metadata"].get("name", "")) for one in events]


async def now(world: World, plural: str = "configmaps") -> str:
    answer = await world.ask("GET", world.path(plural))
    version: str = answer.body["metadata"]["resourceVersion"]
    return version


async def test_a_watch_has_the_events_after_a_version(world: World) -> None:
    await world.make("configmaps", "before")
    version = await now(world)
    await world.make("configmaps", "a", data={"x": "1"})
    await world.patch("configmaps", "a", {"data": {"x": "2"}})
    await world.ask("DELETE", world.path("configmaps", "a"))
    events = await world.events("configmaps", resourceVersion=version)
    assert types_and_names(events) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    versions = [int(one["object"]["metadata"]["resourceVersion"]) for one in events]
    assert versions == sorted(set(versions))
    assert versions[0] > int(version)
    assert events[2]["object"]["data"] == {"x": "2"}, "the last state"
    assert all(one["object"]["kind"] == "ConfigMap" for one in events)


async def test_a_watch_has_new_events(world: World) -> None:
    version = await now(world)
    watching = asyncio.ensure_future(world.events("configmaps", resourceVersion=version, seconds=2))
    await asyncio.sleep(0.3)
    await world.make("configmaps", "a")
    assert types_and_names(await watching) == [("ADDED", "a")]


@pytest.mark.parametrize("version", ["0", None])
async def test_a_watch_without_a_version_begins_with_existing_objects(
    world: World, version: str | None
) -> None:
    await world.make("configmaps", "a")
    await world.patch("configmaps", "a", {"data": {"x": "1"}})
    await world.make("configmaps", "b")
    params = {} if version is None else {"resourceVersion": version}
    events = await world.events("configmaps", **params)
    assert sorted(types_and_names(events)) == [("ADDED", "a"), ("ADDED", "b")]


async def test_a_watch_of_a_compacted_version_is_an_error_event(world: World) -> None:
    [event] = await world.events("widgets", resourceVersion="1")
    assert event["type"] == "ERROR"
    assert event["object"]["kind"] == "Status"
    assert event["object"]["code"] == 410
    assert event["object"]["reason"] == "Expired"


async def test_the_client_raises_gone_for_a_compacted_version(world: World) -> None:
    resource = await world.cluster.resource("tests.example.com/v1", "Widget")
    with pytest.raises(Gone):
        async for _ in world.cluster.watch(
            resource, namespace=world.namespace, resource_version="1", timeout_seconds=1
        ):
            pass


async def test_a_selector_adds_and_deletes_objects_in_a_watch(world: World) -> None:
    version = await now(world)
    await world.make("configmaps", "a", metadata={"labels": {"x": "1"}})
    await world.patch("configmaps", "a", {"metadata": {"labels": {"x": "2"}}})
    await world.patch("configmaps", "a", {"metadata": {"labels": {"x": "1"}}})
    await world.patch("configmaps", "a", {"data": {"k": "v"}})
    await world.make("configmaps", "never")
    events = await world.events("configmaps", resourceVersion=version, labelSelector="x=1")
    assert types_and_names(events) == [
        ("ADDED", "a"),
        ("DELETED", "a"),
        ("ADDED", "a"),
        ("MODIFIED", "a"),
    ]
    gone = events[1]["object"]["metadata"]
    assert gone["labels"] == {"x": "1"}, "the last selected state"
    assert int(gone["resourceVersion"]) > int(events[0]["object"]["metadata"]["resourceVersion"])


async def test_field_selectors_apply_to_watches(world: World) -> None:
    version = await now(world)
    for name in ("a", "b"):
        await world.make("configmaps", name)
    events = await world.events(
        "configmaps", resourceVersion=version, fieldSelector="metadata.name=b"
    )
    assert types_and_names(events) == [("ADDED", "b")]


async def test_a_watch_only_sees_its_namespace(world: World) -> None:
    version = await now(world)
    other = f"{world.namespace}-other"
    if not world.is_double:
        await world.ask(
            "POST",
            "/api/v1/namespaces",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}},
        )
    manifest = world.manifest("configmaps", "b")
    await world.ask("POST", f"/api/v1/namespaces/{other}/configmaps", manifest)
    await world.make("configmaps", "a")
    events = await world.events("configmaps", resourceVersion=version)
    assert types_and_names(events) == [("ADDED", "a")]


async def test_a_bookmark_ends_the_initial_events(world: World) -> None:
    await world.make("widgets", "a")
    await world.make("widgets", "b")
    events = await world.events(
        "widgets",
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )
    assert sorted(types_and_names(events[:2])) == [("ADDED", "a"), ("ADDED", "b")]
    mark = events[2]
    assert mark["type"] == "BOOKMARK"
    metadata = mark["object"]["metadata"]
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert metadata["resourceVersion"].isdigit()
    assert mark["object"]["kind"] == "Widget"


async def test_initial_events_need_a_version_match(world: World) -> None:
    [answer] = await world.events("widgets", sendInitialEvents="true")
    assert answer["type"] == "HTTP 422"


async def test_a_watch_that_is_about_to_end_sends_a_bookmark(world: World) -> None:
    version = await now(world)
    await world.make("configmaps", "a")
    # A real server checks periodically, and two seconds before the end; a busy one can be late.
    for _ in range(5):
        events = await world.events(
            "configmaps",
            seconds=4 if world.is_double else 10,
            resourceVersion=version,
            allowWatchBookmarks="true",
        )
        assert types_and_names(events[:1]) == [("ADDED", "a")]
        if events[1:] or world.is_double:
            break
    assert {one["type"] for one in events[1:]} == {"BOOKMARK"}
    mark = events[-1]["object"]
    assert int(mark["metadata"]["resourceVersion"]) >= int(version)
    assert mark["kind"] == "ConfigMap"


async def test_a_watch_can_be_for_metadata_only(world: World) -> None:
    version = await now(world, "widgets")
    await world.make("widgets", "a")
    resource = await world.cluster.resource("tests.example.com/v1", "Widget")
    found = []
    async for event in world.cluster.watch(
        resource,
        namespace=world.namespace,
        resource_version=version,
        timeout_seconds=1,
        metadata_only=True,
    ):
        found.append(json.loads(event.object))  # noqa: PERF401 - as they come
    [one] = found
    assert one.keys() == {"kind", "apiVersion", "metadata"}
    assert (one["apiVersion"], one["kind"]) == ("meta.k8s.io/v1", "PartialObjectMetadata")


async def test_a_status_change_is_an_event(world: World) -> None:
    await world.make("widgets", "a")
    version = await now(world, "widgets")
    await world.patch("widgets", "a", {"status": {"ready": 1}}, sub="status")
    await world.patch("widgets", "a", {"status": {"ready": 1}}, sub="status")
    events = await world.events("widgets", resourceVersion=version)
    assert types_and_names(events) == [("MODIFIED", "a")], (
        "a write without a change is not an event"
    )
