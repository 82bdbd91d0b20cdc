"""Targets of images other than registries: writes are complete or have no effect."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import RemoteError
from olmkit.base.tree import Tree
from olmkit.edges.images import targets, transports
from olmkit.edges.images.transfer import TransferOutcome, TransferStep
from olmkit.edges.images.transports import Access
from olmkit.oci import image, layer, reference
from olmkit.oci.content import Descriptor
from olmkit.oci.image import Image, MultiPlatformImage
from olmkit.oci.store import MemoryStore

IMAGE = image.data_image(layer.write(Tree({"a": b"1"})), {"k": "v"}, created_by="test")
ACCESS = Access()


def send(text: str, made: Image | MultiPlatformImage = IMAGE) -> Descriptor:
    target = reference.parse_image(text)
    return asyncio.run(targets.send(MemoryStore.of(made), made.descriptor, target, ACCESS))


@pytest.mark.parametrize("form", ["oci:{}/x:v1", "oci-archive:{}/x:v1", "oci:{}/x"])
def test_a_sent_image_is_in_the_target(tmp_path: Path, form: str) -> None:
    text = form.format(tmp_path)
    assert send(text).digest == IMAGE.digest

    async def check() -> None:
        found = reference.parse_image(text)
        async with transports.open_store(found, ACCESS) as store:
            assert (await store.resolve(transports.selector(found))).digest == IMAGE.digest

    asyncio.run(check())


def test_a_docker_archive_gets_the_image_of_one_platform(tmp_path: Path) -> None:
    assert isinstance(IMAGE, MultiPlatformImage)
    sent = send(f"docker-archive:{tmp_path}/x.tar:registry.example.com/a:v1")
    assert sent.digest in {part.digest for part in IMAGE.images}


@pytest.mark.parametrize("form", ["oci-archive:{}:v1", "docker-archive:{}"])
def test_a_failed_archive_keeps_the_old_one(tmp_path: Path, form: str) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(b"old")
    assert isinstance(IMAGE, MultiPlatformImage)
    store = MemoryStore.of(IMAGE)
    del store.blobs[IMAGE.images[0].manifest.layers[0].digest]
    target = reference.parse_image(form.format(path))
    with pytest.raises(RemoteError, match="is missing"):
        asyncio.run(targets.send(store, IMAGE.descriptor, target, ACCESS))
    assert path.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["x.tar"]


def test_the_directory_of_an_archive_must_exist(tmp_path: Path) -> None:
    for form in ("oci-archive:{}/absent/x.tar:v1", "docker-archive:{}/file/x.tar"):
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(RemoteError):
            send(form.format(tmp_path))


def test_a_failed_copy_into_a_layout_keeps_arrived_blobs_and_reports_it(tmp_path: Path) -> None:
    """Its index is empty, so no reader sees an image."""
    assert isinstance(IMAGE, MultiPlatformImage)
    store, whole = MemoryStore.of(IMAGE), MemoryStore.of(IMAGE)
    lost = IMAGE.images[0].manifest.config.digest
    del store.blobs[lost]
    target = reference.parse_image(f"oci:{tmp_path}/x:v1")
    with pytest.raises(RemoteError, match="is missing") as failed:
        asyncio.run(targets.send(store, IMAGE.descriptor, target, ACCESS))
    assert f"`{tmp_path}/x` keeps what has arrived; run the same command again" in failed.value.hint
    assert not (tmp_path / "x/index.json").exists()
    kept = {path.name for path in (tmp_path / "x/blobs/sha256").iterdir()}
    assert kept
    steps: list[TransferStep] = []
    asyncio.run(targets.send(whole, IMAGE.descriptor, target, ACCESS, steps.append))
    present = {
        one.descriptor.digest.encoded for one in steps if one.outcome is TransferOutcome.PRESENT
    }
    assert present == kept

    store.blobs.clear()
    other = reference.parse_image(f"oci:{tmp_path}/y:v1")
    with pytest.raises(RemoteError) as failed:
        asyncio.run(targets.send(store, IMAGE.descriptor, other, ACCESS))
    assert "keeps what has arrived" not in failed.value.hint  # no blob has arrived
