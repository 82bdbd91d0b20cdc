"""The Memcached operator as processes with a real API server."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.api import AlreadyExists, ClusterError, NoSuchKind
from olmkit.kube.objects import Manifest
from olmkit.testing.control_plane import ControlPlane, Programs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
IMAGE = "memcached:1.6"

_AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  verbs: [create, update, patch]
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: Metadata
"""


@dataclass(eq=False)
class Replica:
    """One process of the operator; `user` is its identity at the API server."""

    user: str
    log: Path
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """End it without notice, like a failing node."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    @property
    def rss(self) -> float:
        """Return its resident memory in MiB."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise ProcessLookupError(self.process.pid)

    def words(self) -> str:
        return self.log.read_text(errors="replace")


@dataclass(eq=False)
class OperatorPlane:
    """A real API server with the kind Memcached, and the replicas that a test starts."""

    plane: ControlPlane
    replicas: list[Replica] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def audit_log(self) -> Path:
        return self.plane.folder / "audit.log"

    def start(
        self,
        *flags: str,
        config: Path | None = None,
        environment: dict[str, str] | None = None,
        program: Sequence[str] = (str(HERE / "replica.py"),),
    ) -> Replica:
        """Start one more replica, under its own user or with the given kubeconfig.

        `program` is what Python runs: the Memcached operator by default.
        """
        user = f"replica-{next(self._numbers)}"
        path = config or self.plane.write_kubeconfig(
            self.plane.folder / f"{user}.kubeconfig", user=user
        )
        log = self.plane.folder / f"{user}.log"
        words = [f"--kubeconfig={path}", "--health-probe-bind-address=0", *flags]
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-W", "error", *program, *words],
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
                env=os.environ
                | {"REPLICA": user, "MEMCACHED_IMAGE": IMAGE, "PYTHONUNBUFFERED": "1"}
                | (environment or {}),
            )
        replica = Replica(user, log, process)
        self.replicas.append(replica)
        return replica

    def stop(self) -> None:
        for replica in self.replicas:
            if replica.is_running:
                replica.kill()

    def cluster(self) -> AbstractAsyncContextManager[HttpCluster]:
        """A connection of the administrator."""
        return HttpCluster(kubeconfig.load(paths=[self.plane.kubeconfig]))

    def install(self, paths: Sequence[Path]) -> None:
        """Create the objects in manifest files; existing ones are not changed."""
        self.make(
            document.value
            for path in paths
            for document in documents.load_all(path.read_bytes(), str(path))
        )

    def make(self, manifests: Iterable[Manifest]) -> None:
        """Create objects; existing ones are not changed."""

        async def work() -> None:
            async with self.cluster() as cluster:
                for manifest in manifests:
                    await self.create(cluster, manifest)

        asyncio.run(work())

    @property
    def role_files(self) -> list[Path]:
        """Return the permissions of the shipped operator in a cluster."""
        names = ("role", "leader_election_role")
        return [ROOT / f"operator/config/rbac/{name}.yaml" for name in names]

    def roles(self) -> list[Manifest]:
        """The same as objects, for the namespace `default`."""
        found = [documents.load(path.read_bytes(), str(path)).value for path in self.role_files]
        for role in found:
            if role["kind"] == "Role":
                role["metadata"]["namespace"] = "default"
        return found

    def allow(self, user: str, roles: Sequence[Manifest]) -> Path:
        """Give a user exactly these roles; return its kubeconfig."""
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "default", "namespace": "default"},
        }
        self.make([account, *roles, *(_binding(role, user) for role in roles)])
        path = self.plane.folder / f"{user}.kubeconfig"
        return self.plane.write_kubeconfig(path, user=user, groups=())

    def install_kinds(self) -> None:
        """Install the operator's CRDs, and wait until the server serves them."""
        self.install(sorted((ROOT / "operator/config/crd/bases").glob("*.yaml")))
        asyncio.run(_served(self))

    async def create(self, cluster: HttpCluster, manifest: Manifest) -> None:
        """Create an object; an existing one is not changed."""
        resource = await cluster.resource(manifest["apiVersion"], manifest["kind"])
        try:
            await cluster.create(resource, manifest)
        except AlreadyExists:
            return


def _binding(role: Manifest, user: str) -> Manifest:
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": f"{role['kind']}Binding",
        "metadata": {**role["metadata"], "name": f"{user}-{role['metadata']['name']}"},
        "roleRef": {"apiGroup": group, "kind": role["kind"], "name": role["metadata"]["name"]},
        "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
    }


@contextlib.contextmanager
def _audited(folder: Path, programs: Programs) -> Iterator[OperatorPlane]:
    policy = folder / "audit.yaml"
    policy.write_text(_AUDIT_POLICY)
    flags = (f"--audit-policy-file={policy}", f"--audit-log-path={folder / 'audit.log'}")
    with ControlPlane(folder=folder, programs=programs, flags=flags) as plane:
        found = OperatorPlane(plane)
        try:
            yield found
        finally:
            found.stop()


@pytest.fixture
def operator_plane(
    tmp_path_factory: pytest.TempPathFactory, control_plane_programs: Programs
) -> Iterator[OperatorPlane]:
    """An API server with the kind Memcached and an audit log; replicas end with the test."""
    with _audited(tmp_path_factory.mktemp("operated"), control_plane_programs) as found:
        found.install_kinds()
        yield found


@pytest.fixture
def bare(
    tmp_path_factory: pytest.TempPathFactory, control_plane_programs: Programs
) -> Iterator[OperatorPlane]:
    """The same without the kind Memcached."""
    with _audited(tmp_path_factory.mktemp("bare"), control_plane_programs) as found:
        yield found


async def _served(operator_plane: OperatorPlane) -> None:
    async with asyncio.timeout(180):
        while True:
            async with (
                operator_plane.cluster() as cluster
            ):  # a new one: unknown kinds are remembered
                try:
                    found = await cluster.resource("cache.example.com/v1alpha1", "Memcached")
                    await cluster.list_page(found)
                except (NoSuchKind, ClusterError):
                    await asyncio.sleep(0.2)
                else:
                    return


@pytest.fixture(scope="session")
def until() -> Callable[..., Awaitable[Any]]:
    """Wait until an async function returns a true value, and return it; ignore temporary errors."""

    async def wait(ask: Callable[[], Awaitable[Any]], seconds: float = 180) -> Any:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    if found := await ask():
                        return found
                except ClusterError as error:
                    if not error.temporary:
                        raise
                await asyncio.sleep(0.1)

    return wait
