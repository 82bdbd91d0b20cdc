"""Builds that are killed at any moment: the next one completes with the same result.

Both the layout and the cache are checked, the layout by skopeo.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from olmkit.base.tree import Tree
from olmkit.edges.images import transfer
from olmkit.edges.images.layout import Layout
from olmkit.oci import image, layer, store
from olmkit.oci.content import Platform
from olmkit.oci.store import MemoryStore

pytestmark = pytest.mark.e2e

PYPROJECT = """
[project]
name = "tiny-operator"
version = "1.0"
dependencies = ["one"]
"""
BASE = image.configure(
    image.append(
        image.scratch(Platform(os="linux", architecture="amd64")),
        layer.write(Tree({"usr/lib/big": random.Random(1).randbytes(3_000_000)})),
        created_by="test",
    ),
    {"Env": ["PYTHON_VERSION=3.12.1"]},
)


@pytest.fixture
def folder(tmp_path: Path, make_wheel: Callable[..., Path]) -> Path:
    """A project, a base in a layout, and a directory for temporary files that nothing removes."""
    (tmp_path / "project" / "tiny_operator").mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").write_text(PYPROJECT)
    make_wheel(tmp_path / "project" / "wheels", "one")
    (tmp_path / "tmp").mkdir()
    target = Layout(tmp_path / "base")
    asyncio.run(transfer.copy(MemoryStore.of(BASE), target, BASE.descriptor, tag="v1"))
    return tmp_path


def started(folder: Path, output: str, cache: str) -> subprocess.Popen[bytes]:
    words = ["image", "build", "-q", "-C", str(folder / "project"), "--platform", "linux/amd64"]
    words += ["--base", f"oci:{folder}/base:v1", "--wheels", str(folder / "project" / "wheels")]
    return subprocess.Popen(
        [sys.executable, "-m", "olmkit", *words, "-t", f"oci:{folder}/{output}:v1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"OLMKIT_CACHE": str(folder / cache), "TMPDIR": str(folder / "tmp")},
    )


def finished(process: subprocess.Popen[bytes]) -> str:
    """Return the digest of an uninterrupted build."""
    out, err = process.communicate()
    assert process.returncode == 0, err.decode()
    return out.decode().strip().partition("@")[2]


def test_a_killed_build_is_completed_by_the_next(
    folder: Path, skopeo: Callable[..., bytes]
) -> None:
    source = random.Random(5)
    killed = 0
    (folder / "project/tiny_operator/__init__.py").touch()
    began = time.monotonic()
    finished(started(folder, "first", "first-cache"))
    taken = time.monotonic() - began
    for number in range(50):
        (folder / "project/tiny_operator/__init__.py").write_text(f"x = {number // 10}\n")
        if number % 10 == 0:
            shutil.rmtree(folder / "cache", ignore_errors=True)
        process = started(folder, "oci", "cache")
        # At any moment of the time that a build needs on this machine.
        time.sleep(source.uniform(0.05, taken))
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if number % 10 == 9:
            digest = finished(started(folder, "oci", "cache"))
            assert digest == finished(started(folder, f"clean{number}", f"cache{number}"))
            skopeo("inspect", f"oci:{folder}/oci:v1")
            asyncio.run(is_complete(Layout(folder / "oci"), digest))
    assert killed > 15


async def is_complete(layout: Layout, digest: str) -> None:
    """Return whether every part of the image exists and matches its digest."""
    for level in await store.levels(layout, await layout.resolve(digest)):
        for descriptor in level:
            await store.read(layout, descriptor, limit=1 << 30)
