"""What tests of catalogs share: catalogs of a few lines that answer (`served`)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from olmkit.base.diagnostics import Diagnostic
from olmkit.catalog import model, registry_build
from olmkit.catalog.blobs import Blob
from olmkit.catalog.registry_api import Registry
from olmkit.catalog.registry_index import Index

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
    index, findings = registry_build.build(model.of_blobs(blobs), blobs, pieces.append)
    return index, findings, pieces


def registry(*values: Value) -> Registry:
    index, findings, pieces = build(*values)
    assert findings == ()
    return Registry(index, pieces.read)


@pytest.fixture(scope="session")
def served() -> SimpleNamespace:
    """Makers of blobs, and of what answers about them."""
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
