"""The shipped operator in the cluster's registry, and olmkit with the commands of a user.

Both releases are built from a copy of the project whose images are in that registry:
by olmkit, on a base image of Debian's packages.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.forked_commands import ForkedCommands

VERSIONS = ("0.0.1", "0.0.2")
PACKAGE = "memcached-operator"


@dataclass(frozen=True, kw_only=True)
class CompletedCommand:
    """The output of a command, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


_COMMANDS = ForkedCommands()


class CommandRunner:
    """Runs olmkit with the cluster, and prints commands and their output."""

    def __init__(self, cluster: Any, folder: Path) -> None:
        self._folder = folder
        self.environment = os.environ | {
            "KUBECONFIG": str(cluster.kubeconfig),
            "OLMKIT_NO_PROGRESS": "1",
        }
        if cluster.has_registry:
            self.environment["OLMKIT_CATALOG_SERVER"] = f"{cluster.registry}/opm:1"
        if not cluster.is_external:
            self.environment["OLMKIT_PLAIN_HTTP"] = "1"

    def tell(self, words: str) -> None:
        sys.stdout.write(f"\n{words}\n")
        sys.stdout.flush()

    def try_(self, *words: str | Path, code: int | None = 0) -> CompletedCommand:
        """Run a command; it must end with `code`, unless that is None."""
        typed = [str(word) for word in words]
        sys.stdout.write(f"  $ {shlex.join(['olmkit', *typed])}\n")
        begin = time.monotonic()
        done = _COMMANDS.run(typed, self._folder, self.environment)
        for line in (done.err + done.out).splitlines()[-12:]:
            sys.stdout.write(f"    {line[:160]}\n")
        sys.stdout.write(f"    ({time.monotonic() - begin:.1f} s)\n")
        sys.stdout.flush()
        assert code is None or done.code == code, done.err + done.out
        return CompletedCommand(code=done.code, out=done.out, err=done.err)

    def __call__(self, *words: str | Path) -> str:
        """Return the output of a command that succeeds."""
        return self.try_(*words).out

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        """A command that runs during the test."""
        return subprocess.Popen(
            [sys.executable, "-m", "olmkit", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self._folder,
            env=self.environment,
        )


@dataclass(frozen=True, kw_only=True)
class Release:
    """Both versions: pinned references of bundle images, their directories, and the project."""

    image: str
    bundles: dict[str, str]
    folders: dict[str, Path]
    project: Path


@pytest.fixture(scope="session")
def run_olmkit(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> CommandRunner:
    return CommandRunner(cluster, tmp_path_factory.mktemp("typed"))


@pytest.fixture
def run_olmkit_of(tmp_path: Path) -> Callable[[Any], CommandRunner]:
    """A user of another cluster."""
    return lambda cluster: CommandRunner(cluster, tmp_path)


@pytest.fixture(scope="session")
def wheels(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of an operator for the base image's Python, including olmkit itself.

    All workers of a run share them.
    """
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent
    folder = shared / "operator-wheels"
    with (shared / "operator-wheels.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            fresh = tmp_path_factory.mktemp("wheels")
            _build_wheels(root, fresh)
            fresh.rename(folder)
    return folder


def _build_wheels(root: Path, folder: Path) -> None:
    requirements = folder / "requirements.txt"
    uv = str(Path(sys.executable).with_name("uv"))
    machine = platform.machine()
    families = ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "manylinux1")
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    for project in (root, root / "runtime"):
        _run(*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(folder), str(project))
    _run(
        *(uv, "pip", "compile", "-q", "--no-annotate", "--no-header", "--python-version", "3.11"),
        *("--python-platform", f"{machine}-manylinux_2_28"),
        *("--extra", "operator", "--extra", "serve", "-c", str(root / "requirements.lock")),
        *("--no-emit-package", "olmkit-runtime"),
        *(str(root / "pyproject.toml"), "-o", str(requirements)),
    )
    _run(
        *(*pip, "download", "--no-deps", "--only-binary=:all:", "--python-version", "3.11"),
        *(f"--platform={family}_{machine}" for family in families),
        *("-d", str(folder), "-r", str(requirements)),
    )


@pytest.fixture(scope="session")
def base(root: Path) -> str:
    """A base image with Python for all builds."""
    return _run("sh", str(root / "scripts/base-image")).strip()


@pytest.fixture(scope="session")
def release(
    cluster: Any,
    run_olmkit: CommandRunner,
    base: str,
    wheels: Path,
    root: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Release:
    """The operator's image and the bundle images of both versions, in the cluster's registry."""
    home = tmp_path_factory.mktemp("release")
    project = home / "operator"
    shutil.copytree(
        root / "operator", project, ignore=shutil.ignore_patterns("__pycache__", "dist")
    )
    for file in project.glob("config/**/*.yaml"):
        text = file.read_text()
        text = text.replace("quay.io/example", cluster.registry)
        text = text.replace("docker.io/library/memcached:1.6.39-alpine",
                            f"{cluster.registry}/memcached:1")  # fmt: skip
        file.write_text(text)
    image = f"{cluster.registry}/{PACKAGE}"
    bundles, folders = {}, {}
    run_olmkit.tell("The operator's image and the images of its bundles")
    for version in VERSIONS:
        run_olmkit("image", "build", "-C", project, "-t", f"{image}:v{version}", "--push",
               "--base", base, "--wheels", wheels)  # fmt: skip
        folders[version] = home / "bundle" / version
        run_olmkit("bundle", "generate", "-C", project, "--version", version, "--input",
               f"config/releases/{version}", "--output-dir", folders[version])  # fmt: skip
        bundles[version] = run_olmkit(
            "bundle", "build", folders[version], "-t", f"{image}-bundle:v{version}", "--push"
        ).strip()
    return Release(image=image, bundles=bundles, folders=folders, project=project)


@pytest.fixture(scope="session")
def catalog_of(
    run_olmkit: CommandRunner, release: Release, tmp_path_factory: Any
) -> Callable[..., Path]:
    """Write the directory of a catalog with some of the versions."""

    def make(*versions: str) -> Path:
        folder = Path(tmp_path_factory.mktemp("catalog"))
        (folder / "catalog.yaml").write_text(run_olmkit("catalog", "init", PACKAGE, "-c", "alpha"))
        for version in versions:
            run_olmkit("catalog", "add", folder, release.bundles[version], "--channel", "alpha")
        return folder

    return make


@pytest.fixture
def namespace(cluster: Any) -> Iterator[str]:
    """A unique name for a namespace, which is deleted at the end."""
    name = f"t-{uuid.uuid4().hex[:6]}"
    yield name
    cluster.kubectl("delete", "subscription,csv,catalogsource,operatorgroup", "--all", "-n", name,
                    "--ignore-not-found", check=False)  # fmt: skip
    cluster.kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false")


@pytest.fixture
def emptied(cluster: Any, eventually: Callable[..., Any]) -> Callable[[str], None]:
    """Wait until the API shows no object of the operator in a namespace."""

    def wait(namespace: str) -> None:
        # The garbage collector and the copies of other tests need time.
        remains: list[str] = []

        def is_gone() -> bool:
            remains[:] = _left(cluster, namespace)
            return not remains

        eventually(is_gone, seconds=240, what=lambda: f"{remains} are gone")

    return wait


@pytest.fixture(scope="session")
def eventually() -> Callable[..., Any]:
    """Repeat a request until the result is true."""

    def ask(
        question: Callable[[], Any], seconds: float = 180, what: str | Callable[[], str] = ""
    ) -> Any:
        end = time.monotonic() + seconds
        pause = 0.3
        while True:
            answer = question()
            if answer:
                return answer
            wanted = what() if callable(what) else what or question
            assert time.monotonic() < end, f"in {seconds} s not: {wanted}"
            time.sleep(pause)
            pause = min(pause * 1.2, 1.5)  # most questions start a process

    return ask


def _left(cluster: Any, namespace: str) -> list[str]:
    """Return the objects of the operator that still exist."""
    kinds = "subscription,csv,installplan,catalogsource,operatorgroup,deployment,pod,service,job"
    found = cluster.list(kinds, "-n", namespace)
    webhooks = "validatingwebhookconfiguration,mutatingwebhookconfiguration"
    found += [
        one
        for one in cluster.list(f"crd,clusterrole,clusterrolebinding,{webhooks}")
        if "memcached" in (name := one["metadata"]["name"]) and not name.startswith("olm.og.")
    ]
    # OLM's roles for an OperatorGroup begin with its own name; other tests' roles are not.
    found += cluster.list("clusterrole", "-l", f"olm.owner.namespace={namespace}")
    operators = cluster.list("operators.operators.coreos.com")
    found += [one for one in operators if one["metadata"]["name"].endswith(f".{namespace}")]
    return [f"{one['kind']}/{one['metadata']['name']}" for one in found]


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout
