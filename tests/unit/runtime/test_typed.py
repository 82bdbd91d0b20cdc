"""Typed objects through the client: unknown fields are kept, errors are found by mypy."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import pydantic
import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Conflict, NotFound, Resource
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime import typed
from olmkit.runtime.client import Client, Written
from olmkit.runtime.kinds import CustomResource, Model, ObjectMeta
from olmkit.runtime.manager import Manager
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.watch.scope import CacheSettings, KindScope
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.object_reconciler import ObjectReconciler
from olmkit.runtime.work.reconcile import Request, Result
from olmkit.testing.apiserver.server import ApiServer

KEY = Request("d", "n")


class Volume(Model):
    name: str
    size: int = 1


class DatabaseSpec(Model):
    size: int = 1
    engine: str | None = None
    volumes: list[Volume] = pydantic.Field(default_factory=list)


class DatabaseStatus(Model):
    ready_replicas: int | None = None


class Database(CustomResource):
    gvk: ClassVar[GVK] = GVK(group="db.example.com", version="v1", kind="Database")
    spec: DatabaseSpec
    status: DatabaseStatus | None = None


@dataclass
class Queue:
    """A kind as a dataclass."""

    gvk: ClassVar[GVK] = GVK(group="db.example.com", version="v1", kind="Queue")
    name: str
    depth: int
    rest: Manifest = field(default_factory=dict)

    @classmethod
    def from_manifest(cls, manifest: Manifest) -> Queue:
        return cls(manifest["metadata"]["name"], manifest["spec"]["depth"], manifest)

    def to_manifest(self) -> Manifest:
        return {
            **self.rest,
            "apiVersion": "db.example.com/v1",
            "kind": "Queue",
            "metadata": {"namespace": "n", "name": self.name} | self.rest.get("metadata", {}),
            "spec": {"depth": self.depth},
        }


class PartialSpec(pydantic.BaseModel):
    """Like generated types: they do not keep unknown fields."""

    image: str


class GeneratedSpec(pydantic.BaseModel):
    parts: list[PartialSpec] = []
    node_name: str | None = pydantic.Field(default=None, alias="nodeName")
    labels: dict[str, PartialSpec] = {}


class Generated(pydantic.BaseModel):
    api_version: Literal["parts.k8s.io/v1"] = pydantic.Field(
        default="parts.k8s.io/v1", alias="apiVersion"
    )
    kind: Literal["Whole"] = "Whole"
    metadata: dict[str, Any] = {}
    spec: GeneratedSpec | None = None


RESOURCES = [
    Resource(gvk=Database.gvk, plural="databases", subresources=frozenset({"status"})),
    Resource(gvk=Queue.gvk, plural="queues"),
    Resource(gvk=GVK("parts.k8s.io", "v1", "Whole"), plural="wholes"),
]


def run_scenario(work: Callable[[ApiServer, Client], Awaitable[None]]) -> ApiServer:
    server = ApiServer.of(RESOURCES)

    async def steps() -> None:
        async with (
            asyncio.timeout(30),
            server.serving(),
            HttpCluster(ClusterConfig(server=server.url)) as cluster,
        ):
            cache = Cache(cluster)
            running = asyncio.create_task(cache.run())
            await asyncio.sleep(0)
            try:
                await work(server, Client(cluster, cache, field_manager="me"))
            finally:
                running.cancel()
                await asyncio.wait([running])

    asyncio.run(steps())
    return server


def stored(server: ApiServer, plural: str = "databases") -> Manifest:
    found = server.get(plural, "d", "n")
    assert found is not None
    return found


def test_typed_objects_are_written_and_read() -> None:
    async def work(_: ApiServer, client: Client) -> None:
        assert await client.get(Database, KEY) is None
        with pytest.raises(NotFound):
            await client.require(Database, KEY)
        meta = ObjectMeta(name="d", namespace="n")
        made = await client.create(Database(metadata=meta, spec=DatabaseSpec(size=2)))
        assert made.metadata.uid
        found = await client.get(Database, KEY, fresh=True)
        assert found is not None
        assert (found.metadata.uid, found.spec) == (made.metadata.uid, made.spec)
        applied = await client.apply(Database(metadata=meta, spec=DatabaseSpec(engine="x")))
        assert (applied.spec.size, applied.spec.engine) == (2, "x")
        assert [one.spec.size for one in await client.list(Database, namespace="n")] == [2]
        assert isinstance(await client.require(Database, KEY, fresh=True), Database)
        await client.delete(Database, KEY)
        assert await client.get(Database, KEY, fresh=True) is None

    run_scenario(work)


def test_fields_that_the_class_does_not_know_are_kept_by_every_write() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        server.put(
            "databases",
            {
                "metadata": {"name": "d", "namespace": "n", "annotations": {"a": "b"}, "odd": 1},
                "spec": {
                    "size": 1,
                    "newer": {"deep": [1, {"x": None}]},
                    "volumes": [{"name": "v", "tier": "fast"}],
                },
                "status": {"phase": "Up"},
                "extra": True,
            },
        )

        def intact(size: int) -> None:
            one = stored(server)
            assert one["spec"] == {
                "size": size,
                "newer": {"deep": [1, {"x": None}]},
                "volumes": [{"name": "v", "tier": "fast"}],
            }
            assert one["extra"] is True
            assert one["metadata"]["odd"] == 1
            assert one["status"]["phase"] == "Up"

        found = await client.require(Database, KEY)
        assert found.to_manifest() == stored(server)
        found.spec.size = 2
        found = await client.replace(found)
        intact(2)
        changed = found.model_copy(deep=True)
        changed.spec.size = 3
        found = await client.patch(found, changed, locked=True)
        intact(3)
        found.status = found.status or DatabaseStatus()
        found.status.ready_replicas = 5
        found = await client.update_status(found)
        intact(3)
        assert stored(server)["status"] == {"phase": "Up", "readyReplicas": 5}

        def grow(database: Database) -> None:
            database.spec.size = 4

        for update, expected in (
            (client.create_or_update, Written.UPDATED),
            (client.create_or_patch, Written.UNCHANGED),
        ):
            found, written = await update(await client.require(Database, KEY, fresh=True), grow)
            assert (found.spec.size, written) == (4, expected)
            await client.get(Database, KEY, fresh=True)
        intact(4)

    run_scenario(work)


def test_a_field_that_is_set_to_none_is_removed() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        spec: dict[str, Any] = {"engine": "x", "volumes": []}
        server.put("databases", {"metadata": {"name": "d", "namespace": "n"}, "spec": spec})
        found = await client.require(Database, KEY)
        changed = found.model_copy(deep=True)
        changed.spec.engine = None
        await client.patch(found, changed)
        assert stored(server)["spec"] == {"volumes": []}
        found = await client.require(Database, KEY, fresh=True)
        found.spec.engine = None
        found.spec.volumes = [Volume(name="v")]
        found.spec.volumes[0].size = 7
        await client.replace(found)
        assert stored(server)["spec"] == {"volumes": [{"name": "v", "size": 7}]}

    run_scenario(work)


def test_status_is_only_written_if_it_differs_from_the_read_one() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        server.put("databases", {"metadata": {"name": "d", "namespace": "n"}, "spec": {}})
        first = await client.require(Database, KEY)
        first.status = DatabaseStatus(ready_replicas=1)
        await client.update_status(first)
        writes = server.writes()
        again = await client.require(Database, KEY, fresh=True)
        again.status = DatabaseStatus(ready_replicas=1)
        await client.update_status(again)
        assert server.writes() == writes
        first.status = DatabaseStatus(ready_replicas=2)
        with pytest.raises(Conflict):
            await client.update_status(first)
        await client.update_status({**again.to_manifest(), "status": {"readyReplicas": 9}})
        assert stored(server)["status"] == {"readyReplicas": 9}
        with pytest.raises(ValueError, match="`Queue` has no status subresource"):
            await client.update_status(Queue("d", 1))

    run_scenario(work)


def test_a_dataclass_is_a_kind() -> None:
    async def work(_: ApiServer, client: Client) -> None:
        made = await client.create(Queue("d", 3))
        assert made.depth == 3
        made.depth = 4
        assert (await client.replace(made)).depth == 4
        [listed] = await client.list(Queue)
        assert listed.name == "d"

    run_scenario(work)


def test_generated_models_keep_unknown_fields() -> None:
    whole = {
        "apiVersion": "parts.k8s.io/v1",
        "kind": "Whole",
        "metadata": {"name": "d", "namespace": "n", "x": {"y": 1}},
        "spec": {
            "nodeName": "a",
            "parts": [{"image": "i", "newer": {"z": 1}}],
            "labels": {"l": {"image": "j", "more": 2}},
            "unknown": [1],
        },
        "status": {"phase": "Running"},
    }

    async def work(server: ApiServer, client: Client) -> None:
        server.put("wholes", whole)
        found = await client.require(Generated, KEY)
        assert found.spec is not None
        assert typed.manifest_of(found) == stored(server, "wholes")
        found.spec.parts[0].image = "k"
        await client.replace(found)
        spec: Any = stored(server, "wholes")["spec"]
        assert spec == whole["spec"] | {"parts": [{"image": "k", "newer": {"z": 1}}]}  # type: ignore[operator]

    run_scenario(work)


def test_types_of_kubernetes_itself_are_read_and_written_completely() -> None:
    deployments = pytest.importorskip(
        "kubex.k8s.v1_34.apps.v1.deployment", reason="needs the extra `kubernetes-types`"
    )
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "n", "creationTimestamp": "2024-01-01T00:00:00Z"},
        "spec": {
            "replicas": 2,
            "newField": {"a": 1},
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"spec": {"containers": [{"name": "c", "image": "i", "newer": True}]}},
        },
    }
    kind = deployments.Deployment
    assert typed.gvk_of(kind) == GVK("apps", "v1", "Deployment")
    found = typed.read(kind, manifest)
    assert found.spec.template.spec.containers[0].image == "i"
    assert typed.manifest_of(found) == manifest


def test_an_object_of_a_wrong_type_is_reported_with_its_name_and_the_field() -> None:
    async def work(server: ApiServer, client: Client) -> None:
        server.put(
            "databases",
            {"metadata": {"name": "d", "namespace": "n"}, "spec": {"size": "much"}},
        )
        with pytest.raises(
            typed.Unreadable, match=r"`Database` `n/d` does not fit its class: spec\.size: "
        ) as caught:
            await client.get(Database, KEY)
        assert caught.value.manifest["spec"] == {"size": "much"}
        assert isinstance(caught.value.__cause__, pydantic.ValidationError)

    run_scenario(work)


def test_a_class_without_a_kind_is_an_error_at_once() -> None:
    class Nameless(pydantic.BaseModel):
        metadata: ObjectMeta

    async def work(_: ApiServer, client: Client) -> None:
        with pytest.raises(TypeError, match="`Nameless` has no kind"):
            await client.get(Nameless, KEY)  # type: ignore[type-var]
        with pytest.raises(TypeError, match=r"pass `Database\.gvk`"):
            await client.get(Database, KEY, metadata_only=True)  # type: ignore[call-overload]
        with pytest.raises(TypeError, match=r"pass `Database\.gvk`"):
            await client.list(Database, metadata_only=True)  # type: ignore[call-overload]

    run_scenario(work)


def test_controllers_and_reconcilers_accept_the_class() -> None:
    seen: list[Database] = []

    async def tend(database: Database) -> Result:
        seen.append(database)
        return Result()

    async def work(server: ApiServer, client: Client) -> None:
        server.put("databases", {"metadata": {"name": "d", "namespace": "n"}, "spec": {"size": 3}})
        reconciler = ObjectReconciler(client, Database, tend)
        controller = ControllerBuilder().watches_for(Database).owns(Queue).build(reconciler)
        assert controller.gvk == Database.gvk
        await reconciler.reconcile(KEY)

    run_scenario(work)
    assert [one.spec.size for one in seen] == [3]


_EXPECTED = re.compile(r"# E: (?P<words>.*)$")


def test_mypy_only_reports_mistyped_fields(root: Path) -> None:
    """Every line with `# E:` is an error with this message; no other line is one."""
    folder = root / "tests/fixtures/typed_client"
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", "--hide-error-context"]
    found = subprocess.run(
        [*command, "good.py", "bad.py", "--config-file", str(root / "pyproject.toml")],
        cwd=folder,
        env={"MYPYPATH": str(root), "PATH": "", "MYPY_CACHE_DIR": str(root / ".mypy_cache")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    reported = {
        int(line.split(":")[1]): line
        for line in found.stdout.splitlines()
        if line.startswith("bad.py:") and ": error: " in line
    }
    assert "good.py" not in found.stdout, found.stdout
    expected = {
        number: match["words"]
        for number, line in enumerate((folder / "bad.py").read_text().splitlines(), 1)
        if (match := _EXPECTED.search(line))
    }
    assert len(expected) >= 8
    assert reported.keys() == expected.keys(), found.stdout + found.stderr
    for number, words in expected.items():
        assert words in reported[number]


def test_the_factory_of_a_default_is_inspected_once() -> None:
    """Pydantic reads its signature at each call: that took longer than the request of a pass."""
    made = 0

    def factory() -> list[str]:
        nonlocal made
        made += 1
        return []

    class Spec(Model):
        hosts: list[str] = pydantic.Field(default_factory=factory)

    class Zone(CustomResource):
        gvk: ClassVar[GVK] = GVK(group="dns.example.com", version="v1", kind="Zone")
        spec: Spec = pydantic.Field(default_factory=Spec)

    zones = [Zone.from_manifest({"metadata": {"name": "a"}, "spec": {}}) for _ in range(3)]
    before = made
    assert [typed.manifest_of(zone)["spec"] for zone in zones] == [{}] * 3
    assert made - before <= 1
    zones[0].spec.hosts.append("www")
    assert typed.manifest_of(zones[0])["spec"] == {"hosts": ["www"]}
    assert typed.manifest_of(zones[1])["spec"] == {}


def test_cache_and_index_accept_the_class() -> None:
    async def steps() -> None:
        async with HttpCluster(ClusterConfig(server="http://127.0.0.1:1")) as cluster:
            cache = Cache(cluster)
            cache.add_index(Database, "engine", lambda found: [found.manifest()["spec"]["engine"]])
            assert cache.informer(Database) is cache.informer(Database.gvk)
            assert Client(cluster, cache, field_manager="m").add_index(Database, "x", lambda _: ())
            assert cache.informer(Database).indexes == {"engine", "x"}

    asyncio.run(steps())


def test_settings_of_a_class_that_would_be_ignored_are_refused() -> None:
    wrong: Any = {Database: KindScope()}
    with pytest.raises(TypeError, match=r"`kinds` needs .*: pass `Database.gvk`"):
        CacheSettings(kinds=wrong)
    uncached: Any = frozenset({Database})
    with pytest.raises(TypeError, match=r"`uncached` needs .*: pass `Database.gvk`"):
        Manager(
            HttpCluster(ClusterConfig(server="http://127.0.0.1:1")), name="m", uncached=uncached
        )


class Custom(Database):
    """A class with its own serialization."""

    def to_manifest(self) -> Manifest:
        return super().to_manifest() | {"status": {"readyReplicas": 7}}


@pytest.mark.parametrize("kind", [Database, Custom])
@pytest.mark.parametrize("status", [None, {}, {"readyReplicas": 2, "phase": "Up"}])
def test_status_alone_is_serialized_as_in_the_whole_object(
    kind: Any, status: dict[str, Any] | None
) -> None:
    manifest: Manifest = {"metadata": {"name": "d", "namespace": "n", "uid": "u"}, "spec": {}}
    manifest |= {"apiVersion": "db.example.com/v1", "kind": "Database"}
    manifest |= {} if status is None else {"status": status}
    whole, alone = typed.manifest_of(kind.from_manifest(manifest)), kind.from_manifest(manifest)
    found = typed.with_status(alone)
    assert {key: item for key, item in found.items() if key != "spec"} == {
        key: item for key, item in whole.items() if key != "spec"
    }


def test_status_that_was_changed_in_place_is_written() -> None:
    database = Database(metadata=ObjectMeta(name="d"), spec=DatabaseSpec())
    database.status = DatabaseStatus()
    database.status.ready_replicas = 3
    assert typed.with_status(database) == {
        "apiVersion": "db.example.com/v1",
        "kind": "Database",
        "metadata": {"name": "d"},
        "status": {"readyReplicas": 3},
    }
