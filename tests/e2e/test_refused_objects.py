"""Refusals that the rules of olmkit predict, compared with a real API server.

Each object of `objects.yaml` is valid. One field at a time is omitted, set to null or emptied, and
each name is tested for each kind; if a rule reports an error, the server must refuse the object.
Objects that only the server refuses are not errors: rules are for common errors in bundles.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import Severity
from olmkit.base.documents import Key
from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.api import ClusterError, Resource
from olmkit.rules import engine
from olmkit.testing.control_plane import ControlPlane

pytestmark = pytest.mark.e2e

OBJECTS = [
    one.value
    for one in documents.load_all((Path(__file__).parent / "objects.yaml").read_bytes(), "")
]
# Rules that report that the API server refuses an object.
RULES = {"OBJ020", "OBJ021", "OBJ024", "OBJ025"} | {f"CRD{number:03}" for number in range(1, 27)}
NAMES = ("a", "A_b", "a:b", "a.b", "-a", "a-", "1a", "A", "a" * 253, "a" * 254, "..", "ä")
WAYS = ("absent", "null", "empty")


def keys_of(value: Any, keys: tuple[Key, ...] = ()) -> Iterator[tuple[Key, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*keys, key)
        if isinstance(inner, dict | list):
            yield from keys_of(inner, (*keys, key))


def changed(manifest: dict[str, Any], keys: tuple[Key, ...], way: str) -> dict[str, Any]:
    found = copy.deepcopy(manifest)
    holder: Any = found
    for key in keys[:-1]:
        holder = holder[key]
    if way == "absent":
        del holder[keys[-1]]
    else:
        holder[keys[-1]] = None if way == "null" else type(holder[keys[-1]])()
    return found


def variants(manifest: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    kind = manifest["kind"]
    for keys in keys_of(manifest):
        if keys[0] not in ("apiVersion", "kind") and keys[:2] != ("metadata", "name"):
            for way in WAYS if keys != ("metadata",) else ():
                place = ".".join(map(str, keys))
                yield f"{kind} {place} {way}", changed(manifest, keys, way)
    if kind != "CustomResourceDefinition":
        for name in NAMES:
            named = {**manifest, "metadata": {**manifest["metadata"], "name": name}}
            yield f"{kind} named {name}", named


def olmkit_errors(manifest: dict[str, Any]) -> set[str]:
    tree = Tree({"manifests/a.yaml": documents.dump(manifest)})
    found = engine.run(layout.read(tree, "bundle"), engine.rules())
    return {one.rule for one in found if one.severity is Severity.ERROR and one.rule in RULES}


def test_the_api_server_refuses_the_objects_that_rules_refuse(apiserver: ControlPlane) -> None:
    unfair: dict[str, set[str]] = {}
    refused = 0

    async def scenario() -> None:
        nonlocal refused
        async with HttpCluster(kubeconfig.load(paths=[apiserver.kubeconfig])) as cluster:
            for manifest in OBJECTS:
                resource = await cluster.resource(manifest["apiVersion"], manifest["kind"])
                await cluster.create(resource, placed(manifest), dry_run=True)
                assert olmkit_errors(manifest) == set(), manifest["kind"]
                for name, variant in variants(manifest):
                    errors = olmkit_errors(variant)
                    if not errors:
                        continue
                    refused += 1
                    try:
                        await cluster.create(resource, placed(variant), dry_run=True)
                    except ClusterError:
                        continue
                    unfair[name] = errors

    asyncio.run(scenario())
    assert unfair == {}
    assert refused > 100


def placed(manifest: dict[str, Any]) -> dict[str, Any]:
    metadata = manifest.get("metadata") or {}
    is_cluster = manifest["kind"].startswith(("Cluster", "Priority", "CustomResource"))
    return {
        **manifest,
        "metadata": metadata if is_cluster else {"namespace": "default", **metadata},
    }


def bounded(*bounds: tuple[str, str, str, float]) -> dict[str, Any]:
    """Return a CRD with a field for each type, format, keyword and bound."""
    fields = {
        f"n{number}": {"type": type_, "format": format_, keyword: bound}
        for number, (type_, format_, keyword, bound) in enumerate(bounds)
    }
    spec = {"type": "object", "properties": fields}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "bounds.b.example.com"},
        "spec": {
            "group": "b.example.com",
            "names": {"kind": "Bound", "plural": "bounds"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


BOUNDS = (
    ("integer", "int32", "maximum", 4294967295),
    ("integer", "int32", "maximum", 2147483647),
    ("integer", "int32", "minimum", -2147483649),
    ("integer", "int32", "minimum", -2147483648),
    ("integer", "int64", "maximum", 4294967295),
    ("integer", "int64", "minimum", -(2**63)),
    ("integer", "int64", "minimum", -(2**53)),
    ("number", "float", "maximum", 1e39),
    ("number", "float", "maximum", 1e38),
    ("number", "double", "maximum", 1e39),
)


def test_the_api_server_refuses_the_objects_whose_bounds_a_rule_reports(
    apiserver: ControlPlane,
) -> None:
    reported = {bound for bound in BOUNDS if "CRD027" in warnings(bounded(bound))}
    crd = bounded(*BOUNDS)
    refused = set()

    async def scenario() -> None:
        async with HttpCluster(kubeconfig.load(paths=[apiserver.kubeconfig])) as cluster:
            await cluster.create(await cluster.resource(crd["apiVersion"], crd["kind"]), crd)
            bounds = await established(cluster, "b.example.com/v1", "Bound")
            for number, bound in enumerate(BOUNDS):
                manifest = {
                    "apiVersion": "b.example.com/v1",
                    "kind": "Bound",
                    "metadata": {"name": "b", "namespace": "default"},
                    # The API server compares whole numbers with bounds as 64-bit integers.
                    "spec": {f"n{number}": 1 if bound[0] == "integer" else 1.5},
                }
                try:
                    await cluster.create(bounds, manifest, dry_run=True)
                except ClusterError:
                    refused.add(bound)

    asyncio.run(scenario())
    assert len(refused) == 4
    assert reported == refused


def warnings(crd: dict[str, Any]) -> set[str]:
    tree = Tree({"manifests/a.yaml": documents.dump(crd)})
    return {one.rule for one in engine.run(layout.read(tree, "bundle"), engine.rules())}


async def established(cluster: HttpCluster, api_version: str, kind: str) -> Resource:
    deadline = time.monotonic() + 30
    while True:
        try:
            return await cluster.resource(api_version, kind)
        except ClusterError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.2)
