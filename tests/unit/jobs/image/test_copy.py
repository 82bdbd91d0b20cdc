"""Copying images between all kinds of transports, and inspecting them there."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.base.tree import Tree
from olmkit.edges.images import transfer
from olmkit.edges.images.layout import Layout
from olmkit.edges.images.transfer import TransferOutcome
from olmkit.edges.images.transports import Access
from olmkit.jobs.image import copy as job
from olmkit.oci import image, layer, referrers
from olmkit.oci.content import MediaType, Platform
from olmkit.oci.image import MultiPlatformImage
from olmkit.oci.store import MemoryStore
from olmkit.testing.registry import RegistryServer

T = TypeVar("T")
IMAGE = image.data_image(layer.write(Tree({"a": b"1"})), {"k": "v"}, created_by="test")
ACCESS = Access()
ARM64 = replace(ACCESS, platform=Platform(os="linux", architecture="arm64"))


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@pytest.fixture
def layout(tmp_path: Path) -> str:
    target = Layout(tmp_path / "oci")
    run(transfer.copy(MemoryStore.of(IMAGE), target, IMAGE.descriptor, tag="v1"))
    return f"oci:{tmp_path}/oci:v1"


def test_an_image_keeps_its_digest_in_every_transport(
    layout: str, tmp_path: Path, registry: RegistryServer
) -> None:
    places = [
        layout,
        f"{registry.host}/copy/one:v1",
        f"{registry.host}/copy/two:v1",
        f"oci-archive:{tmp_path}/x.tar:v1",
        f"oci:{tmp_path}/back:v1",
    ]
    for source, target in itertools.pairwise(places):
        copied = run(job.copy(source, target, ACCESS))
        assert copied.digest == str(IMAGE.digest)
        assert run(job.inspect(copied.reference, ACCESS)).digest == str(IMAGE.digest)


def test_referrers_of_an_image_are_copied_unless_disabled(
    layout: str, tmp_path: Path, registry: RegistryServer
) -> None:
    other = image.data_image(layer.write(Tree({"b": b"2"})), {}, created_by="test")
    signature = referrers.cosign_tag(IMAGE.digest, referrers.SIGNATURE)
    folder = Layout(tmp_path / "oci")
    run(transfer.copy(MemoryStore.of(other), folder, other.descriptor, tag=signature))

    target = f"{registry.host}/copy/signed:v1"
    copied = run(job.copy(layout, target, ACCESS))
    archive = run(job.copy(target, f"oci-archive:{tmp_path}/signed.tar:v1", ACCESS))
    alone = run(job.copy(layout, f"oci:{tmp_path}/alone:v1", ACCESS, with_referrers=False))

    assert [one.tag for one in copied.referrers] == [one.tag for one in archive.referrers]
    assert [one.tag for one in copied.referrers] == [signature]
    assert run(job.inspect(f"{registry.host}/copy/signed:{signature}", ACCESS)).digest == str(
        other.digest
    )
    assert alone.referrers == ()


def test_the_same_archive_is_written_each_time(layout: str, tmp_path: Path) -> None:
    for name in ("1", "2"):
        run(job.copy(layout, f"oci-archive:{tmp_path}/{name}.tar:v1", ACCESS))
    assert (tmp_path / "1.tar").read_bytes() == (tmp_path / "2.tar").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.tar", "2.tar", "oci"]


def test_blobs_in_the_same_registry_are_mounted(layout: str, registry: RegistryServer) -> None:
    one, two = f"{registry.host}/mounting/one:v1", f"{registry.host}/mounting/two:v1"
    run(job.copy(layout, one, ACCESS))
    copied = run(job.copy(one, two, ACCESS))
    assert sum(step.outcome is TransferOutcome.MOUNTED for step in copied.steps) == 5


def test_one_platform_is_copied_on_request(layout: str, tmp_path: Path) -> None:
    assert isinstance(IMAGE, MultiPlatformImage)
    copied = run(job.copy(layout, f"oci:{tmp_path}/arm:v1", ARM64))
    assert copied.digest == str(IMAGE.images[1].digest)
    assert run(job.inspect(copied.reference, ACCESS)).platforms == ("linux/arm64",)


def test_a_docker_archive_has_one_platform(layout: str, tmp_path: Path) -> None:
    target = f"docker-archive:{tmp_path}/x.tar:registry.example.com/a:v1"
    copied = run(job.copy(layout, target, ARM64))
    assert copied.reference == target
    facts = run(job.inspect(target, ACCESS))
    assert facts.platform == "linux/arm64"
    assert facts.labels == {"k": "v"}


def test_facts_are_those_of_the_image(layout: str) -> None:
    facts = run(job.inspect(layout, ARM64))
    assert facts.media_type == MediaType.OCI_INDEX
    assert facts.platforms == ("linux/amd64", "linux/arm64", "linux/ppc64le", "linux/s390x")
    assert facts.platform == "linux/arm64"
    assert facts.labels == {"k": "v"}
    assert facts.created == "1970-01-01T00:00:00Z"
    assert facts.size == sum(layer.size for layer in facts.layers) > 0


def test_invalid_transports_are_refused(layout: str, tmp_path: Path) -> None:
    pinned = f"oci:{tmp_path}/other@{IMAGE.digest}"
    with pytest.raises(ConfigurationError, match="which only the content determines"):
        run(job.copy(layout, pinned, ACCESS))
    with pytest.raises(ConfigurationError, match="it is a folder"):
        run(job.inspect(f"{tmp_path}/oci", ACCESS))
    with pytest.raises(RemoteError, match="its folder does not exist"):
        run(job.copy(layout, f"oci-archive:{tmp_path}/absent/x.tar:v1", ACCESS))
    other = replace(ACCESS, platform=Platform(os="linux", architecture="riscv64"))
    with pytest.raises(InputError, match="is not for `linux/riscv64`"):
        run(job.copy(layout, f"oci:{tmp_path}/other:v1", other))


def test_a_missing_engine_is_reported(
    layout: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-such-socket")
    with pytest.raises(RemoteError, match="Docker engine does not answer"):
        run(job.inspect("docker-daemon:a:v1", ACCESS))
    with pytest.raises(RemoteError, match="Docker engine does not answer"):
        run(job.copy(layout, "docker-daemon:a:v1", ACCESS))
