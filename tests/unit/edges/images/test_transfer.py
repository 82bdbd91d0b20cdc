"""Copying images between stores: in order, once, and the first error is reported."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import RemoteError
from olmkit.base.tree import Tree
from olmkit.edges.images import transfer
from olmkit.edges.images.transfer import TransferOutcome, TransferStep
from olmkit.oci import image, layer, store
from olmkit.oci.content import Descriptor, ImageManifest, MediaType
from olmkit.oci.store import ImageStore, MemoryStore, Opener

T = TypeVar("T")
IMAGE = image.data_image(layer.write(Tree({"a": b"1"})), {}, created_by="test")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


class Careful(MemoryStore):
    """A store that refuses references to missing blobs, as registries do."""

    async def push(self, descriptor: Descriptor, content: Opener) -> None:
        await super().push(descriptor, content)
        if descriptor.is_manifest:
            parts = await store.read_manifest(self, descriptor)
            assert all([await self.exists(part) for part in parts.references])


def test_blobs_are_copied_before_manifests_that_name_them() -> None:
    target = Careful()
    steps: list[TransferStep] = []
    source = MemoryStore.of(IMAGE)
    run(transfer.copy(source, target, IMAGE.descriptor, tag="v1", report=steps.append))
    assert run(target.resolve("v1")) == IMAGE.descriptor
    assert len(steps) == 10
    assert {step.outcome for step in steps} == {TransferOutcome.SENT}


def test_existing_blobs_are_not_sent_again() -> None:
    target = Careful()
    source = MemoryStore.of(IMAGE)
    steps: list[TransferStep] = []
    run(transfer.copy(source, target, IMAGE.descriptor))
    run(transfer.copy(source, target, IMAGE.descriptor, tag="v2", report=steps.append))
    assert [step.outcome for step in steps] == [TransferOutcome.PRESENT]
    assert run(target.tags()) == ("v2",)


@pytest.mark.parametrize(
    ("kind", "urls", "outcome"),
    [
        (
            MediaType.DOCKER_EXTERNAL_LAYER_GZIP,
            ("https://example.com/x",),
            TransferOutcome.EXTERNAL,
        ),
        (MediaType.OCI_EXTERNAL_LAYER_ZSTD, ("https://example.com/x",), TransferOutcome.EXTERNAL),
        (MediaType.OCI_EXTERNAL_LAYER, (), None),
        (MediaType.OCI_LAYER_GZIP, ("https://example.com/x",), None),
    ],
)
def test_a_layer_that_is_only_available_at_its_urls_is_not_copied(
    kind: MediaType, urls: tuple[str, ...], outcome: TransferOutcome | None
) -> None:
    far = replace(Descriptor.of(b"far", kind), urls=urls)
    config = Descriptor.of(b"{}", MediaType.OCI_CONFIG)
    manifest = ImageManifest(media_type=MediaType.OCI_MANIFEST, config=config, layers=(far,))
    root = Descriptor.of(manifest.format(), MediaType.OCI_MANIFEST)
    source, target = MemoryStore(), MemoryStore()
    for descriptor, data in ((config, b"{}"), (root, manifest.format())):
        run(source.push(descriptor, store.chunks(data)))
    steps: dict[Descriptor, TransferOutcome] = {}

    def note(step: TransferStep) -> None:
        steps[step.descriptor] = step.outcome

    if outcome is None:
        with pytest.raises(RemoteError, match="is missing"):
            run(transfer.copy(source, target, root))
    else:
        run(transfer.copy(source, target, root, report=note))
        assert steps == {config: TransferOutcome.SENT, far: outcome, root: TransferOutcome.SENT}
    run(source.push(far, store.chunks(b"far")))
    run(transfer.copy(source, target, root))
    assert run(target.exists(far)) is (outcome is None)  # complete images are not searched


class RecordingStore(MemoryStore):
    """A store that records requests."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[Descriptor] = []

    async def exists(self, descriptor: Descriptor) -> bool:
        self.questions.append(descriptor)
        return await super().exists(descriptor)


def test_invalid_names_are_not_requested() -> None:
    target = RecordingStore()
    run(transfer.copy(MemoryStore.of(IMAGE), target, IMAGE.descriptor))
    assert [asked for asked in target.questions if asked.is_manifest] == [IMAGE.descriptor]


def test_a_manifest_whose_blobs_exist_is_requested() -> None:
    target = RecordingStore()
    for descriptor, data in image.contents(IMAGE):
        if not descriptor.is_index:
            run(target.push(descriptor, store.chunks(data)))
    steps: list[TransferStep] = []
    run(transfer.copy(MemoryStore.of(IMAGE), target, IMAGE.descriptor, report=steps.append))
    assert [step.descriptor for step in steps if step.outcome is TransferOutcome.SENT] == [
        IMAGE.descriptor
    ]


class Busy(MemoryStore):
    """A store that records how many uploads run at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0

    async def push(self, descriptor: Descriptor, content: Opener) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        await super().push(descriptor, content)
        self.now -= 1


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_number_of_parallel_copies_is_limited(jobs: int) -> None:
    target = Busy()
    run(transfer.copy(MemoryStore.of(IMAGE), target, IMAGE.descriptor, jobs=jobs))
    assert target.most == jobs


class Mounting(Careful):
    """A store whose other repositories have every blob."""

    async def mount(self, descriptor: Descriptor, source: ImageStore) -> bool:
        assert isinstance(source, MemoryStore)
        if descriptor.is_manifest:
            return False
        self.blobs[descriptor.digest] = source.blobs[descriptor.digest]
        return True


def test_a_blob_of_another_repository_is_mounted() -> None:
    steps: list[TransferStep] = []
    run(transfer.copy(MemoryStore.of(IMAGE), Mounting(), IMAGE.descriptor, report=steps.append))
    assert sum(step.outcome is TransferOutcome.MOUNTED for step in steps) == 5


class Broken(MemoryStore):
    """A store that refuses every upload."""

    async def push(self, descriptor: Descriptor, content: Opener) -> None:
        del content
        raise RemoteError(f"no room for {descriptor.size}")


def test_the_error_of_one_blob_is_the_error_of_the_copy() -> None:
    with pytest.raises(RemoteError, match="no room"):
        run(transfer.copy(MemoryStore.of(IMAGE), Broken(), IMAGE.descriptor))
