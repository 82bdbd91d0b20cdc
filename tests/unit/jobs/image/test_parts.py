"""Parts of images: which are cached, and their keys; `test_build.py` tests the rest."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from olmkit.edges.build.cache import BuildCache
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.image import parts as image_parts
from olmkit.jobs.image.parts import Packages
from olmkit.oci import image
from olmkit.oci.content import Platform
from olmkit.oci.layer import Layer

AMD64 = Platform(os="linux", architecture="amd64")
BASE = image.configure(image.scratch(AMD64), {"Env": ["PYTHON_VERSION=3.12.1"]})


@pytest.fixture
def packages(tmp_path: Path, make_wheel: Callable[..., Path]) -> Callable[..., Layer | None]:
    """Build the layer of packages with a cache in a directory; messages are added to `said`."""
    make_wheel(tmp_path / "wheels", "one")

    def make(wanted: Packages, said: list[str]) -> Layer | None:
        return asyncio.run(
            image_parts.packages_layer(
                wanted,
                AMD64,
                BASE,
                None,
                BuildCache(tmp_path / "cache"),
                Access(environment=os.environ),
                said.append,
            )
        )

    return make


def test_a_layer_is_rebuilt_if_its_inputs_change(
    packages: Callable[..., Layer | None], tmp_path: Path, make_wheel: Callable[..., Path]
) -> None:
    wanted = Packages(requirements=("one",), wheels=tmp_path / "wheels")
    said: list[str] = []
    first = packages(wanted, said)
    assert packages(wanted, said) == first
    assert said == [
        "packages for linux/amd64: collected for Python 3.12",
        "packages for linux/amd64: unchanged",
    ]
    make_wheel(tmp_path / "wheels", "two")
    packages(wanted, said)
    assert "unchanged" not in said[-1]


def test_without_requirements_there_is_no_layer(packages: Callable[..., Layer | None]) -> None:
    assert packages(Packages(requirements=()), []) is None
