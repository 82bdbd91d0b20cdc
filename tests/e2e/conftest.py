"""The real cluster that these tests share: one node whose pods run, with OLM v0.

It is the program `tests/cluster`, which ends with its stdin: however the tests end,
no process remains.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Protocol

import pytest
from xdist.remote import Producer
from xdist.scheduler import Scheduling

from olmkit.base.diagnostics import InputError
from olmkit.jobs.project import generate, overlay
from olmkit.jobs.project.generate import GenerateOptions, Target
from olmkit.testing.control_plane import Programs
from tests.cluster_reader import ClusterReader, NotHandledError
from tests.e2e.scheduling import ClusterScheduling

PROGRAM = Path(__file__).resolve().parent.parent / "cluster"

# The files that take minutes, longest first. Workers take whole files: a long one that begins
# last would run alone at the end. `--no-loadscope-reorder` keeps this order.
LONG_FILES = (
    "cluster/test_watched",
    "cluster/test_workloads",
    "cluster/test_upgrades",
    "cluster/test_story",
    "cluster/test_faults",
    "cluster/test_serving",
    "test_interrupted",
    "cluster/test_crd_upgrades",
    "cluster/test_olm",
    "cluster/v1/test_installs",
    "cluster/test_broken",
    "runtime/test_leadership",
    "hybrid/test_ansible",
    "test_pages_walked",
    "cluster/test_your_own_operator",
    "cluster/v1/test_broken",
    "images/test_watched",
    "cluster/v1/contract/test_installs",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    ranks = {folder / f"{name}.py": rank for rank, name in enumerate(LONG_FILES)}
    if missing := [path.name for path in ranks if not path.is_file()]:
        raise pytest.UsageError(f"LONG_FILES names files that are not there: {missing}")
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    if config.getvalue("dist") != "loadfile":
        return None
    return ClusterScheduling(config, log)


class RunOnce(Protocol):
    def __call__(
        self,
        place: Path,
        *commands: Sequence[str],
        variables: Mapping[str, str],
        version: str = "",
    ) -> None: ...


class SameGenerated(Protocol):
    def __call__(self, place: Path, *, has_kinds: bool = True) -> None: ...


@dataclass(frozen=True, kw_only=True)
class RealCluster:
    """The addresses of the cluster. A test that needs a missing part is skipped with the reason.

    `facts` are those of the program `tests/cluster`; for an external cluster, those of the
    variables of `external`.
    """

    kubeconfig: Path
    words: list[str] = field(repr=False)
    facts: Mapping[str, Any] = field(repr=False)
    is_external: bool = False
    reader: ClusterReader | None = field(default=None, repr=False)

    @property
    def has_registry(self) -> bool:
        return "registry" in self.facts

    @property
    def registry(self) -> str:
        return str(self._fact("registry", "set OLMKIT_E2E_REGISTRY to one that its nodes reach"))

    @property
    def outside(self) -> str:
        """The address of this machine for the pods of the cluster."""
        hint = "set OLMKIT_E2E_ADDRESS to the address at which its pods reach this machine"
        return str(self._fact("outside", hint))

    @property
    def node(self) -> str:
        return str(self._fact("node", "its node is not on this machine"))

    @property
    def slow_server(self) -> str:
        """The address of the API server over the slow line of `tests/cluster/slow_line.py`."""
        return str(self._fact("slow_server", "its API server has one address"))

    @property
    def folder(self) -> Path:
        return Path(self._fact("folder", "its processes are not on this machine"))

    @property
    def programs(self) -> dict[str, Path]:
        found = self._fact("programs", "it does not run the programs that we build")
        return {name: Path(path) for name, path in found.items()}

    def _fact(self, name: str, why: str) -> Any:
        if name not in self.facts:
            pytest.skip(f"not possible in the cluster of {self.kubeconfig}: {why}")
        return self.facts[name]

    def close(self) -> None:
        """End the connection of the reader."""
        if self.reader is not None:
            self.reader.close()

    def kubectl(self, *words: str, text: str = "", check: bool = True) -> str:
        """Return the output of kubectl, which must succeed unless `check` is off."""
        done = subprocess.run(
            [*self.words, *words], input=text, capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def apply(self, text: str) -> str:
        """Apply objects, and return the warnings of kubectl.

        A ready pod is not immediately reachable through its Service: a request to its
        webhooks in between is refused, and repeated.
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
        """Return the output of `kubectl get -o json`; None if there is no such object."""
        if self.reader is not None:
            with contextlib.suppress(NotHandledError):
                return self.reader.get(*words)
        text = self.kubectl("get", *words, "-o", "json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def list(self, *words: str) -> list[Any]:
        """Return the objects from `kubectl get -o json`, possibly none."""
        found = self.get(*words)
        return [] if found is None else [*found["items"]]

    def refused(self, *words: str, text: str = "") -> str:
        """Return the error of kubectl, which must fail."""
        done = self._run(*words, text=text)
        assert done.returncode != 0, done.stdout
        return done.stderr

    def error(self, *words: str) -> str:
        """Return the error of kubectl; empty if it succeeds."""
        done = self._run(*words)
        return done.stderr if done.returncode else ""

    def _run(self, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.words, *words], input=text, capture_output=True, text=True, check=False
        )

    def stop(self, name: str, signal: str = "TERM") -> None:
        """Stop one of its processes, such as `kube-apiserver` or `registry`."""
        self._ask("stop", name, signal)

    def start(self, name: str) -> None:
        self._ask("start", name)

    def _ask(self, *words: str) -> None:
        environment = {"OLMKIT_CLUSTER": str(self.folder)}
        subprocess.run([sys.executable, str(PROGRAM), *words], check=True, env=environment)


def _described(facts: dict[str, Any]) -> RealCluster:
    kubeconfig = Path(facts["kubeconfig"])
    reader = ClusterReader(kubeconfig)
    return RealCluster(kubeconfig=kubeconfig, words=facts["kubectl"], facts=facts, reader=reader)


def external(kubeconfig: Path, tmp: Path) -> RealCluster:
    """A cluster of a kubeconfig: kind, k3d, a cloud. OLM must be installed in it.

    `OLMKIT_E2E_REGISTRY` is `host[:port][/path]` of a registry which this machine and the
    nodes can reach under this name; the images that tests use are pushed there, with the usual
    credentials. `OLMKIT_PLAIN_HTTP` means that it has no TLS. `OLMKIT_E2E_ADDRESS` is
    the address at which pods reach this machine.
    """
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("a cluster of OLMKIT_E2E_KUBECONFIG needs kubectl, which is not installed")
    found = {
        "registry": os.environ.get("OLMKIT_E2E_REGISTRY"),
        "outside": os.environ.get("OLMKIT_E2E_ADDRESS"),
    }
    facts = {name: value for name, value in found.items() if value}
    words = [kubectl, f"--kubeconfig={kubeconfig}"]
    made = RealCluster(kubeconfig=kubeconfig, words=words, facts=facts, is_external=True)
    if made.get("crd", "subscriptions.operators.coreos.com") is None:
        pytest.skip(f"the cluster of {kubeconfig} has no OLM: run `olmkit olm install`")
    if made.has_registry:
        _push_images(made, tmp)
    return made


def _push_images(cluster: RealCluster, folder: Path) -> None:
    """Push the images of pods; the programs in them have this machine's architecture."""
    nodes = {one["status"]["nodeInfo"]["architecture"] for one in cluster.list("nodes")}
    own = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    if own not in nodes:
        pytest.skip(f"the images are for {own}, and the nodes are {', '.join(sorted(nodes))}")
    subprocess.run([sys.executable, str(PROGRAM), "images", str(folder)], check=True)
    for layout in sorted(folder.iterdir()):
        words = ["image", "push", f"oci:{layout}:1", f"{cluster.registry}/{layout.name}:1"]
        subprocess.run([sys.executable, "-m", "olmkit", *words], check=True, capture_output=True)


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
        started = _described(json.loads(line))
        try:
            yield started
        finally:
            started.close()
            process.stdin.close()
            process.wait(timeout=120)


@pytest.fixture(scope="session")
def cluster(
    missing: Callable[[str], NoReturn], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealCluster]:
    """A cluster with one node; skipped with the reason if none can run, but never in CI.

    `OLMKIT_CLUSTER` names the directory of a running one, for manual work, and
    `OLMKIT_E2E_KUBECONFIG` an external cluster, see `external`.
    """
    if os.environ.get("OLMKIT_E2E_KUBECONFIG"):
        kubeconfig = Path(os.environ["OLMKIT_E2E_KUBECONFIG"])
        yield external(kubeconfig, tmp_path_factory.mktemp("images"))
        return
    if os.environ.get("OLMKIT_CLUSTER"):
        found = _described(json.loads(Path(os.environ["OLMKIT_CLUSTER"], "facts.json").read_text()))
        yield found
        found.close()
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
    """Assert that all overlays of a project are rendered, or refused, as in kustomize."""

    def compare(place: Path) -> None:
        folders = sorted(file.parent for file in place.glob("config/*/kustomization.yaml"))
        assert folders
        for folder in folders:
            name = folder.relative_to(place).as_posix()
            done = subprocess.run(
                [kustomize, "build", name], cwd=place, capture_output=True, check=False
            )
            try:
                found = overlay.stream(overlay.with_image(overlay.render(place, name), ""))
            except InputError:
                found = b""
            assert found == done.stdout, name
            assert bool(found) is not bool(done.returncode), name

    return compare


@pytest.fixture(scope="session")
def go_version() -> str:
    done = subprocess.run(["go", "version"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def same_generated(
    controller_gen: str,
    go_version: str,
    run_once: RunOnce,
    tmp_path_factory: pytest.TempPathFactory,
) -> SameGenerated:
    """Generate the manifests of Go sources, and assert that controller-gen writes the same.

    Its modules must be available: controller-gen reads them all.
    """

    def compare(place: Path, *, has_kinds: bool = True) -> None:
        theirs = tmp_path_factory.mktemp("theirs") / "project"
        shutil.copytree(place, theirs)
        words = "rbac:roleName=manager-role crd webhook paths=./..."
        run_once(
            theirs,
            *([["go", "mod", "tidy"]] if has_kinds else []),
            [controller_gen, *words.split(), "output:crd:artifacts:config=config/crd/bases"],
            variables={"GOFLAGS": "-mod=mod"},
            version=go_version,
        )
        options = GenerateOptions(
            targets=frozenset(Target) - {Target.CSV},
            settings=("controller-gen-version=v0.23.0",),
            environment=os.environ,
        )
        generate.generate(place, options)
        assert files_of(place / "config") == files_of(theirs / "config")

    return compare


@pytest.fixture(scope="session")
def run_once() -> RunOnce:
    """Run reference tools in a directory, or restore what they wrote there in an earlier run.

    What they write depends on the programs, their arguments and the files of the directory. It
    is kept next to the programs that we build: OLMKIT_CACHE, else ~/.cache/olmkit.
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(os.environ.get("OLMKIT_CACHE") or f"{home}/olmkit") / "answers"

    def run(
        place: Path, *commands: Sequence[str], variables: Mapping[str, str], version: str = ""
    ) -> None:
        known = hashlib.sha256(json.dumps([commands, dict(variables), version]).encode())
        for program in sorted({words[0] for words in commands}):
            found = Path(shutil.which(program) or program).stat()
            known.update(f"{found.st_size} {found.st_mtime_ns}".encode())
        for path, data in sorted(files_of(place).items()):
            known.update(f"{path} {len(data)}\n".encode() + data)
        kept = cache / known.hexdigest()[:24]
        if kept.is_dir():
            shutil.rmtree(place)
            shutil.copytree(kept, place)
            return
        environment = os.environ | dict(variables)
        for words in commands:
            subprocess.run(words, cwd=place, check=True, capture_output=True, env=environment)
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            shutil.copytree(place, Path(fresh, "answer"))
            with contextlib.suppress(OSError):  # another process was faster
                Path(fresh, "answer").rename(kept)

    return run


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="session")
def assets(tmp_path_factory: pytest.TempPathFactory, control_plane_programs: Programs) -> Path:
    """The programs of the control plane, in the directory layout of `make envtest`."""
    folder = tmp_path_factory.mktemp("assets")
    (folder / "etcd").symlink_to(control_plane_programs.etcd)
    server = folder / "kube-apiserver"
    server.write_text(f'#!/bin/sh\nexec {shlex.join(control_plane_programs.server)} "$@"\n')
    server.chmod(0o755)
    return folder
