"""A real API server for tests: etcd and kube-apiserver on loopback, ended by their process ids.

kube-apiserver comes from `KUBEBUILDER_ASSETS` where that is set, else from
`scripts/build-programs hyperkube`, which builds it once into a cache.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def programs() -> tuple[list[str], str] | str:
    """The words that start kube-apiserver and the path of etcd, or why there are none."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        server, etcd = Path(assets, "kube-apiserver"), Path(assets, "etcd")
        if server.exists() and etcd.exists():
            return [str(server)], str(etcd)
        return f"KUBEBUILDER_ASSETS names `{assets}`, which lacks kube-apiserver or etcd"
    etcd_path = shutil.which("etcd")
    if etcd_path is None:
        return "etcd is not here: install etcd-server, or set KUBEBUILDER_ASSETS"
    built = subprocess.run(
        ["/bin/sh", str(ROOT / "scripts/build-programs"), "hyperkube"],
        capture_output=True,
        text=True,
        check=False,
    )
    if built.returncode:
        return f"kube-apiserver cannot be built: {built.stderr.strip()[-300:]}"
    return [f"{built.stdout.strip()}/hyperkube", "kube-apiserver"], etcd_path


@dataclass
class ApiServer:
    """One API server with its etcd; `kubeconfig` speaks as system:masters."""

    folder: Path
    server: list[str]
    etcd: str
    port: int = field(default_factory=free_port)
    etcd_ports: tuple[int, int] = field(default_factory=lambda: (free_port(), free_port()))
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        key = self.folder / "sa.key"
        if not key.exists():
            _run("openssl", "genrsa", "-out", str(key), "2048")
            _run("openssl", "rsa", "-in", str(key), "-pubout", "-out", str(self.folder / "sa.pub"))
        tokens = self.folder / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f"{self.token},admin,1,system:masters\n{self.token}u,nobody,2,nothing\n")
        self.kubeconfig.write_text(self._kubeconfig(self.token))
        client, peer = (f"http://127.0.0.1:{port}" for port in self.etcd_ports)
        self._start(
            "etcd",
            [
                self.etcd,
                f"--data-dir={self.folder / 'etcd'}",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                "--unsafe-no-fsync",
            ],
        )
        self.start_server()

    def start_server(self) -> None:
        """Start kube-apiserver and wait until it is ready."""
        self._start(
            "kube-apiserver",
            [
                *self.server,
                f"--etcd-servers=http://127.0.0.1:{self.etcd_ports[0]}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                f"--secure-port={self.port}",
                f"--cert-dir={self.folder / 'cert'}",
                "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
                f"--service-account-signing-key-file={self.folder / 'sa.key'}",
                f"--service-account-key-file={self.folder / 'sa.pub'}",
                f"--token-auth-file={self.folder / 'tokens.csv'}",
                "--authorization-mode=RBAC",
                "--service-cluster-ip-range=10.96.0.0/16",
                "--endpoint-reconciler-type=none",
            ],
        )
        self._wait_until_ready()

    def stop_server(self, *, hard: bool = False) -> None:
        """End kube-apiserver; etcd and its data stay."""
        self._stop("kube-apiserver", signal.SIGKILL if hard else signal.SIGTERM)

    def stop(self) -> None:
        for name in list(reversed(self._processes)):
            self._stop(name, signal.SIGKILL)

    def write_kubeconfig(self, path: Path, token: str) -> None:
        path.write_text(self._kubeconfig(token))

    def _start(self, name: str, command: list[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def _stop(self, name: str, number: signal.Signals) -> None:
        process = self._processes.pop(name, None)
        if process is not None:
            process.send_signal(number)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _wait_until_ready(self) -> None:
        import ssl

        context = ssl._create_unverified_context()  # noqa: S323, SLF001 - our own server
        request = urllib.request.Request(  # noqa: S310
            f"{self.url}/readyz", headers={"Authorization": f"Bearer {self.token}"}
        )
        end = time.monotonic() + 90
        while time.monotonic() < end:
            process = self._processes["kube-apiserver"]
            if process.poll() is not None:
                break
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(  # noqa: S310
                    request, context=context, timeout=5
                ) as answer,
            ):
                if answer.status == 200:
                    return
            time.sleep(0.1)
        log = (self.folder / "kube-apiserver.log").read_text(errors="replace")
        raise RuntimeError(f"kube-apiserver did not become ready:\n{log[-2000:]}")

    def _kubeconfig(self, token: str) -> str:
        return (
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
            f"clusters: [{{name: c, cluster: {{server: '{self.url}', "
            f"certificate-authority: '{self.folder / 'cert' / 'apiserver.crt'}'}}}}]\n"
            f"users: [{{name: u, user: {{token: {token}}}}}]\n"
            "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
        )


@pytest.fixture(scope="module")
def apiserver(
    tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str], NoReturn]
) -> Iterator[ApiServer]:
    """A real API server that is ready; the tests of a module share it."""
    found = programs()
    if isinstance(found, str):
        missing(found)
    server = ApiServer(tmp_path_factory.mktemp("apiserver"), *found)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
