"""The real cluster that these tests share: one node whose pods run, with OLM v0.

It is the program `tests/cluster`, which ends with its input: whatever becomes of us,
nothing of it stays.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.jobs.project import generate, overlay
from olmkit.jobs.project.generate import GenerateOptions, Target

PROGRAM = Path(__file__).resolve().parent.parent / "cluster"


class SameGenerated(Protocol):
    def __call__(self, place: Path, *, has_kinds: bool = True) -> None: ...


@dataclass(frozen=True, kw_only=True)
class RealCluster:
    """How to reach it. `outside` is this machine's address for its pods."""

    kubeconfig: Path
    registry: str
    node: str
    outside: str
    folder: Path
    programs: dict[str, Path] = field(repr=False)
    words: list[str] = field(repr=False)

    def kubectl(self, *words: str, text: str = "", check: bool = True) -> str:
        """What kubectl prints; it must succeed unless `check` is off."""
        done = subprocess.run(
            [*self.words, *words], input=text, capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def apply(self, text: str) -> str:
        """Apply objects, and what kubectl warns of.

        A pod that is ready is not at once reached through its Service: who calls its
        webhooks in between is refused, and tries again.
        """
        deadline = time.monotonic() + 60
        while True:
            done = subprocess.run(
                [*self.words, "apply", "-f", "-"],
                input=text,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode == 0:
                return done.stderr
            assert "webhook" in done.stderr, done.stderr
            assert time.monotonic() < deadline, done.stderr
            time.sleep(0.5)

    def get(self, *words: str) -> Any:
        """What `kubectl get -o json` answers; None when there is no such object."""
        text = self.kubectl("get", *words, "-o", "json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def list(self, *words: str) -> list[Any]:
        """The objects that `kubectl get -o json` answers, of which there may be none."""
        found = self.get(*words)
        return [] if found is None else [*found["items"]]

    def refused(self, *words: str, text: str = "") -> str:
        """What kubectl says when it must not succeed."""
        done = subprocess.run(
            [*self.words, *words], input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode != 0, done.stdout
        return done.stderr

    def stop(self, name: str, signal: str = "TERM") -> None:
        """End one of its processes, such as `kube-apiserver` or `registry`."""
        self._ask("stop", name, signal)

    def start(self, name: str) -> None:
        self._ask("start", name)

    def _ask(self, *words: str) -> None:
        environment = {"OLMKIT_CLUSTER": str(self.folder)}
        subprocess.run([sys.executable, str(PROGRAM), *words], check=True, env=environment)


def _described(facts: dict[str, Any]) -> RealCluster:
    return RealCluster(
        kubeconfig=Path(facts["kubeconfig"]),
        registry=facts["registry"],
        node=facts["node"],
        outside=facts["outside"],
        folder=Path(facts["folder"]),
        programs={name: Path(path) for name, path in facts["programs"].items()},
        words=facts["kubectl"],
    )


@contextmanager
def _started(missing: Callable[[str], NoReturn], *words: str) -> Iterator[RealCluster]:
    found = subprocess.run(
        [sys.executable, str(PROGRAM), "check"], capture_output=True, text=True, check=False
    )
    if found.returncode:
        missing(f"no cluster can run here: {found.stdout.strip()}")
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), "run", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        if not line:
            missing(f"the cluster did not come up: {process.stderr.read().decode()[-2000:]}")
        try:
            yield _described(json.loads(line))
        finally:
            process.stdin.close()
            process.wait(timeout=120)


@pytest.fixture(scope="session")
def cluster(missing: Callable[[str], NoReturn]) -> Iterator[RealCluster]:
    """A cluster of one node; skipped with the reason where none can run, but never in CI.

    `OLMKIT_CLUSTER` names the folder of one that runs already, for hand work.
    """
    if os.environ.get("OLMKIT_CLUSTER"):
        yield _described(json.loads(Path(os.environ["OLMKIT_CLUSTER"], "facts.json").read_text()))
        return
    with _started(missing) as started:
        yield started


@pytest.fixture(scope="module")
def cluster_without_olm(missing: Callable[[str], NoReturn]) -> Iterator[RealCluster]:
    """Another cluster, into which OLM can be installed."""
    with _started(missing, "--without-olm") as started:
        yield started


@pytest.fixture
def same_overlays(kustomize: str) -> Callable[[Path], None]:
    """Asserts that all overlays of a project are rendered, or refused, as kustomize does."""

    def compare(place: Path) -> None:
        folders = sorted(file.parent for file in place.glob("config/*/kustomization.yaml"))
        assert folders
        for folder in folders:
            name = folder.relative_to(place).as_posix()
            done = subprocess.run(
                [kustomize, "build", name], cwd=place, capture_output=True, check=False
            )
            try:
                found = overlay.stream(overlay.render(place, name))
            except InputError:
                found = b""
            assert found == done.stdout, name
            assert bool(found) is not bool(done.returncode), name

    return compare


@pytest.fixture
def same_generated(controller_gen: str, tmp_path_factory: pytest.TempPathFactory) -> SameGenerated:
    """Generates what the Go sources of a project say, and asserts that controller-gen does so.

    Its modules must be there or to be had: controller-gen reads them all.
    """

    def compare(place: Path, *, has_kinds: bool = True) -> None:
        theirs = tmp_path_factory.mktemp("theirs") / "project"
        shutil.copytree(place, theirs)
        environment = os.environ | {"GOFLAGS": "-mod=mod"}
        if has_kinds:
            subprocess.run(
                ["go", "mod", "tidy"], cwd=theirs, check=True, capture_output=True, env=environment
            )
        words = "rbac:roleName=manager-role crd webhook paths=./..."
        subprocess.run(
            [controller_gen, *words.split(), "output:crd:artifacts:config=config/crd/bases"],
            cwd=theirs,
            check=True,
            capture_output=True,
            env=environment,
        )
        options = GenerateOptions(
            targets=frozenset(Target) - {Target.CSV},
            settings=("controller-gen-version=v0.23.0",),
            environment=os.environ,
        )
        generate.generate(place, options)
        assert files_of(place / "config") == files_of(theirs / "config")

    return compare


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
