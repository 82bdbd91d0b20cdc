"""The store in memory, verification during transfers, and the order in which images are copied."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.oci import image, layer, store
from olmkit.oci.content import Descriptor, Digest, ImageIndex, ImageManifest, MediaType, Platform
from olmkit.oci.store import ContentError, MemoryStore, RegistryError

T = TypeVar("T")
AMD64 = Platform(os="linux", architecture="amd64")
LAYER = layer.write(Tree({"a": b"1"}))
INDEX = image.data_image(LAYER, {"k": "v"}, created_by="test")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


async def collected(descriptor: Descriptor, data: bytes) -> bytes:
    return b"".join(
        [chunk async for chunk in store.check_content(descriptor, store.chunks(data)(0))]
    )


def test_content_is_verified_while_it_is_read() -> None:
    descriptor = Descriptor.of(b"right", "text/plain")
    assert run(collected(descriptor, b"right")) == b"right"
    for wrong, message in (
        (b"wrong", "has another"),
        (b"righ", "ended after"),
        (b"right!", "larger"),
    ):
        with pytest.raises(ContentError, match=message):
            run(collected(descriptor, wrong))


def test_content_is_opened_at_an_offset() -> None:
    async def tail() -> bytes:
        return b"".join([chunk async for chunk in store.chunks(b"abcdef")(4)])

    assert run(tail()) == b"ef"


def test_pull_selects_the_platform() -> None:
    memory = MemoryStore.of(INDEX)
    found = run(store.pull(memory, str(INDEX.digest), Platform(os="linux", architecture="s390x")))
    assert found.config.platform.architecture == "s390x"
    assert found.config.labels == {"k": "v"}
    with pytest.raises(InputError, match="is not for `windows/amd64`") as caught:
        run(store.pull(memory, str(INDEX.digest), Platform(os="windows", architecture="amd64")))
    assert "linux/amd64, linux/arm64" in caught.value.hint


def test_tags_name_existing_manifests() -> None:
    async def check() -> None:
        memory = MemoryStore()
        for descriptor, data in image.contents(INDEX):
            await memory.push(descriptor, store.chunks(data))
            assert await memory.exists(descriptor)
        await memory.tag(INDEX.descriptor, "v1")
        assert await memory.tags() == ("v1",)
        assert await memory.resolve("v1") == INDEX.descriptor
        with pytest.raises(ConfigurationError, match="there is no image `v2`"):
            await memory.resolve("v2")

    run(check())


def test_a_store_falls_back_to_its_base() -> None:
    async def check() -> None:
        base = MemoryStore({Digest.of(b"low"): b"low"})
        low, high = Descriptor.of(b"low", "a/b"), Descriptor.of(b"high", "a/b")
        upper = MemoryStore({high.digest: b"high"}, base=base)
        assert [await store.read(upper, d) for d in (low, high)] == [b"low", b"high"]
        assert await upper.exists(low)
        with pytest.raises(RegistryError, match="is missing"):
            await store.read(base, high)

    run(check())


def test_levels_have_each_part_once_and_before_manifests_that_name_it() -> None:
    found = run(store.levels(MemoryStore.of(INDEX), INDEX.descriptor))
    kinds = [sorted({descriptor.media_type for descriptor in level}) for level in found]
    assert kinds == [
        sorted([MediaType.OCI_CONFIG, MediaType.OCI_LAYER_GZIP]),
        [MediaType.OCI_MANIFEST],
        [MediaType.OCI_INDEX],
    ]
    assert [len(level) for level in found] == [5, 4, 1]


def test_an_endless_index_of_indexes_is_refused() -> None:
    memory = MemoryStore()
    data = image.scratch(AMD64).manifest_data
    memory.blobs[Digest.of(data)] = data
    for descriptor, content in image.contents(image.scratch(AMD64)):
        memory.blobs[descriptor.digest] = content
    top = Descriptor.of(data, MediaType.OCI_MANIFEST)
    for _ in range(7):
        index = ImageIndex(media_type=MediaType.OCI_INDEX, manifests=(top,))
        memory.blobs[Digest.of(index.format())] = index.format()
        top = Descriptor.of(index.format(), MediaType.OCI_INDEX)
    with pytest.raises(InputError, match="an index with more than 4 levels"):
        run(store.pull(memory, str(top.digest), AMD64))
    with pytest.raises(InputError, match="more parts"):
        run(store.levels(memory, top))


def test_repeated_parts_are_counted() -> None:
    """Distinct manifests can repeat the same part as often as their size allows."""
    memory = MemoryStore.of(INDEX)

    def keep(number: int) -> Descriptor:
        index = ImageIndex(
            media_type=MediaType.OCI_INDEX,
            manifests=(INDEX.descriptor,) * 3000,
            annotations={"number": str(number)},
        )
        found = Descriptor.of(index.format(), MediaType.OCI_INDEX)
        memory.blobs[found.digest] = index.format()
        return found

    roots = [keep(number) for number in range(2)]
    assert run(store.levels(memory, *roots))
    with pytest.raises(InputError, match="more parts than an image can have"):
        run(store.levels(memory, *roots, *(keep(number) for number in range(2, 40))))


def test_a_manifest_above_the_limit_is_not_read() -> None:
    huge = Descriptor(
        media_type=MediaType.OCI_MANIFEST, digest=Digest.of(b""), size=100 * 1024 * 1024
    )
    with pytest.raises(InputError, match="the limit is"):
        run(store.read_manifest(MemoryStore(), huge))


def test_a_manifest_is_read_by_its_kind() -> None:
    manifest = run(store.read_manifest(MemoryStore.of(INDEX), INDEX.descriptor))
    assert isinstance(manifest, ImageIndex)
    part = run(store.read_manifest(MemoryStore.of(INDEX), manifest.manifests[0]))
    assert isinstance(part, ImageManifest)
