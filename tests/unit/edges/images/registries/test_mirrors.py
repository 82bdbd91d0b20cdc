"""Mirrors on real registries, and the files that configure them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import ConfigurationError, Diagnostic, Location, RemoteError
from olmkit.base.tree import Tree
from olmkit.edges.images import transfer
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.layout import Layout
from olmkit.edges.images.registries import mirrors
from olmkit.edges.images.registries.mirrors import MirroredStore
from olmkit.jobs.image import copy as job
from olmkit.oci import image, layer
from olmkit.oci import store as stores
from olmkit.oci.content import Descriptor
from olmkit.oci.store import MemoryStore
from olmkit.testing.registry import RegistryServer

T = TypeVar("T")
IMAGE = image.data_image(layer.write(Tree({"a": b"1" * 600_000})), {"k": "v"}, created_by="test")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def configuration(folder: Path, registry: RegistryServer, blocked: str = "false") -> Access:
    """An environment in which one name has a mirror on `registry`."""
    path = folder / "registries.conf"
    path.write_text(
        f'[[registry]]\nlocation = "far.invalid/team"\nblocked = {blocked}\n'
        f'[[registry.mirror]]\nlocation = "{registry.host}/mirror"\n'
    )
    return Access(environment={"CONTAINERS_REGISTRIES_CONF": str(path)})


def test_an_image_comes_from_the_mirror_under_its_own_name(
    registry: RegistryServer, tmp_path: Path
) -> None:
    access = configuration(tmp_path, registry)
    run(transfer.copy(MemoryStore.of(IMAGE), Layout(tmp_path / "l"), IMAGE.descriptor, tag="x"))
    run(job.copy(f"oci:{tmp_path}/l:x", f"{registry.host}/mirror/op:v1", access))
    facts = run(job.inspect("far.invalid/team/op:v1", access))
    assert facts.reference == f"far.invalid/team/op@{IMAGE.digest}"
    run(job.copy(f"far.invalid/team/op@{IMAGE.digest}", f"oci:{tmp_path}/copy:v1", access))
    assert run(job.inspect(f"oci:{tmp_path}/copy:v1", access)).digest == str(IMAGE.digest)


def test_unknown_keys_are_reported_also_by_a_file_without_rules(
    registry: RegistryServer, tmp_path: Path
) -> None:
    access = configuration(tmp_path, registry)
    path = tmp_path / "registries.conf"
    path.write_text('[[registries]]\nlocation = "far.invalid"\n')
    found: list[Diagnostic] = []
    access = replace(access, report=found.extend)
    run(transfer.copy(MemoryStore.of(IMAGE), Layout(tmp_path / "l"), IMAGE.descriptor, tag="x"))
    run(job.copy(f"oci:{tmp_path}/l:x", f"{registry.host}/op:v1", access))
    assert {(one.message, one.at) for one in found} == {
        ("unknown key `registries`", Location(path=str(path), line=1, column=3))
    }


def test_a_blocked_name_is_refused(registry: RegistryServer, tmp_path: Path) -> None:
    access = configuration(tmp_path, registry, blocked="true")
    with pytest.raises(ConfigurationError, match="must not be used"):
        run(job.inspect("far.invalid/team/op:v1", access))


class Failing(MemoryStore):
    """Has every image, and closes the connection after the first half of any content."""

    async def fetch(self, descriptor: Descriptor, offset: int = 0) -> AsyncIterator[bytes]:
        yield self.blobs[descriptor.digest][offset : descriptor.size // 2]
        raise RemoteError("gone")


def test_content_continues_from_the_next_location_after_a_failure() -> None:
    failing, whole = Failing(), MemoryStore.of(IMAGE)
    failing.blobs = dict(whole.blobs)
    for descriptor in run(levels(whole)):
        data = run(stores.read(MirroredStore([failing, whole], "x"), descriptor))
        assert descriptor.digest.matches(data)


async def levels(store: MemoryStore) -> list[Descriptor]:
    return [one for level in await stores.levels(store, IMAGE.descriptor) for one in level]


def test_the_error_of_the_last_location_is_reported() -> None:
    empty = Failing()
    store = MirroredStore([empty, empty], "far/op")
    with pytest.raises(ConfigurationError, match="there is no image `v1`"):
        run(store.resolve("v1"))
    with pytest.raises(ConfigurationError, match="is read from mirrors"):
        run(store.push(IMAGE.descriptor, stores.chunks(b"")))
    with pytest.raises(ConfigurationError, match="is read from mirrors"):
        run(store.tag(IMAGE.descriptor, "x"))
    assert run(store.tags()) == ()
    assert not run(store.exists(IMAGE.descriptor))


def test_files_are_read_from_the_paths_of_podman(tmp_path: Path) -> None:
    assert mirrors.read({"CONTAINERS_REGISTRIES_CONF": _write(tmp_path / "none.conf", "")}) is None
    with pytest.raises(ConfigurationError, match="does not exist"):
        mirrors.read({"CONTAINERS_REGISTRIES_CONF": str(tmp_path / "missing")})
    _write(tmp_path / "containers/registries.conf", '[[registry]]\nlocation = "a.b"\n')
    _write(tmp_path / "containers/registries.conf.d/1.conf", '[[registry]]\nlocation = "c.d"\n')
    found = mirrors.read({"XDG_CONFIG_HOME": str(tmp_path)})
    assert found is not None
    assert {"a.b", "c.d"} <= set(found.rules)


def _write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)
