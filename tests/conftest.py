"""What all tests share: where the real cases lie, and whether slow parts run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from olmkit.testing.registry import RegistryServer
from olmkit.testing.registry import program as registry_program

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--e2e", action="store_true", help="run tests that need real servers or much time"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--e2e"):
        return
    skip = pytest.mark.skip(reason="needs real servers or much time: run with --e2e")
    for item in items:
        if "e2e" in item.keywords:
            item.add_marker(skip)


def cases_folder() -> Path | None:
    """The folder of real cases, or None when it is not on this machine."""
    folder = Path(os.environ.get("OLMKIT_CASES", ROOT / ".." / "shared" / "cases"))
    return folder.resolve() if folder.is_dir() else None


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of real cases; skips the test when there is none."""
    folder = cases_folder()
    if folder is None:
        pytest.skip("no real cases here: set OLMKIT_CASES to their folder")
    return folder


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    """A docker-registry on loopback that lets everybody in; tests use repositories of their own."""
    require("docker-registry", registry_program())
    with RegistryServer(folder=tmp_path_factory.mktemp("registry")) as server:
        yield server


@pytest.fixture(scope="session")
def skopeo() -> Callable[..., bytes]:
    """Runs skopeo with some words and gives what it prints; it must succeed."""
    require("skopeo", shutil.which("skopeo"))

    def run(*words: str) -> bytes:
        done = subprocess.run(["skopeo", *words], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    return run


def require(program: str, found: str | None) -> None:
    """Skip when a program is missing; in CI it must not be."""
    if found is None:
        missing(f"{program} is not here: run scripts/system-packages")


@pytest.fixture(scope="session", name="missing")
def missing_part() -> Callable[[str], NoReturn]:
    """For fixtures of other modules: says that a real part cannot be had."""
    return missing


def missing(reason: str) -> NoReturn:
    """Skip what needs a real part that is not here; in CI, where all of them are, fail."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
