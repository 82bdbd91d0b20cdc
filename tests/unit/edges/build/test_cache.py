"""The cache of builds: valid entries are found, invalid ones are rebuilt."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree
from olmkit.edges.build import cache as build_cache
from olmkit.edges.build.cache import BuildCache
from olmkit.edges.images import transfer
from olmkit.oci import image, layer
from olmkit.oci.content import Platform
from olmkit.oci.store import MemoryStore

LAYER = layer.write(Tree({"a": b"1" * 1000}))
IMAGE = image.scratch(Platform(os="linux", architecture="amd64"))


def test_a_layer_is_found_by_its_inputs(tmp_path: Path) -> None:
    cache = BuildCache(tmp_path)
    assert asyncio.run(cache.layer("key")) is None
    asyncio.run(cache.keep("key", LAYER))
    assert asyncio.run(BuildCache(tmp_path).layer("key")) == LAYER
    assert asyncio.run(cache.layer("other")) is None


@pytest.mark.parametrize("content", [b"", b"x" * len(LAYER.data)], ids=["short", "other"])
def test_a_damaged_layer_is_ignored(tmp_path: Path, content: bytes) -> None:
    cache = BuildCache(tmp_path)
    asyncio.run(cache.keep("key", LAYER))
    blob = tmp_path / "oci" / "blobs" / "sha256" / LAYER.descriptor.digest.encoded
    blob.write_bytes(content)
    assert asyncio.run(cache.layer("key")) is None


def test_an_entry_that_is_not_json_is_ignored(tmp_path: Path) -> None:
    cache = BuildCache(tmp_path)
    asyncio.run(cache.keep("key", LAYER))
    (tmp_path / "layers" / "key.json").write_bytes(b"[]")
    assert asyncio.run(cache.layer("key")) is None


def test_a_base_image_is_found_by_its_name(tmp_path: Path) -> None:
    cache = BuildCache(tmp_path)
    assert asyncio.run(cache.base("python linux/amd64")) is None
    asyncio.run(
        transfer.copy(
            MemoryStore.of(IMAGE), cache.layout, IMAGE.descriptor, tag="python linux/amd64"
        )
    )
    found = asyncio.run(cache.base("python linux/amd64"))
    assert found is not None
    assert found.digest == IMAGE.digest


def test_the_cache_is_in_the_configured_directory() -> None:
    assert build_cache.folder({"OLMKIT_CACHE": "/c", "HOME": "/h"}) == Path("/c/build")
    assert build_cache.folder({"XDG_CACHE_HOME": "/x"}) == Path("/x/olmkit/build")
    assert build_cache.folder({"HOME": "/h"}) == Path("/h/.cache/olmkit/build")
    assert build_cache.folder({"XDG_CACHE_HOME": "x", "HOME": "/h"}) == Path(
        "/h/.cache/olmkit/build"
    )
    with pytest.raises(ConfigurationError, match="`HOME` is not set"):
        build_cache.folder({})
