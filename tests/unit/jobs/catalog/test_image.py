"""Catalog images with a server, from a base in a layout and wheels in a directory."""

from __future__ import annotations

import asyncio
import os
import zipfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from olmkit import __version__
from olmkit.base.tree import Tree
from olmkit.edges.images import transfer, transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.layout import Layout
from olmkit.jobs.catalog import image as job
from olmkit.jobs.catalog.image import ServerKind, ServerOptions
from olmkit.jobs.image.publish import Published, PublishOptions
from olmkit.oci import image, layer
from olmkit.oci import reference as references
from olmkit.oci.content import Platform
from olmkit.oci.store import MemoryStore

T = TypeVar("T")
AMD64 = Platform(os="linux", architecture="amd64")
CATALOG = """\
schema: olm.package
name: cog
defaultChannel: stable
---
schema: olm.channel
package: cog
name: stable
entries:
- name: cog.v1.0.0
---
schema: olm.bundle
package: cog
name: cog.v1.0.0
image: example.com/cog:v1
properties:
- type: olm.package
  value: {packageName: cog, version: 1.0.0}
"""


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A catalog, a base image with Python, and a wheel with the name of olmkit."""
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog" / "catalog.yaml").write_text(CATALOG)
    base = image.configure(
        image.append(image.scratch(AMD64), layer.write(Tree({"bin/opm": b""})), created_by="test"),
        {"Env": ["PYTHON_VERSION=3.12.1"]},
    )
    run(transfer.copy(MemoryStore.of(base), Layout(tmp_path / "base"), base.descriptor, tag="x"))
    info = f"olmkit-{__version__}.dist-info"
    (tmp_path / "wheels").mkdir()
    wheel = tmp_path / "wheels" / f"olmkit-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {
            "olmkit/__init__.py": "",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: olmkit\nVersion: {__version__}\n"
            "Provides-Extra: serve\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": f"olmkit/__init__.py,,\n{info}/RECORD,,\n",
        }.items():
            archive.writestr(name, text)
    return tmp_path


def build(project: Path, kind: ServerKind, said: list[str] | None = None) -> Published:
    heard = [] if said is None else said
    return run(
        job.build(
            "catalog",
            PublishOptions(project=project, platforms=(AMD64,)),
            ServerOptions(kind=kind, base=f"oci:{project}/base:x", wheels=str(project / "wheels")),
            Access(environment={**os.environ, "OLMKIT_CACHE": str(project / "cache")}),
            say=heard.append,
        )
    )


async def files(reference: str) -> Tree:
    parsed = references.parse_image(reference)
    async with transports.open_store(parsed, Access()) as store:
        root = await store.resolve(transports.selector(parsed))
        found = await transports.select_image(store, root, Access(platform=AMD64))
        return await transports.unpack(store, found)


def test_the_server_of_olmkit_is_in_the_image_with_its_probe(project: Path) -> None:
    made = build(project, ServerKind.OLMKIT)
    tree = run(files(made.reference))
    assert tree["usr/bin/grpc_health_probe"].mode == 0o755
    assert "opt/operator/lib/olmkit/__init__.py" in tree
    assert tree.data("configs/catalog.yaml").decode() == CATALOG
    said: list[str] = []
    assert build(project, ServerKind.OLMKIT, said).digest == made.digest
    assert said[-1] == "packages for linux/amd64: unchanged"


def test_with_opm_only_the_catalog_is_added(project: Path) -> None:
    tree = run(files(build(project, ServerKind.OPM).reference))
    assert list(tree) == ["bin/opm", "configs/catalog.yaml"]


def test_without_a_server_the_image_is_data_for_every_platform(
    project: Path, skopeo: Callable[..., bytes]
) -> None:
    plain = run(
        job.build(
            "catalog",
            PublishOptions(project=project),
            ServerOptions(),
            Access(environment=os.environ),
        )
    )
    assert len(plain.platforms) == 4
    assert b"configs.v1" in skopeo("inspect", plain.tag)
