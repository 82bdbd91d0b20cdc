"""Catalog images with a server, run by Docker, and read by the reference tools."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.tree import File, Tree
from olmkit.edges.catalog.client import CatalogClient
from olmkit.edges.images import transfer, transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.layout import Layout
from olmkit.oci import image, layer
from olmkit.oci.store import MemoryStore
from olmkit.testing.registry import RegistryServer, free_port

pytestmark = pytest.mark.e2e

PACKAGES = {"name": "memcached-operator"}


@pytest.fixture(scope="module")
def opm_base(tmp_path_factory: pytest.TempPathFactory, opm: Path) -> str:
    """An image with only opm and its probe."""
    folder = tmp_path_factory.mktemp("opm")
    programs = {
        f"bin/{name}": File((opm / name).read_bytes(), 0o755)
        for name in ("opm", "grpc_health_probe")
    }
    made = image.append(
        image.scratch(transports.own_platform()),
        layer.write(Tree({**programs, "tmp/.keep": b""})),
        created_by="tests",
    )
    made = image.configure(made, {"Env": ["PATH=/bin"], "User": "0"})
    asyncio.run(transfer.copy(MemoryStore.of(made), Layout(folder), made.descriptor, tag="v1"))
    return f"oci:{folder}:v1"


@pytest.fixture(scope="module")
def catalog_image(
    root: Path,
    base_image: str,
    registry: RegistryServer,
    own_wheel: Any,
    olmkit: Callable[..., str],
) -> str:
    """The shipped catalog with olmkit's server, pushed."""
    return olmkit(
        *("catalog", "build", root / "catalog", "--server", "olmkit", "--base", base_image),
        *("-t", f"{registry.host}/e2e/catalog:v1", "--push"),
        **own_wheel.environment,
    )


@contextlib.contextmanager
def running(docker: Callable[..., str], name: str, *words: str) -> Iterator[str]:
    """A container of an image on the network of this machine."""
    made = docker("run", "--detach", "--network", "host", name, *words).strip()
    try:
        yield made
    except BaseException:
        print(docker("logs", made))  # noqa: T201 - what is seen when it fails
        raise
    finally:
        docker("rm", "--force", made)


def probe(execute: Callable[..., str], *where: str, port: int) -> str:
    """The probe of OLM, executed until it has a result within half a second."""
    limits = ("-connect-timeout=500ms", "-rpc-timeout=500ms")
    words = (*where, "grpc_health_probe", f"-addr=:{port}", *limits)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(AssertionError):
            return execute(*words)
        time.sleep(0.2)
    return execute(*words)  # which has the error message


def test_a_catalog_with_olmkits_server_answers_and_is_healthy(
    catalog_image: str, docker: Callable[..., str], opm: Path
) -> None:
    docker("pull", catalog_image)
    port = free_port()
    words = ("catalog", "serve", "/configs", "--cache-dir=/tmp/cache", f"--port={port}")
    with running(docker, catalog_image, *words) as container:
        assert probe(docker, "exec", container, port=port) == "status: SERVING\n"
        with CatalogClient(f"127.0.0.1:{port}") as client:
            assert PACKAGES in client.ask("ListPackages", {})
        theirs = subprocess.run(
            [opm / "grpc_health_probe", f"-addr=127.0.0.1:{port}"], capture_output=True, check=False
        )
        assert theirs.returncode == 0, "the program that olmkit's replaces agrees"
        assert docker("exec", container, "id", "-u").strip() == "1001"
        docker("stop", container)
        assert docker("inspect", "-f", "{{.State.ExitCode}}", container).strip() == "0"


def test_containerd_runs_it_with_the_settings_of_the_image(
    catalog_image: str, ctr: Callable[..., str]
) -> None:
    ctr("image", "pull", "--plain-http", catalog_image)
    ctr("run", "--detach", catalog_image, "catalog")
    numbers = itertools.count()

    def execute(*words: str) -> str:
        return ctr("task", "exec", "--exec-id", f"probe-{next(numbers)}", "catalog", *words)

    try:
        assert probe(execute, port=50051) == "status: SERVING\n"
    finally:
        ctr("task", "rm", "--force", "catalog")
        ctr("container", "rm", "catalog")
        ctr("image", "rm", catalog_image)


def test_skopeo_reads_and_copies_it(
    catalog_image: str, skopeo: Callable[..., bytes], tmp_path: Path
) -> None:
    told = json.loads(skopeo("inspect", "--tls-verify=false", f"docker://{catalog_image}"))
    assert told["Labels"][transports.CONFIGS_LABEL] == "/configs"
    assert catalog_image.endswith(f"@{told['Digest']}")
    words = ("copy", "-q", "--src-tls-verify=false", f"docker://{catalog_image}")
    skopeo(*words, f"oci:{tmp_path}/copy:v1")


def test_a_catalog_with_opm_answers_and_is_healthy(
    root: Path,
    opm_base: str,
    registry: RegistryServer,
    docker: Callable[..., str],
    olmkit: Callable[..., str],
) -> None:
    pinned = olmkit(
        *("catalog", "build", root / "catalog", "--server", "opm", "--base", opm_base),
        *("-t", f"{registry.host}/e2e/opm-catalog:v1", "--push"),
    )
    docker("pull", pinned)
    port = free_port()
    command = json.loads(docker("inspect", "-f", "{{json .Config.Cmd}}", pinned))
    with running(docker, pinned, *command, f"--port={port}", "--pprof-addr=") as container:
        assert "SERVING" in probe(docker, "exec", container, port=port)
        with CatalogClient(f"127.0.0.1:{port}") as client:
            assert PACKAGES in client.ask("ListPackages", {})


def test_opm_accepts_the_contents_of_the_image(
    catalog_image: str, opm: Path, tmp_path: Path, olmkit: Callable[..., str]
) -> None:
    async def unpack() -> None:
        found = await transports.read_catalog_tree(catalog_image, Access(environment=os.environ))
        for path, file in found.tree.items():
            target = tmp_path / "configs" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.data)

    asyncio.run(unpack())
    subprocess.run([opm / "opm", "validate", tmp_path / "configs"], check=True)
    rendered = subprocess.run(
        [opm / "opm", "render", "--use-http", "-o", "json", catalog_image],
        capture_output=True,
        check=True,
        cwd=tmp_path,
    )
    assert rendered.stdout.decode().strip() == olmkit(
        "catalog", "render", catalog_image, "-o", "json"
    )


@pytest.mark.parametrize("version", ["0.0.1", "0.0.2"])
def test_opm_renders_a_bundle_image_of_olmkit_like_olmkit(
    version: str,
    root: Path,
    opm: Path,
    registry: RegistryServer,
    olmkit: Callable[..., str],
    tmp_path: Path,
) -> None:
    bundle = root / "bundle" / version if (root / "bundle" / version).is_dir() else root / "bundle"
    target = f"{registry.host}/e2e/bundle:v{version}"
    pinned = olmkit("bundle", "build", bundle, "-t", target, "--push")
    rendered = subprocess.run(
        [opm / "opm", "render", "--use-http", "-o", "json", pinned],
        capture_output=True,
        check=True,
        cwd=tmp_path,
    )
    assert rendered.stdout.decode().strip() == olmkit("catalog", "render", pinned, "-o", "json")
    assert json.loads(rendered.stdout.decode().split("\n}\n")[0] + "}")["image"] == pinned
