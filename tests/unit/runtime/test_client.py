"""The client of reconcilers with an API server on loopback: cached, direct, in one namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import AlreadyExists, Conflict, NotFound, Resource
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client, Written, retry_on_conflict
from olmkit.runtime.watch.cache import Cache, CacheSettings, Scope
from olmkit.runtime.work.reconcile import Request
from olmkit.testing.apiserver.server import ApiServer

MAP = GVK(group="", version="v1", kind="ConfigMap")
NODE = GVK(group="", version="v1", kind="Node")
THING = GVK(group="tests.example.com", version="v1", kind="Thing")
RESOURCES = [
    Resource(gvk=MAP, plural="configmaps"),
    Resource(gvk=NODE, plural="nodes", namespaced=False),
    Resource(gvk=THING, plural="things", subresources=frozenset({"status"})),
]


def _map(name: str, namespace: str = "n", **fields: Any) -> Manifest:
    metadata = {"name": name, "namespace": namespace} | fields.pop("metadata", {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata} | fields


def _thing(name: str = "t", **fields: Any) -> Manifest:
    metadata = {"name": name, "namespace": "n"}
    return {"apiVersion": "tests.example.com/v1", "kind": "Thing", "metadata": metadata} | fields


def run_scenario(
    work: Callable[[ApiServer, Client], Awaitable[None]],
    *,
    settings: CacheSettings | None = None,
    prepare: Callable[[Cache], None] = lambda _: None,
    **options: Any,
) -> ApiServer:
    """Run `work` with a client whose cache runs."""
    server = ApiServer.of(RESOURCES)

    async def steps() -> None:
        async with (
            asyncio.timeout(30),
            server.serving(),
            HttpCluster(ClusterConfig(server=server.url)) as cluster,
        ):
            cache = Cache(cluster, settings)
            prepare(cache)
            running = asyncio.create_task(cache.run())
            await asyncio.sleep(0)
            try:
                await work(server, Client(cluster, cache, field_manager="me", **options))
            finally:
                running.cancel()
                await asyncio.wait([running])

    asyncio.run(steps())
    return server


def test_own_writes_are_read_fresh() -> None:
    async def work(_: ApiServer, client: Client) -> None:
        key = Request("a", "n")
        assert await client.get(MAP, key) is None
        for number in range(20):
            await client.apply(_map("a", data={"x": str(number)}))
            found = await client.get(MAP, key, fresh=True)
            assert found is not None
            assert found["data"] == {"x": str(number)}
            await client.direct.apply(_map("a", data={"x": f"{number} from the server"}))
            found = await client.get(MAP, key, fresh=True)
            assert found is not None
            assert found["data"] == {"x": f"{number} from the server"}
            assert (found["apiVersion"], found["kind"]) == ("v1", "ConfigMap")
        with pytest.raises(NotFound, match='ConfigMap "n/b" not found'):
            await client.require(MAP, Request("b", "n"))

    server = run_scenario(work)
    assert [method for method, _ in server.requests].count("GET") < 8, "reads are cached"


def test_cached_objects_can_be_changed_by_the_reader() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        server.put("configmaps", _map("a", data={"x": "1"}))
        found = await client.require(MAP, Request("a", "n"))
        found["data"]["x"] = "changed"
        again = await client.require(MAP, Request("a", "n"))
        assert again["data"] == {"x": "1"}

    run_scenario(work)


def test_kinds_without_a_cache_are_read_from_the_server() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        server.put("configmaps", _map("a"))
        assert await client.get(MAP, Request("a", "n")) is not None
        assert await client.get(MAP, Request("b", "n")) is None
        assert len(await client.list(MAP)) == 1

    server = run_scenario(work, uncached=frozenset({MAP}))
    assert ("GET", "/api/v1/namespaces/n/configmaps/a") in server.requests
    assert not any(access.verb == "watch" for access in server.accesses)


def test_lists_select_by_namespace_labels_index_and_limit() -> None:
    def by_colour(snapshot: Any) -> list[str]:
        colour = (snapshot.metadata.annotations or {}).get("colour")
        return [colour] if colour else []

    def by_size(snapshot: Any) -> list[str]:
        return [(snapshot.metadata.annotations or {}).get("size", "")]

    def prepare(cache: Cache) -> None:
        cache.add_index(MAP, "colour", by_colour)
        cache.add_index(MAP, "size", by_size)

    async def work(server: ApiServer, client: Client) -> None:
        for name, namespace, colour, size in (
            ("a", "n", "red", "1"),
            ("b", "n", "red", "2"),
            ("c", "m", "red", "1"),
            ("d", "m", "blue", "1"),
        ):
            notes = {"annotations": {"colour": colour, "size": size}, "labels": {"c": colour}}
            server.put("configmaps", _map(name, namespace, metadata=notes))

        async def names(**options: Any) -> list[str]:
            return [one["metadata"]["name"] for one in await client.list(MAP, **options)]

        assert await names() == ["c", "d", "a", "b"]
        assert await names(namespace="m") == ["c", "d"]
        assert await names(labels="c=red", namespace="n") == ["a", "b"]
        assert sorted(await names(index=("colour", "red"))) == ["a", "b", "c"]
        assert await names(index={"colour": "red", "size": "1"}, namespace="m") == ["c"]
        assert await names(index={"colour": "green", "size": "1"}) == []
        assert len(await names(limit=2)) == 2
        with pytest.raises(ConfigurationError, match="no index `weight`"):
            await client.list(MAP, index=("weight", "1"))
        # On the server, an index is a field selector.
        direct = await client.direct.list(MAP, index=("metadata.name", "a"))
        assert [one["metadata"]["name"] for one in direct] == ["a"]
        assert direct[0]["kind"] == "ConfigMap"
        assert len(await client.direct.list(MAP, limit=3)) == 3

    run_scenario(work, prepare=prepare)


def test_other_tasks_run_while_a_long_list_is_decoded() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def work(server: ApiServer, client: Client) -> None:
        for number in range(1000):
            server.put("configmaps", _map(f"m-{number}"))
        while len(await client.list(MAP)) < 1000:  # noqa: ASYNC110 - nothing signals the change
            await asyncio.sleep(0.01)
        counting = asyncio.create_task(count())
        await asyncio.sleep(0)
        before = turns
        await client.list(MAP)
        assert turns - before >= 4
        counting.cancel()

    run_scenario(work)


def test_a_direct_list_reads_every_page() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        for number in range(1100):
            server.put("configmaps", _map(f"m{number}"))
        assert len(await client.direct.list(MAP)) == 1100

    server = run_scenario(work)
    assert sum(access.verb == "list" for access in server.accesses) == 3


def test_metadata_can_be_read_alone() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        server.put("things", _thing(spec={"size": 1}))
        found = await client.get(THING, Request("t", "n"), metadata_only=True)
        assert found is not None
        assert "spec" not in found
        assert (found["apiVersion"], found["kind"]) == ("tests.example.com/v1", "Thing")
        [listed] = await client.list(THING, metadata_only=True)
        assert listed.keys() == {"apiVersion", "kind", "metadata"}

    run_scenario(work)


def test_subresources_are_read_from_the_server() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        server.put("things", _thing(status={"ready": 1}))
        found = await client.get(THING, Request("t", "n"), subresource="status")
        assert found is not None
        assert found["status"] == {"ready": 1}

    server = run_scenario(work)
    assert ("GET", "/apis/tests.example.com/v1/namespaces/n/things/t/status") in server.requests


def test_a_conflict_with_a_hidden_object_reports_that_it_is_hidden() -> None:
    settings = CacheSettings(scope=Scope(label_selector="mine=yes"))

    async def work(server: ApiServer, client: Client) -> None:
        server.put("configmaps", _map("a"))
        assert await client.get(MAP, Request("a", "n")) is None
        with pytest.raises(AlreadyExists) as raised:
            await client.create(_map("a"))
        assert "outside the scope of the cache" in raised.value.hint

    run_scenario(work, settings=settings)


def test_a_namespace_without_a_watch_is_an_error_and_not_a_missing_object() -> None:
    settings = CacheSettings().watching(["n", "m"])

    async def work(server: ApiServer, client: Client) -> None:
        server.put("configmaps", _map("a"))
        assert await client.get(MAP, Request("a", "n")) is not None
        with pytest.raises(ConfigurationError, match="namespace `other` is not watched"):
            await client.get(MAP, Request("a", "other"))
        with pytest.raises(ConfigurationError):
            await client.list(MAP, namespace="other")
        assert len(await client.list(MAP)) == 1
        assert await client.list(NODE) == [], "cluster-scoped kinds are still watched"

    server = run_scenario(work, settings=settings)
    listed = {path for method, path in server.requests if path.endswith("configmaps")}
    assert listed == {f"/api/v1/namespaces/{name}/configmaps" for name in "nm"}, "Roles are enough"


def test_a_patch_only_sends_differences_and_nothing_without_them() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        old = await client.create(_map("a", data={"x": "1"}))
        before = len(server.writes())
        assert await client.patch(old, old) == old
        assert len(server.writes()) == before
        new = await client.patch(old, {**old, "data": {"x": "2"}})
        assert new["data"] == {"x": "2"}
        with pytest.raises(Conflict):
            await client.patch(old, {**old, "data": {"x": "3"}}, locked=True)
        with pytest.raises(ValueError, match="resource version"):
            await client.patch(_map("a"), _map("a", data={}), locked=True)
        with pytest.raises(Conflict):
            await client.replace({**old, "data": {}})

    run_scenario(work)


def test_a_dry_run_is_validated_and_not_stored() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        made = await client.rehearsal.create(_map("a"))
        assert made["metadata"]["uid"]
        assert server.get("configmaps", "a", "n") is None
        with pytest.raises(NotFound):
            await client.delete(MAP, Request("a", "n"), missing_ok=False)
        await client.delete(MAP, Request("a", "n"))

    run_scenario(work)


def test_a_client_of_one_namespace_only_works_there() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        here = client.within("n")
        made = await here.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        )
        assert made["metadata"]["namespace"] == "n"
        assert await here.direct.get(MAP, Request("a")) is not None
        assert await here.get(MAP, Request("a"), fresh=True) is not None, (
            "both clients share their writes"
        )
        with pytest.raises(ConfigurationError, match="works in the namespace `n`, not in `m`"):
            await here.get(MAP, Request("a", "m"))
        with pytest.raises(ConfigurationError):
            await here.create(_map("b", "m"))
        await here.delete(MAP, Request("a"))
        assert server.get("configmaps", "a", "n") is None
        await here.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}})
        assert server.get("nodes", "x", "") is not None

    run_scenario(work)


def test_many_objects_are_deleted_by_labels() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        for name, label in (("a", "1"), ("b", "2"), ("c", "1")):
            server.put("configmaps", _map(name, metadata={"labels": {"x": label}}))
        await client.delete_all(MAP, namespace="n", labels="x=1")
        assert [one["metadata"]["name"] for one in server.all("configmaps")] == ["b"]

    run_scenario(work)


def test_objects_in_all_namespaces_cannot_be_deleted_at_once() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        server.put("configmaps", _map("a"))
        with pytest.raises(ValueError, match="needs a namespace"):
            await client.delete_all(MAP, labels="x=1")
        assert len(server.all("configmaps")) == 1

    run_scenario(work)


def test_create_or_update_only_writes_changes() -> None:
    def grow(manifest: Manifest) -> None:
        manifest.setdefault("data", {})["x"] = "1"

    async def work(server: ApiServer, client: Client) -> None:
        direct = client.direct
        assert (await direct.create_or_update(_map("a"), grow))[1] is Written.CREATED
        assert (await direct.create_or_update(_map("a"), grow))[1] is Written.UNCHANGED
        server.put("configmaps", _map("a", data={"x": "0", "y": "2"}))
        found, written = await direct.create_or_update(_map("a"), grow)
        assert written is Written.UPDATED
        assert found["data"] == {"x": "1", "y": "2"}

        def rename(manifest: Manifest) -> None:
            manifest["metadata"]["name"] = "b"

        with pytest.raises(ValueError, match="renames"):
            await direct.create_or_update(_map("a"), rename)

    run_scenario(work)


def test_create_or_patch_also_writes_status() -> None:
    def mutate(size: int, ready: int) -> Callable[[Manifest], None]:
        def change(manifest: Manifest) -> None:
            manifest["spec"] = {"size": size}
            manifest["status"] = {"ready": ready}

        return change

    async def work(server: ApiServer, client: Client) -> None:
        direct = client.direct
        assert (await direct.create_or_patch(_thing(), mutate(1, 0)))[1] is Written.CREATED
        assert (server.get("things", "t", "n") or {})["status"] == {"ready": 0}
        for size, ready, expected in (
            (1, 0, Written.UNCHANGED),
            (2, 0, Written.UPDATED),
            (2, 1, Written.UPDATED_STATUS_ONLY),
            (3, 2, Written.UPDATED_STATUS),
        ):
            assert (await direct.create_or_patch(_thing(), mutate(size, ready)))[1] is expected
        found = server.get("things", "t", "n") or {}
        assert (found["spec"], found["status"]) == ({"size": 3}, {"ready": 2})

    run_scenario(work)


def test_conflicts_are_retried_and_existing_objects_are_not() -> None:
    async def scenario() -> None:
        calls = 0

        async def conflicting() -> str:
            nonlocal calls
            calls += 1
            if calls < 4:
                raise Conflict("changed", code=409)
            return "done"

        assert await retry_on_conflict(conflicting, pause=0) == "done"
        assert calls == 4
        calls = -10
        with pytest.raises(Conflict):
            await retry_on_conflict(conflicting, pause=0)
        assert calls == -5

        async def existing() -> None:
            raise AlreadyExists("there", code=409)

        with pytest.raises(AlreadyExists):
            await retry_on_conflict(existing, pause=0)

    asyncio.run(scenario())


@pytest.mark.parametrize("finalizers", [[], ["tests.example.com/hold"]], ids=["free", "held"])
def test_an_own_deletion_is_read(finalizers: list[str]) -> None:
    async def work(server: ApiServer, client: Client) -> None:
        key = Request("a", "n")
        await client.create(_map("a", metadata={"finalizers": finalizers}))
        assert await client.get(MAP, key, fresh=True) is not None
        await asyncio.sleep(0.1)  # the watch is open
        server.freeze_watches()
        await client.delete(MAP, key)
        with pytest.raises(TimeoutError, match=r"last deletion of `ConfigMap` `n/a` within 1 s"):
            await client.get(MAP, key, fresh=True)
        server.end_watches()
        found = await client.get(MAP, key, fresh=True)
        assert (found or {"metadata": {}})["metadata"].get("finalizers", []) == finalizers
        assert found is None or found["metadata"]["deletionTimestamp"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("olmkit.runtime.manifests.own_writes._FRESH_TIMEOUT", 1.0)
        run_scenario(work)


def test_an_object_that_was_deleted_and_recreated_is_the_new_one() -> None:
    async def work(_: ApiServer, client: Client) -> None:
        key = Request("a", "n")
        await client.create(_map("a"))
        await client.get(MAP, key, fresh=True)
        await client.delete(MAP, key)
        made = await client.create(_map("a"))
        found = await client.require(MAP, key, fresh=True)
        assert found["metadata"]["uid"] == made["metadata"]["uid"]

    run_scenario(work)


def test_a_fresh_read_outside_of_the_cache_selection_is_an_error_at_once() -> None:
    async def work(_: ApiServer, client: Client) -> None:
        key = Request("a", "n")
        await client.get(MAP, key)
        await client.create(_map("a"))
        with pytest.raises(ConfigurationError, match=r"`ConfigMap` `n/a`: its selector is `app=x`"):
            await client.get(MAP, key, fresh=True)
        await client.apply(_map("a", metadata={"labels": {"app": "x"}}))
        assert await client.get(MAP, key, fresh=True) is not None

    run_scenario(work, settings=CacheSettings(scope=Scope(label_selector="app=x")))


def test_a_late_write_is_reported_with_the_reason() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        await client.get(MAP, Request("a", "n"))
        await asyncio.sleep(0.1)  # the watch is open
        server.freeze_watches()
        await client.create(_map("a"))
        with pytest.raises(TimeoutError, match=r"last write of `ConfigMap` `n/a` within 1 s"):
            await client.get(MAP, Request("a", "n"), fresh=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("olmkit.runtime.manifests.own_writes._FRESH_TIMEOUT", 1.0)
        run_scenario(work)


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ({"kind": "ConfigMap", "metadata": {"name": "a"}}, "`a` has no `apiVersion`"),
        ({"apiVersion": "v1", "metadata": {"name": "a"}}, "`a` has no `kind`"),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, "`ConfigMap` has no `metadata.name`"),
        (_map("a", namespace=""), "`ConfigMap` `a` has no namespace"),
    ],
)
def test_a_manifest_without_a_name_is_an_error_before_any_request(
    manifest: Manifest, words: str
) -> None:
    async def work(server: ApiServer, client: Client) -> None:
        await client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}})
        before = len(server.writes())
        for write in (client.create, client.apply, client.replace):
            with pytest.raises(ValueError, match=words):
                await write(manifest)
        assert len(server.writes()) == before
        for read in (client.get, client.direct.get, client.delete):
            with pytest.raises(ValueError, match="has no namespace"):
                await read(MAP, Request("a"))
        assert await client.get(NODE, Request("a"), fresh=True) is not None

    run_scenario(work)


def test_an_invalid_key_or_object_is_named() -> None:
    async def work(_: ApiServer, client: Client) -> None:
        for call in (client.get, client.require, client.delete):
            with pytest.raises(TypeError, match=r"`Request\(name, namespace\)`, not by 'a'"):
                await call(MAP, "a")  # type: ignore[operator]
        for wrong in (None, "a", [_map("a")]):
            with pytest.raises(TypeError, match="an object must be a manifest"):
                await client.apply(wrong)  # type: ignore[call-overload]

    run_scenario(work)
