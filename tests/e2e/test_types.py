"""CRDs from Python types, and their objects, validated by a real API server."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
import types
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pydantic
import pytest
from hypothesis import HealthCheck, given, settings

from olmkit.apis.crds import manifests
from olmkit.apis.crds.schema_options import Options
from olmkit.apis.findings import Findings
from olmkit.apis.python import source
from olmkit.base import documents
from olmkit.base.tree import Tree
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.api import ClusterError, NotFound, Resource
from olmkit.kube.objects import GVK
from olmkit.testing.control_plane import ControlPlane

pytestmark = pytest.mark.e2e

TESTS = Path(__file__).parent.parent
TOYS = "golden/generate/pydantic/expected/files/config/crd/bases/toys.example.com_toys.yaml"
SOUND = {"count": 1, "requiredByMarker": "x", "said": "abc"}


def _load(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


agreement = _load("random_models_e2e", TESTS / "conformance/types/agreement.py")

Judge = Callable[[Any], Awaitable[str]]
"""Returns the API server's error for an object with this spec; empty if it accepts it."""


async def _installed(cluster: HttpCluster, crd: dict[str, Any]) -> Judge:
    crds = await cluster.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    await cluster.create(crds, crd)
    spec = crd["spec"]
    version = spec["versions"][0]["name"]
    things = Resource(
        gvk=GVK(group=spec["group"], version=version, kind=spec["names"]["kind"]),
        plural=spec["names"]["plural"],
        namespaced=spec["scope"] == "Namespaced",
    )
    namespace = "default" if things.namespaced else ""

    async def judge(value: Any) -> str:
        manifest = {
            "apiVersion": f"{spec['group']}/{version}",
            "kind": spec["names"]["kind"],
            "metadata": {"name": "one"},
            "spec": value,
        }
        try:
            await cluster.create(things, manifest, namespace=namespace, dry_run=True)
        except ClusterError as error:
            return str(error)
        return ""

    async with asyncio.timeout(180):
        while True:
            try:
                await cluster.get(things, "none", namespace=namespace)
            except NotFound as error:
                if error.name:  # the object does not exist, and the kind does
                    return judge
                await asyncio.sleep(0.1)


def test_a_crd_with_all_features_is_accepted_and_validates_as_its_schema(
    apiserver: ControlPlane,
) -> None:
    crd = documents.load((TESTS / TOYS).read_bytes(), "crd").value
    sound = [
        {},
        {"big": 2**62, "small": -3, "flag": False},
        {"when": "2024-01-15T10:00:00Z", "blob": "aGk=", "home": "https://example.com"},
        {"amount": "1.5Gi", "eitherWay": "http", "numberOrName": 3},
        {"many": [{"name": "a", "weight": 5}], "byKey": {"x": {"name": "b"}}},
        {"tags": ["a", "b"], "numbers": [1, 2], "byName": [{"name": "a"}, {"name": "b"}]},
        {"either": {"left": "a"}, "nullable": None, "nested": {"name": "x", "port": 1}},
        {"anything": [1, {"a": None}], "json": "text", "raw": {"a": 1}, "schemaless": True},
        {"embedded": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}}},
    ]
    wrong = {
        "spec.count": {"count": "1"},
        "spec.said": {"said": "ABC"},
        "spec.text": {"text": ""},
        "spec.when": {"when": "yesterday"},
        "spec.blob": {"blob": "???"},
        "spec.amount": {"amount": "many"},
        "spec.eitherWay": {"eitherWay": 1.5},
        "spec.many": {"many": []},
        "spec.many[0].name": {"many": [{"port": 1}]},
        "spec.many[0].weight": {"many": [{"name": "a", "weight": 100}]},
        "spec.byKey": {"byKey": {name: {"name": "n"} for name in "abcd"}},
        "spec.tags[1]": {"tags": ["a", "a"]},
        "spec.byName[1]": {"byName": [{"name": "a"}, {"name": "a"}]},
        "spec.color": {"color": "pink"},
        "spec.level": {"level": 2},
        "spec.either": {"either": {"left": "a", "right": "b"}},
        "spec.between": {"between": 5},
        "spec.positive": {"positive": 0},
        "spec.counted": {"counted": 10},
        "spec.shortList": {"shortList": ["a", "b", "c"]},
        "spec.cel": {"cel": 1},
        "spec.whole[0]": {"whole": ["long"]},
        "spec.embedded.kind": {"embedded": {"apiVersion": "v1"}},
        "count must not be negative": {"count": -1},
    }

    async def scenario() -> None:
        async with HttpCluster(kubeconfig.load(paths=[apiserver.kubeconfig])) as cluster:
            judge = await _installed(cluster, crd)
            for more in sound:
                assert await judge({**SOUND, **more}) == "", more
            for words, change in wrong.items():
                assert words in await judge({**SOUND, **change}), words
            for name in ("count", "said"):  # the third has a default
                kept = {key: value for key, value in SOUND.items() if key != name}
                assert f"spec.{name}: Required value" in await judge(kept)

    asyncio.run(scenario())


def _kind(text: str) -> type[pydantic.BaseModel]:
    module = types.ModuleType("random_kind_e2e")
    sys.modules[module.__name__] = module
    exec(compile(text, "v1.py", "exec"), module.__dict__)  # noqa: S102 - written here
    kind: type[pydantic.BaseModel] = module.__dict__["Thing"]
    kind.model_rebuild()
    return kind


def _takes(kind: type[pydantic.BaseModel], value: Any) -> bool:
    manifest = {"apiVersion": "a/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": value}
    try:
        kind.model_validate_json(json.dumps(manifest), strict=True)
    except pydantic.ValidationError:
        return False
    return True


def test_random_models_and_the_api_server_accept_the_same(apiserver: ControlPlane) -> None:
    worlds: list[Any] = []

    @given(world=agreement.worlds(specs=20))
    @settings(
        max_examples=12,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def draw(world: Any) -> None:
        worlds.append(world)

    draw()
    taken = 0

    async def scenario() -> None:
        nonlocal taken
        async with HttpCluster(kubeconfig.load(paths=[apiserver.kubeconfig])) as cluster:
            for number, world in enumerate(worlds):
                text = world.source.replace("random.example.com", f"r{number}.example.com")
                findings = Findings()
                sources = source.read(Tree({"api/v1.py": text.encode()}), findings)
                options = Options(allow_dangerous_types=True)
                (crd,) = manifests.crds(sources, findings, options).values()
                judge = await _installed(cluster, crd)
                kind = _kind(text)
                for value in world.specs:
                    refused = await judge(value)
                    taken += not refused
                    assert _takes(kind, value) is not bool(refused), (text, value, refused)

    asyncio.run(scenario())
    assert taken > 20
