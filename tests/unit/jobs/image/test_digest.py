"""The digest of a reference in a registry."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.base.tree import Tree
from olmkit.edges.images import transfer
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.layout import Layout
from olmkit.jobs.image import copy, digest
from olmkit.oci import image, layer
from olmkit.oci.store import MemoryStore
from olmkit.testing.registry import RegistryServer

IMAGE = image.data_image(layer.write(Tree({"a": b"1"})), {}, created_by="test")


def pin(reference: str) -> str:
    return asyncio.run(digest.pin(reference, Access()))


def test_a_tag_is_replaced_by_its_digest(registry: RegistryServer, tmp_path: Path) -> None:
    layout = Layout(tmp_path / "l")
    asyncio.run(transfer.copy(MemoryStore.of(IMAGE), layout, IMAGE.descriptor, tag="x"))
    asyncio.run(copy.copy(f"oci:{tmp_path}/l:x", f"{registry.host}/pinned:v1", Access()))
    assert pin(f"{registry.host}/pinned:v1") == f"{registry.host}/pinned@{IMAGE.digest}"
    with pytest.raises(RemoteError):
        pin(f"{registry.host}/pinned:v2")


def test_a_digest_is_kept_without_a_request() -> None:
    pinned = f"nowhere.invalid/python@sha256:{'a' * 64}"
    assert pin(pinned) == pinned
    assert pin(pinned.replace("@", ":3@")) == pinned


def test_an_image_that_is_not_in_a_registry_cannot_be_pinned(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not an image in a registry"):
        pin(f"oci:{tmp_path}:v1")
