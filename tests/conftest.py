"""Fixtures and options of all tests: the real cases, and whether slow tests run."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from olmkit.testing import control_plane
from olmkit.testing.control_plane import ControlPlane, ControlPlaneError, Programs
from olmkit.testing.registry import RegistryServer
from olmkit.testing.registry import program as registry_program

ROOT = Path(__file__).resolve().parent.parent
PLUGIN = "-p olmkit.testing.pytest_plugin"  # if this installation does not announce it yet


# Tests never measure how fast a machine is.
settings.register_profile("olmkit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("olmkit")


def pytest_configure() -> None:
    # In the background of a shell SIGINT is ignored, and started processes would inherit that.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without garbage collection: collected tests are not garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()  # later collections ignore the tests themselves
        gc.enable()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    # Packed bytes can contain the time. Parallel test processes compare the names.
    packed = isinstance(val, bytes) and not val.isascii()
    return argname if packed else None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--e2e", action="store_true", help="run tests that need real servers or much time"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--e2e"):
        return
    skip = pytest.mark.skip(reason="needs real servers or much time: run with --e2e")
    for item in items:
        if item.get_closest_marker("e2e"):  # not of a directory with that name
            item.add_marker(skip)


def cases_folder() -> Path | None:
    """The directory of real cases, or None if it is not on this machine."""
    folder = Path(os.environ.get("OLMKIT_CASES", ROOT / ".." / "shared" / "cases"))
    return folder.resolve() if folder.is_dir() else None


@pytest.fixture(scope="session")
def cases() -> Path:
    """The directory of real cases; skips the test if there is none."""
    folder = cases_folder()
    if folder is None:
        pytest.skip("no real cases here: set OLMKIT_CASES to their directory")
    return folder


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The directory of the unpacked sets of `tests/vectors`."""
    script = [sys.executable, str(ROOT / "scripts" / "vectors.py"), "unpack"]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    """A docker-registry on loopback without credentials; tests use their own repositories."""
    require("docker-registry", registry_program())
    with RegistryServer(folder=tmp_path_factory.mktemp("registry")) as server:
        yield server


@pytest.fixture(scope="session")
def skopeo() -> Callable[..., bytes]:
    """Run skopeo with arguments and return its output; it must succeed."""
    require("skopeo", shutil.which("skopeo"))

    def run(*words: str) -> bytes:
        done = subprocess.run(["skopeo", *words], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    return run


@pytest.fixture(scope="session")
def make_wheel() -> Callable[..., Path]:
    """Build a wheel of `name`, by default with version 1.0, with one module and one program."""

    def make(
        folder: Path,
        name: str,
        tag: str = "py3-none-any",
        requires: str = "",
        version: str = "1.0",
    ) -> Path:
        folder.mkdir(exist_ok=True)
        info = f"{name}-{version}.dist-info"
        needs = f"Requires-Dist: {requires}\n" if requires else ""
        files = {
            f"{name}/__init__.py": f"tag = '{tag}'\n",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
            f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
            f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
        }
        files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
        path = folder / f"{name}-{version}-{tag}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for inner, text in files.items():
                archive.writestr(zipfile.ZipInfo(inner), text)
        return path

    return make


@pytest.fixture(scope="session")
def base_layout(root: Path) -> str:
    """An image with Python from Debian's packages, as `oci:FOLDER:TAG`; it is cached."""
    made = subprocess.run(
        ["/bin/sh", str(root / "scripts/base-image")], capture_output=True, text=True, check=False
    )
    if made.returncode:
        missing(f"the base image cannot be made: {made.stderr.strip()[-300:]}")
    return made.stdout.strip()


@pytest.fixture(scope="session")
def base_image(base_layout: str, registry: RegistryServer, skopeo: Callable[..., bytes]) -> str:
    """The base image in the registry on loopback."""
    name = f"{registry.host}/base/python:3.11"
    skopeo("copy", "-q", "--dest-tls-verify=false", base_layout, f"docker://{name}")
    return name


@pytest.fixture(scope="session")
def control_plane_programs() -> Programs:
    """kube-apiserver and etcd: `KUBEBUILDER_ASSETS`, or those that are built once into a cache."""
    if os.environ.get("KUBEBUILDER_ASSETS"):
        try:
            return control_plane.programs()
        except ControlPlaneError as error:
            missing(str(error))
    return Programs((built("hyperkube"), "kube-apiserver"), built("etcd"))


def built(program: str) -> str:
    """Return the path of a reference program, built once into a cache by the set of its name."""
    done = subprocess.run(
        ["/bin/sh", str(ROOT / "scripts/build-programs"), program],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        missing(f"{program} cannot be built: {done.stderr.strip()[-300:]}")
    return f"{done.stdout.strip()}/{program}"


@pytest.fixture(scope="session")
def built_program() -> Callable[[str], str]:
    """Build a set of `scripts/build-programs`; return a path in its directory."""
    return built


@pytest.fixture(scope="session")
def kustomize() -> str:
    """`KUSTOMIZE`, or the built one."""
    return os.environ.get("KUSTOMIZE") or built("kustomize")


@pytest.fixture(scope="session")
def kubebuilder() -> str:
    """`KUBEBUILDER`, or the built one."""
    return os.environ.get("KUBEBUILDER") or built("kubebuilder")


@pytest.fixture(scope="session")
def controller_gen() -> str:
    """`CONTROLLER_GEN`, or the built one."""
    return os.environ.get("CONTROLLER_GEN") or built("controller-gen")


@pytest.fixture(scope="session")
def operator_sdk() -> str:
    """`OPERATOR_SDK`, or the built one, which has its commands except Ansible."""
    return os.environ.get("OPERATOR_SDK") or built("operator-sdk")


@pytest.fixture(scope="module")
def apiserver(
    tmp_path_factory: pytest.TempPathFactory, control_plane_programs: Programs
) -> Iterator[ControlPlane]:
    """A real API server that is ready; the tests of a module share it."""
    folder = tmp_path_factory.mktemp("apiserver")
    with ControlPlane(folder=folder, programs=control_plane_programs) as server:
        yield server


def require(program: str, found: str | None) -> None:
    """Skip if a program is missing; in CI, fail."""
    if found is None:
        missing(f"{program} is not here: run scripts/system-packages")


@pytest.fixture(scope="session", name="missing")
def missing_part() -> Callable[[str], NoReturn]:
    """For fixtures of other modules: report that a real part is not available."""
    return missing


def missing(reason: str) -> NoReturn:
    """Skip a test that needs a missing real part; in CI, where all of them exist, fail."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


BLOCK = re.compile(r"^```(\w+)(?: (\w+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Reader:
    """A user who follows a page: runs its `sh`, applies its `diff`, searches for its `text`.

    Each block of commands begins in the directory and with the variables in which the previous one
    ended.
    """

    def __init__(self, page: Path, place: Path) -> None:
        self.blocks: list[tuple[str, str, str]] = BLOCK.findall(page.read_text())
        self.tools = place / "tools"
        self.folder = place / "work"
        self._state = place / "state"
        self._said = ""
        for folder in (self.tools, self.folder):
            folder.mkdir()
        self._state.touch()
        self.tool("olmkit", f'exec "{sys.executable}" -m olmkit "$@"')

    def tool(self, name: str, script: str) -> None:
        """Add a program that takes precedence over all others."""
        file = self.tools / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def run(
        self,
        script: str,
        *,
        folder: Path | None = None,
        variables: Mapping[str, str] | None = None,
        code: int = 0,
    ) -> str:
        """Run commands that end with `code`; return their output. `folder` is for this call."""
        end = f'\nexport -p | grep -v "PWD=" >"{self._state}"\npwd >"{self._state}.folder"\n'
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", f'. "{self._state}"\n{script}{end}'],
            cwd=folder or self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=420,
            env=self._environment(variables),
        )
        assert done.returncode == code, f"{script}\n{done.stdout}\n{done.stderr}"
        if folder is None and code == 0:
            self.folder = Path(Path(f"{self._state}.folder").read_text().strip())
        return done.stdout + done.stderr

    def start(
        self, command: str, *, variables: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """A command that runs until it is stopped; its stdout and stderr are one stream."""
        return subprocess.Popen(
            ["/bin/sh", "-c", f'. "{self._state}"\nexec {command}'],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment(variables),
        )

    def _environment(self, variables: Mapping[str, str] | None) -> dict[str, str]:
        return {
            **{key: value for key, value in os.environ.items() if key[:7] != "OLMKIT_"},
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "VENV": ".venv",
            "PYTEST_ADDOPTS": f"-p no:cacheprovider {PLUGIN} --control-plane=off",
            **(variables or {}),
        }

    def follow(self, language: str, text: str) -> str:
        """Execute one block; return the last output."""
        match language:
            case "sh":
                self._said = self.run(text)
                self._have_environment()
            case "diff":
                self._apply(text)
            case "text":
                assert text.rstrip("\n") in self._said, f"{text}\nis not in\n{self._said}"
            case _:
                raise AssertionError(f"a block of {language}")
        return self._said

    def _apply(self, patch: str) -> None:
        # A hunk that is longer than its header would be ignored.
        words = ["git", "apply", "--apply", "--numstat", "-"]
        done = subprocess.run(
            words, input=patch, capture_output=True, text=True, cwd=self.folder, check=False
        )
        assert done.returncode == 0, done.stderr
        added = sum(int(line.split()[0]) for line in done.stdout.splitlines())
        assert added == len(re.findall(r"^\+(?!\+\+ )", patch, re.MULTILINE))

    def _have_environment(self) -> None:
        if (self.folder / "Makefile").exists() and not (self.folder / ".venv").exists():
            _lend_environment(self.folder)


def _lend_environment(project: Path) -> None:
    """The tools of this run as the project's own environment."""
    place = project / ".venv"
    place.mkdir()
    prefix = Path(sys.prefix)
    for name in ("bin", "lib"):
        (place / name).symlink_to(prefix / name)
    if (prefix / "pyvenv.cfg").exists():
        shutil.copy(prefix / "pyvenv.cfg", place)
    (place / ".ready").touch()


@pytest.fixture(scope="session")
def lend_environment() -> Callable[[Path], None]:
    """Let a project use the tools of this run as its own environment."""
    return _lend_environment


@pytest.fixture(scope="session")
def write_bundle() -> Callable[[Path, dict[str, Any]], None]:
    """Write a minimal bundle: a CSV and the annotations of its package."""

    def write(folder: Path, csv: dict[str, Any]) -> None:
        prefix = "operators.operatorframework.io.bundle"
        annotations = {
            f"{prefix}.mediatype.v1": "registry+v1",
            f"{prefix}.manifests.v1": "manifests/",
            f"{prefix}.metadata.v1": "metadata/",
            f"{prefix}.package.v1": csv["metadata"]["name"].partition(".")[0],
            f"{prefix}.channels.v1": "stable",
            f"{prefix}.channel.default.v1": "stable",
        }
        for name, value in (
            ("manifests/operator.clusterserviceversion.yaml", csv),
            ("metadata/annotations.yaml", {"annotations": annotations}),
        ):
            path = folder / name
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(value))

    return write


@pytest.fixture
def reader_of(tmp_path: Path) -> Callable[[Path], Reader]:
    """A user who follows that page in a directory of this test."""
    return lambda page: Reader(page, tmp_path)
