"""Images to and from a real Docker engine, and long runs over unreliable connections."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import RemoteError
from olmkit.base.tree import Tree
from olmkit.edges.images import transfer
from olmkit.edges.images.layout import Layout
from olmkit.edges.images.registries.client import RegistryStore
from olmkit.edges.images.transports import Access
from olmkit.edges.network.web import Web, WebOptions
from olmkit.jobs.image import copy as job
from olmkit.oci import image, layer, store
from olmkit.oci.image import MultiPlatformImage
from olmkit.oci.reference import Reference
from olmkit.oci.store import MemoryStore
from olmkit.testing.faults import FaultProxy
from olmkit.testing.registry import RegistryServer

pytestmark = pytest.mark.e2e

T = TypeVar("T")
ACCESS = Access(environment=os.environ)
IMAGE = image.data_image(
    layer.write(Tree({"manifests/a.yaml": b"a: 1\n" * 1000})), {"k": "v"}, created_by="test"
)
assert isinstance(IMAGE, MultiPlatformImage)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@pytest.fixture
def layout(tmp_path: Path) -> str:
    target = Layout(tmp_path / "oci")
    run(transfer.copy(MemoryStore.of(IMAGE), target, IMAGE.descriptor, tag="v1"))
    return f"oci:{tmp_path}/oci:v1"


def test_an_engine_loads_an_image_of_olmkit_and_saves_it_unchanged(
    docker: Callable[..., str], layout: str, tmp_path: Path
) -> None:
    run(job.copy(layout, "docker-daemon:olmkit-test:v1", ACCESS))
    try:
        assert '"k":"v"' in docker("inspect", "-f", "{{json .Config.Labels}}", "olmkit-test:v1")
        assert run(job.inspect("docker-daemon:olmkit-test:v1", ACCESS)).labels == {"k": "v"}
        copied = run(job.copy("docker-daemon:olmkit-test:v1", f"oci:{tmp_path}/x:v1", ACCESS))
        assert run(job.inspect(copied.reference, ACCESS)).labels == {"k": "v"}
        with pytest.raises(RemoteError, match="has no image"):
            run(job.inspect("docker-daemon:olmkit-test:none", ACCESS))
    finally:
        docker("rmi", "olmkit-test:v1")


def test_an_engine_pulls_a_pushed_image(
    docker: Callable[..., str], layout: str, registry: RegistryServer
) -> None:
    name = f"{registry.host}/engine/image:v1"
    run(job.copy(layout, name, ACCESS))
    assert str(IMAGE.digest) in docker("pull", name)
    docker("rmi", name)


def test_two_hundred_pushes_over_an_unreliable_connection_succeed_or_report_why(
    registry: RegistryServer,
) -> None:
    """Each completes or reports why, and every blob of the completed ones is intact."""

    async def check() -> int:
        done = 0
        async with FaultProxy(
            upstream=f"http://{registry.host}", rate=0.2, source=random.Random(11)
        ) as proxy:
            for number in range(200):
                name = f"bad-line/e{number}"
                options = WebOptions(first_wait=0.01, longest_wait=0.05)
                try:
                    async with Web(options) as web:
                        target = RegistryStore(web, Reference.parse(f"{proxy.host}/{name}"))
                        await transfer.copy(
                            MemoryStore.of(IMAGE), target, IMAGE.descriptor, tag="v1"
                        )
                except RemoteError as error:
                    sys.stderr.write(f"{error.message}\n")
                    continue
                done += 1
                await is_complete(f"{registry.host}/{name}")
        return done

    assert run(check()) > 190


async def is_complete(name: str) -> None:
    async with Web(WebOptions()) as web:
        target = RegistryStore(web, Reference.parse(name))
        for level in await store.levels(target, await target.resolve("v1")):
            for descriptor in level:
                await store.read(target, descriptor)


def test_a_killed_push_is_completed_by_the_next(layout: str, registry: RegistryServer) -> None:
    """At a hundred random moments: no image with a tag lacks a blob."""
    source = random.Random(3)
    for number in range(100):
        name = f"{registry.host}/killed/n{number % 10}:v1"
        process = subprocess.Popen(
            [sys.executable, "-m", "olmkit", "image", "copy", "-q", layout, name],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(source.uniform(0.05, 0.45))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        if number % 10 == 9:
            for other in range(10):
                repository = f"{registry.host}/killed/n{other}"
                run(job.copy(layout, f"{repository}:v1", ACCESS))
                run(is_complete(repository))
