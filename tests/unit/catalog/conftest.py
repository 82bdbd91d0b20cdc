"""Fixtures for tests of catalogs: small catalogs that answer (`served`), bundles (`cog`)."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from olmkit.base.diagnostics import Diagnostic
from olmkit.base.tree import Tree
from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.serve import registry_build
from olmkit.catalog.serve.registry_api import RegistryApi
from olmkit.catalog.serve.registry_index import Index

Value = dict[str, Any]


def package(name: str = "cog", default: str = "stable", **fields: Any) -> Value:
    return {"schema": "olm.package", "name": name, "defaultChannel": default, **fields}


def channel(name: str, *entries: Value | str, of: str = "cog") -> Value:
    listed = [{"name": entry} if isinstance(entry, str) else entry for entry in entries]
    return {"schema": "olm.channel", "package": of, "name": name, "entries": listed}


def bundle(name: str, *properties: Value, of: str = "cog", **fields: Any) -> Value:
    version = name.partition(".v")[2]
    identity = prop("olm.package", {"packageName": of, "version": version})
    return {
        "schema": "olm.bundle",
        "package": of,
        "name": name,
        "image": f"registry.example/{of}:{version}",
        "properties": [identity, *properties],
        **fields,
    }


def prop(kind: str, value: Any) -> Value:
    return {"type": kind, "value": value}


def api(kind: str, group: str = "example.com", version: str = "v1") -> Value:
    return prop("olm.gvk", {"group": group, "version": version, "kind": kind})


class Pieces:
    """Pieces in memory."""

    def __init__(self) -> None:
        self.data = bytearray()

    def append(self, piece: bytes) -> int:
        self.data += piece
        return len(self.data) - len(piece)

    def read(self, offset: int, length: int) -> bytes:
        return bytes(self.data[offset : offset + length])


def build(*values: Value) -> tuple[Index, tuple[Diagnostic, ...], Pieces]:
    blobs = [Blob.of(value) for value in values]
    pieces = Pieces()
    index, findings = registry_build.build(
        model.from_blobs(blobs), lambda place, _schema: place, pieces.append
    )
    return index, findings, pieces


def registry(*values: Value) -> RegistryApi:
    index, findings, pieces = build(*values)
    assert findings == ()
    return RegistryApi(index, pieces.read)


@pytest.fixture(scope="session")
def served() -> SimpleNamespace:
    """Functions that create blobs, and the registry that serves them."""
    return SimpleNamespace(
        package=package,
        channel=channel,
        bundle=bundle,
        prop=prop,
        api=api,
        Pieces=Pieces,
        build=build,
        registry=registry,
    )


COG_CSV = """apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: cog.v1.0.0
spec:
  displayName: Cog
  version: 1.0.0
  customresourcedefinitions:
    owned:
      - {name: cogs.example.org, version: v1, kind: Cog}
  install:
    strategy: deployment
    spec:
      deployments:
        - name: manager
          spec:
            template:
              spec:
                containers: [{name: manager, image: registry.example.com/cog:1.0.0}]
"""
COG_CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: cogs.example.org}
spec:
  group: example.org
  names: {kind: Cog, plural: cogs}
  versions: [{name: v1, served: true, storage: true}]
"""
COG_ANNOTATIONS = """annotations:
  operators.operatorframework.io.bundle.package.v1: cog
  operators.operatorframework.io.bundle.channels.v1: stable
"""


@pytest.fixture
def cog() -> Callable[..., Tree]:
    """Return the bundle of the operator `cog` with files replaced, added or removed (None).

    `csv` is a pair of texts: the second replaces the first in the CSV.
    """

    def make(files: dict[str, str | bytes | None] | None = None, *csv: str) -> Tree:
        text = COG_CSV
        for old, new in zip(csv[::2], csv[1::2], strict=True):
            assert old in text
            text = text.replace(old, new)
        wanted: dict[str, str | bytes | None] = {
            "manifests/csv.yaml": text,
            "manifests/crd.yaml": COG_CRD,
            "metadata/annotations.yaml": COG_ANNOTATIONS,
            **(files or {}),
        }
        return Tree(
            {
                path: data.encode() if isinstance(data, str) else data
                for path, data in wanted.items()
                if data is not None
            }
        )

    return make
