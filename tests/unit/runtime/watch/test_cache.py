"""Informers with a real connection: events in order, scopes, transforms, reads and ends."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Forbidden, Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.watch.predicate import CreateEvent, DeleteEvent, Event, UpdateEvent
from olmkit.runtime.watch.scope import ALL_NAMESPACES, CacheSettings, Scope
from olmkit.runtime.work.reconcile import Request
from olmkit.testing import clock
from olmkit.testing.apiserver.server import ApiServer
from olmkit.testing.faults import Fault

MAP = GVK(group="", version="v1", kind="ConfigMap")
KEY = Request("a", "n")


def run_scenario(
    work: Callable[[ApiServer, Cache], Awaitable[None]],
    settings: CacheSettings | None = None,
) -> ApiServer:
    server = ApiServer.of([Resource(gvk=MAP, plural="configmaps")])

    async def steps() -> None:
        async with (
            server.serving(),
            HttpCluster(ClusterConfig(server=server.url)) as cluster,
        ):
            cache = Cache(cluster, settings)
            running = asyncio.create_task(cache.run())
            await asyncio.sleep(0)
            try:
                await work(server, cache)
            finally:
                running.cancel()
                await asyncio.wait([running])

    clock.run(steps(), patience=0.001)
    return server


def put(server: ApiServer, name: str, namespace: str = "n", **fields: Any) -> None:
    metadata = {"name": name, "namespace": namespace} | fields.pop("metadata", {})
    server.put("configmaps", {"metadata": metadata} | fields)


def described(event: Event) -> str:
    match event:
        case CreateEvent(one, initial):
            return f"{'initial' if initial else 'new'} {one.key.name}"
        case UpdateEvent(_, new) if new is not None:
            return f"changed {new.key.name}"
        case DeleteEvent(one, unknown):
            return f"{'lost' if unknown else 'deleted'} {one.key.name}"
        case _:
            return "?"


def test_handlers_get_events_in_order_after_the_store_changed() -> None:
    async def work(server: ApiServer, cache: Cache) -> None:
        put(server, "a")
        informer = cache.informer(MAP)
        seen: list[str] = []
        late: list[str] = []

        def handler(event: Event) -> None:
            one = event.new if isinstance(event, UpdateEvent) else event.object
            assert one is not None
            held = informer.get(one.key)
            assert (held is None) is isinstance(event, DeleteEvent), "the store was changed first"
            seen.append(described(event))

        def broken(_: Event) -> None:
            raise ValueError("a mistake in one handler is not another's")

        informer.add_handler(broken)
        informer.add_handler(handler)
        await informer.wait_for_sync()
        assert seen == ["initial a"]
        put(server, "b")
        put(server, "a", data={"x": "1"})
        server.remove("configmaps", "b", "n")
        await asyncio.sleep(1)
        assert seen == ["initial a", "new b", "changed a", "deleted b"]
        informer.add_handler(broken)
        informer.add_handler(lambda event: late.append(described(event)))
        assert late == ["initial a"]

    run_scenario(work)


def test_a_list_after_a_lost_watch_has_the_missed_changes() -> None:
    async def work(server: ApiServer, cache: Cache) -> None:
        for name in ("gone", "same", "changed", "again"):
            put(server, name)
        informer = cache.informer(MAP)
        events: list[Event] = []
        informer.add_handler(events.append)
        await informer.wait_for_sync()
        events.clear()
        server.end_watches()
        server.remove("configmaps", "gone", "n")
        server.remove("configmaps", "again", "n")
        put(server, "changed", data={"x": "1"})
        put(server, "again")
        server.compact()
        await asyncio.sleep(30)
        assert sorted(map(described, events)) == [
            "changed changed",
            "changed same",
            "lost again",
            "lost gone",
            "new again",
        ]
        uids = {
            (one.old.metadata.uid == one.new.metadata.uid, one.new.key.name)
            for one in events
            if isinstance(one, UpdateEvent) and one.old and one.new
        }
        assert uids == {(True, "same"), (True, "changed")}

    run_scenario(work)


def test_other_tasks_run_while_many_objects_are_deleted() -> None:
    async def work(server: ApiServer, cache: Cache) -> None:
        names = [f"m{number}" for number in range(1000)]
        for name in names:
            put(server, name)
        informer = cache.informer(MAP)
        await informer.wait_for_sync()
        turns: list[int] = []  # the other tasks, at each object that is reported as deleted
        others = 0

        async def run_others() -> None:
            nonlocal others
            while len(turns) < len(names):
                others += 1
                await asyncio.sleep(0)

        def handler(event: Event) -> None:
            if isinstance(event, DeleteEvent):
                if not turns:
                    running.append(asyncio.ensure_future(run_others()))
                turns.append(others)

        running: list[asyncio.Future[None]] = []
        informer.add_handler(handler)
        server.end_watches()
        for name in names:
            server.remove("configmaps", name, "n")
        server.compact()
        await asyncio.sleep(30)
        assert len(turns) == len(names)
        assert len(set(turns)) > 1

    run_scenario(work)


def test_a_transform_runs_before_the_index_and_the_store() -> None:
    def trim(raw: bytes) -> bytes:
        value = json.loads(raw)
        if value.get("data", {}).get("break"):
            raise KeyError("a mistake")
        value["metadata"]["labels"] = {"trimmed": "yes"}
        value.pop("data", None)
        return json.dumps(value).encode()

    settings = CacheSettings(scope=Scope(transform=trim))

    async def work(server: ApiServer, cache: Cache) -> None:
        put(server, "a", data={"x": "1"})
        put(server, "broken", data={"break": "yes"})
        cache.add_index(MAP, "trimmed", lambda one: (one.metadata.labels or {}).values())
        found = await cache.list(MAP, index=("trimmed", "yes"))
        assert [one.manifest().get("data") for one in found] == [None]
        put(server, "a", data={"x": "2"})
        await asyncio.sleep(1)
        kept = await cache.get(MAP, KEY)
        assert kept is not None
        assert "data" not in kept.manifest()
        whole = await cache.get(MAP, Request("broken", "n"))
        assert whole is not None, "an exception in it hides no object"
        server.send_bookmarks()
        await asyncio.sleep(1)
        assert cache.informer(MAP).failures == []

    run_scenario(work, settings)


def test_objects_of_built_in_kinds_have_their_kind_after_a_list() -> None:
    async def work(server: ApiServer, cache: Cache) -> None:
        put(server, "a")
        found = await cache.get(MAP, KEY)
        assert found is not None
        assert found.manifest()["kind"] == "ConfigMap"
        assert found.manifest()["apiVersion"] == "v1"

    run_scenario(work)


def test_named_namespaces_and_all_others_are_combined() -> None:
    settings = CacheSettings(
        namespaces={ALL_NAMESPACES: Scope(label_selector="mine=yes"), "n": Scope()}
    )

    async def work(server: ApiServer, cache: Cache) -> None:
        put(server, "a")
        put(server, "b", "m")
        put(server, "c", "m", metadata={"labels": {"mine": "yes"}})
        put(server, "d", metadata={"labels": {"mine": "yes"}})
        assert sorted(one.key.name for one in await cache.list(MAP)) == ["a", "c", "d"]
        assert [one.key.name for one in await cache.list(MAP, namespace="m")] == ["c"]
        assert await cache.get(MAP, Request("b", "m")) is None
        assert cache.hides(MAP, Request("b", "m"))
        assert not cache.hides(MAP, KEY)

    run_scenario(work, settings)


def test_an_object_that_leaves_the_selector_is_deleted_for_the_cache() -> None:
    settings = CacheSettings(scope=Scope(label_selector="mine=yes"))

    async def work(server: ApiServer, cache: Cache) -> None:
        put(server, "a", metadata={"labels": {"mine": "yes"}})
        seen: list[str] = []
        cache.informer(MAP).add_handler(lambda event: seen.append(described(event)))
        assert await cache.get(MAP, KEY) is not None
        put(server, "a", metadata={"labels": {"mine": "no"}})
        await asyncio.sleep(1)
        assert seen == ["initial a", "deleted a"]
        assert await cache.get(MAP, KEY) is None

    run_scenario(work, settings)


def test_a_resync_repeats_all_objects_and_sends_no_request() -> None:
    async def work(server: ApiServer, cache: Cache) -> None:
        put(server, "a")
        events: list[Event] = []
        cache.informer(MAP).add_handler(events.append)
        await cache.synced_informer(MAP)
        before = len(server.requests)
        await asyncio.sleep(130)
        assert len(server.requests) == before + 1, "only the watch"
        again = [one for one in events if isinstance(one, UpdateEvent)]
        assert len(again) in (1, 2)
        assert all(one.old is one.new for one in again)

    run_scenario(work, CacheSettings(resync=100, watch_seconds=(3000, 3000)))


def test_reading_an_unwatched_kind_can_be_an_error() -> None:
    async def work(server: ApiServer, cache: Cache) -> None:
        with pytest.raises(ConfigurationError, match="nothing watches `ConfigMap`"):
            await cache.get(MAP, KEY)
        assert server.requests == []
        cache.informer(MAP)
        assert await cache.get(MAP, KEY) is None

    run_scenario(work, CacheSettings(start_on_read=False))


def test_a_waiting_read_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def work(server: ApiServer, cache: Cache) -> None:
        server.plan = lambda _, path: Fault.ERROR if "/configmaps" in path else None
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(20):
                await cache.get(MAP, KEY)

    with caplog.at_level(logging.INFO):
        run_scenario(work)
    said = [one.message for one in caplog.records]
    assert said[0] == "a read is waiting for the first list"
    assert "cannot list" in said


def test_a_read_that_the_server_refuses_is_an_error_and_later_succeeds() -> None:
    async def work(server: ApiServer, cache: Cache) -> None:
        server.denies = lambda _: True
        for _ in range(2):
            with pytest.raises(Forbidden, match="cannot list resource"):
                await cache.get(MAP, KEY)
        await cache.wait_for_sync()  # not a reason to not start the others
        assert [one.gvk for one in cache.unsynced()] == [MAP]
        put(server, "a")
        server.denies = lambda _: False
        await asyncio.sleep(60)
        assert await cache.get(MAP, KEY) is not None

    run_scenario(work)


def test_reading_before_the_start_is_an_error() -> None:
    async def scenario() -> None:
        cache = Cache(None)  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match="the cache is not running"):
            await cache.get(MAP, KEY)

    asyncio.run(scenario())


def test_indexes_are_added_once_and_before_the_start() -> None:
    async def work(_: ApiServer, cache: Cache) -> None:
        cache.add_index(MAP, "x", lambda _: [])
        with pytest.raises(ConfigurationError, match="already has an index `x`"):
            cache.add_index(MAP, "x", lambda _: [])
        await cache.synced_informer(MAP)
        with pytest.raises(ConfigurationError, match="comes after the start"):
            cache.add_index(MAP, "y", lambda _: [])

    run_scenario(work)


def test_a_kind_that_is_no_longer_needed_is_not_watched() -> None:
    async def work(server: ApiServer, cache: Cache) -> None:
        await cache.synced_informer(MAP)
        await asyncio.sleep(1)
        [collection] = server.collections.values()
        assert len(collection.watchers) == 1
        await cache.remove(MAP)
        put(server, "a")  # wakes up the server's side, which then detects the closed connection
        await asyncio.sleep(1)
        assert list(cache.informers) == []

    run_scenario(work)


def test_the_scope_of_a_kind_is_known_after_its_discovery() -> None:
    async def work(_: ApiServer, cache: Cache) -> None:
        assert cache.is_namespaced("", "ConfigMap") is None
        await cache.synced_informer(MAP)
        assert cache.is_namespaced("", "ConfigMap") is True

    run_scenario(work)


def test_metadata_alone_is_a_separate_copy() -> None:
    async def work(server: ApiServer, cache: Cache) -> None:
        put(server, "a", data={"x": "1"})
        found = await cache.get(MAP, KEY, metadata_only=True)
        assert found is not None
        assert found.manifest().keys() == {"kind", "apiVersion", "metadata"}
        assert found.manifest()["kind"] == "ConfigMap"
        put(server, "a", data={"x": "2"})
        await asyncio.sleep(1)
        again = await cache.get(MAP, KEY, metadata_only=True)
        assert again is not None
        assert again.metadata.resource_version > found.metadata.resource_version
        assert again.manifest()["kind"] == "ConfigMap"
        assert len(list(cache.informers)) == 1

    run_scenario(work)
