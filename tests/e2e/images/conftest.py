"""Runtimes of images: a Docker engine and a containerd, started here and stopped by their pids.

They need root and Debian's packages docker.io and containerd; without them, the
tests are skipped. The engine that DOCKER_HOST names is used if it is set.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest

from olmkit.testing.registry import RegistryServer

_SBIN = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
_START = 30.0  # seconds


def call(*words: str | Path, **environment: str) -> str:
    """Return the output of a program, which must succeed."""
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout or done.stderr  # `docker logs` prints the container's output to stderr


@pytest.fixture(scope="session")
def olmkit(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Run olmkit and return its output, with a cache for this session."""
    cache = tmp_path_factory.mktemp("cache")

    def run(*words: str | Path, **environment: str) -> str:
        return call(
            *(sys.executable, "-m", "olmkit", *words),
            **{"OLMKIT_CACHE": str(cache), **environment},
        ).strip()

    return run


@pytest.fixture(scope="session")
def docker(
    tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str], NoReturn]
) -> Iterator[Callable[..., str]]:
    """Run `docker` and return its output."""
    if shutil.which("docker") and _answers():
        yield lambda *words: call("docker", *words)
        return
    daemon = shutil.which("dockerd", path=_SBIN)
    if daemon is None or shutil.which("docker") is None or os.geteuid() != 0:
        missing("no Docker engine here: install docker.io and be root, or set DOCKER_HOST")
    folder = tmp_path_factory.mktemp("engine")
    words = [daemon, "-H", f"unix://{folder}/socket", "--data-root", f"{folder}/data"]
    words += ["--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
    words += ["--bridge=none", "--iptables=false"]
    before = os.environ.get("DOCKER_HOST")
    os.environ["DOCKER_HOST"] = f"unix://{folder}/socket"
    try:
        with _running(words, folder, _answers, missing):
            yield lambda *words: call("docker", *words)
    finally:
        if before is None:
            del os.environ["DOCKER_HOST"]
        else:
            os.environ["DOCKER_HOST"] = before


@pytest.fixture(scope="session")
def ctr(
    tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str], NoReturn]
) -> Iterator[Callable[..., str]]:
    """Run `ctr` with arguments and a separate containerd, and return its output."""
    daemon, client = (shutil.which(name, path=_SBIN) for name in ("containerd", "ctr"))
    if daemon is None or client is None or os.geteuid() != 0:
        missing("no containerd here: install containerd and be root")
    folder = tmp_path_factory.mktemp("containerd")
    config = folder / "config.toml"
    config.write_text(
        f"""version = 2
root = "{folder}/root"
state = "{folder}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.internal.v1.opt"]
[grpc]
  address = "{folder}/socket"
"""
    )
    start = [client, "-a", f"{folder}/socket", "-n", f"olmkit-{os.getpid()}"]

    def answers() -> bool:
        done = subprocess.run([*start, "version"], capture_output=True, check=False)
        return done.returncode == 0

    with _running([daemon, "-c", str(config)], folder, answers, missing):
        yield lambda *words: call(*start, *words)


@pytest.fixture
def podman(
    tmp_path: Path,
    base_layout: str,
    skopeo: Callable[..., bytes],
    missing: Callable[[str], NoReturn],
) -> Iterator[dict[str, str]]:
    """The environment of a Podman with its own store, which has the base image."""
    program = shutil.which("podman")
    if program is None or os.geteuid() != 0:
        missing("no Podman here: install podman and be root")
    store = tmp_path / "podman"
    store.mkdir()
    settings = store / "storage.conf"
    settings.write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{store}/root"\nrunroot = "{store}/run"\n'
    )
    (store / "containers.conf").write_text(
        # Limits that a container is always allowed to set for itself.
        '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'
        '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
    )
    environment = {
        "CONTAINERS_STORAGE_CONF": str(settings),
        "CONTAINERS_CONF": str(store / "containers.conf"),
    }
    archive = f"{store}/base.tar"
    skopeo("copy", "-q", base_layout, f"docker-archive:{archive}:localhost/olmkit-test-base:v1")
    words = [program, "load", "-q", "-i", archive]
    subprocess.run(words, env=os.environ | environment, check=True, capture_output=True)
    yield environment
    _unmount(store)


class _running:  # noqa: N801 - read as a statement
    """A server from its first answer to its end, without mounts that remain in its directory."""

    def __init__(
        self,
        words: list[str],
        folder: Path,
        answers: Callable[[], bool],
        missing: Callable[[str], NoReturn],
    ) -> None:
        self._folder = folder
        with (folder / "log").open("wb") as out:
            self._process = subprocess.Popen(words, stdout=out, stderr=out)
        deadline = time.monotonic() + _START
        while not answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                said = (folder / "log").read_text()[-500:]
                missing(f"{words[0]} cannot run here: {said}")
            time.sleep(0.1)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        _unmount(self._folder)


def _unmount(folder: Path) -> None:
    """A mount of an engine remains; pytest could not remove the directory, now or later."""
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in reversed(mounts):
        if mount.startswith(f"{folder}/"):
            subprocess.run(["umount", mount], check=False)


def _answers() -> bool:
    return subprocess.run(["docker", "version"], capture_output=True, check=False).returncode == 0


@dataclass(frozen=True)
class Wheels:
    """A directory with olmkit's wheels, and the environment in which installers also search it."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"UV_FIND_LINKS": str(self.folder)}


@pytest.fixture(scope="session")
def own_wheel(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Wheels:
    """The wheels of this checkout; all others come from the package index of this machine."""
    folder = tmp_path_factory.mktemp("wheel")
    for project in (root, root / "runtime"):
        call(
            sys.executable, "-m", "uv", "build", "--wheel", "--quiet", "--out-dir", folder, project
        )
    return Wheels(folder)


@pytest.fixture(scope="session")
def operator_project(
    tmp_path_factory: pytest.TempPathFactory, root: Path, own_wheel: Wheels
) -> Path:
    """A copy of the Memcached operator with a lock for the base image."""
    folder = tmp_path_factory.mktemp("operator") / "operator"
    shutil.copytree(root / "operator", folder, ignore=shutil.ignore_patterns("__pycache__"))
    call(
        *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--generate-hashes"),
        *("--python-version", "3.11", "--no-emit-find-links", "--no-header", "--no-annotate"),
        *("--python-platform", f"{platform.machine()}-manylinux_2_28"),
        *("-o", folder / "requirements.lock", folder / "pyproject.toml"),
        **own_wheel.environment,
    )
    return folder


@pytest.fixture(scope="session")
def operator_image(
    operator_project: Path,
    own_wheel: Wheels,
    base_image: str,
    registry: RegistryServer,
    olmkit: Callable[..., str],
) -> str:
    """The pinned reference of the Memcached operator, built without an engine and pushed."""
    return olmkit(
        *("image", "build", "-C", operator_project, "--base", base_image, "--sbom"),
        *("-t", f"{registry.host}/e2e/memcached-operator:v0.0.2", "--push"),
        **own_wheel.environment,
    )


@pytest.fixture(scope="session")
def opm(root: Path, missing: Callable[[str], NoReturn]) -> Path:
    """The directory with `opm` and `grpc_health_probe`, built once into the cache."""
    built = subprocess.run(
        ["/bin/sh", str(root / "scripts/build-programs"), "opm"],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        missing(f"opm cannot be built: {built.stderr.strip()[-300:]}")
    return Path(built.stdout.strip())
