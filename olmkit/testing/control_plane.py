"""A real control plane for tests: etcd and kube-apiserver on loopback.

No controllers, scheduler or kubelet run: Deployments get no pods and no status, and nothing is
garbage-collected. `programs` finds the binaries; the caller may pass others. Processes are stopped
by their process ids.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import shutil
import signal
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from olmkit.edges.programs.keeper import marks
from olmkit.testing.registry import free_port

_START = 90.0  # seconds; a cold start on a busy machine takes 20
_STOP = 20.0


class ControlPlaneError(RuntimeError):
    """The binaries are missing, or the API server does not become ready."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The command of kube-apiserver, and the path of etcd."""

    server: tuple[str, ...]
    etcd: str


def programs(environment: Mapping[str, str] | None = None) -> Programs:
    """Find the binaries of a control plane in the first location that has both.

    The locations are: `KUBEBUILDER_ASSETS`, `PATH`, the cache of olmkit (`OLMKIT_CACHE`, by default
    `~/.cache/olmkit`), the store of setup-envtest, and `/usr/local/kubebuilder/bin`. Raises
    `ControlPlaneError` if `KUBEBUILDER_ASSETS` lacks one of them, or no location has both.
    """
    environment = os.environ if environment is None else environment
    assets = environment.get("KUBEBUILDER_ASSETS")
    if assets:
        found = _in_folder(Path(assets))
        if found is None:
            raise ControlPlaneError(
                f"`KUBEBUILDER_ASSETS` names `{assets}`, which lacks kube-apiserver or etcd: "
                "`make envtest` of a project downloads both"
            )
        return found
    path = environment.get("PATH")
    server, etcd = (shutil.which(name, path=path) for name in ("kube-apiserver", "etcd"))
    if server is not None and etcd is not None:
        return Programs((server,), etcd)
    for folder in _stores(environment):
        found = _in_folder(folder)
        if found is not None:
            return found
    raise ControlPlaneError(
        "kube-apiserver and etcd are not installed: `make envtest` of a project downloads them; "
        "for other folders set `KUBEBUILDER_ASSETS`"
    )


def _in_folder(folder: Path) -> Programs | None:
    server, etcd = folder / "kube-apiserver", folder / "etcd"
    if server.exists() and etcd.exists():
        return Programs((str(server),), str(etcd))
    # The cache of olmkit has all components of Kubernetes in one binary.
    built, stores = _newest(folder, "hyperkube-*/hyperkube"), _newest(folder, "etcd-*/etcd")
    if built is not None and stores is not None:
        return Programs((str(built), "kube-apiserver"), str(stores))
    return None


def _newest(folder: Path, pattern: str) -> Path | None:
    return max(folder.glob(pattern), key=lambda path: path.stat().st_mtime, default=None)


def _stores(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders to search; those of setup-envtest with the newest release first."""
    home = environment.get("HOME")
    cache = environment.get("OLMKIT_CACHE")
    if not cache and (home or environment.get("XDG_CACHE_HOME")):
        cache = str(Path(environment.get("XDG_CACHE_HOME") or f"{home}/.cache", "olmkit"))
    if cache:
        yield Path(cache, "programs")
    if home or environment.get("XDG_DATA_HOME"):
        data = Path(environment.get("XDG_DATA_HOME") or f"{home}/.local/share")
        yield from sorted(data.glob("kubebuilder-envtest/k8s/*"), key=_release, reverse=True)
    yield Path("/usr/local/kubebuilder/bin")


def _release(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder.name)]


@dataclass(kw_only=True)
class ControlPlane:
    """A context manager that runs one API server with its etcd.

    `kubeconfig` belongs to the group `system:masters`. `flags` are additional flags of
    kube-apiserver. The data in `folder` persist over `stop` and `start`.
    """

    folder: Path
    programs: Programs = field(default_factory=programs)
    flags: Sequence[str] = ()
    port: int = field(default_factory=free_port)
    etcd_ports: tuple[int, int] = field(default_factory=lambda: (free_port(), free_port()))
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict, init=False)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Return the URL of the API server."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        """Return the path of an administrator's kubeconfig file."""
        return self.folder / "kubeconfig"

    @property
    def ca_file(self) -> Path:
        """Return the path of the CA certificate, which exists once the server has started."""
        return self.folder / "cert" / "apiserver.crt"

    def start(self) -> None:
        """Start etcd and kube-apiserver, and wait until they are ready."""
        self.folder.mkdir(parents=True, exist_ok=True)
        key = self.folder / "sa.key"
        if not key.exists():
            _run("openssl", "genrsa", "-out", str(key), "2048")
            _run("openssl", "rsa", "-in", str(key), "-pubout", "-out", str(self.folder / "sa.pub"))
        self._write_tokens()
        self.write_kubeconfig(self.kubeconfig)
        client, peer = (f"http://127.0.0.1:{port}" for port in self.etcd_ports)
        self._start(
            "etcd",
            [
                self.programs.etcd,
                f"--data-dir={self.folder / 'etcd'}",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls={peer}",
                "--unsafe-no-fsync",
            ],
            # Bookmarks report the progress of etcd. Set as a variable, since releases that do not
            # know it ignore it, while an unknown flag is an error.
            {"ETCD_EXPERIMENTAL_WATCH_PROGRESS_NOTIFY_INTERVAL": "1s"},
        )
        self.start_server()

    def start_server(self) -> None:
        """Start kube-apiserver and wait until it is ready; etcd must be running."""
        self._start(
            "kube-apiserver",
            [
                *self.programs.server,
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
                *self.flags,
            ],
        )
        self._wait_until_ready()

    def stop_server(self, *, hard: bool = False) -> None:
        """Stop kube-apiserver, with `hard` by SIGKILL; etcd and its data stay."""
        self._stop("kube-apiserver", signal.SIGKILL if hard else signal.SIGTERM)

    def pause_server(self) -> None:
        """Suspend kube-apiserver without closing its connections, as on an overloaded machine."""
        self._processes["kube-apiserver"].send_signal(signal.SIGSTOP)

    def resume_server(self) -> None:
        """Let kube-apiserver continue after `pause_server`."""
        self._processes["kube-apiserver"].send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Stop kube-apiserver and etcd."""
        for name in list(reversed(self._processes)):
            self._stop(name, signal.SIGKILL)

    def write_kubeconfig(
        self,
        path: Path,
        *,
        token: str | None = None,
        user: str = "",
        groups: Sequence[str] = ("system:masters",),
    ) -> Path:
        """Write a kubeconfig with a token, by default the administrator's, and return its path.

        With `user`, requests impersonate that user and `groups`: the audit log shows this name, and
        the user has only the permissions of its roles and groups.
        """
        who: dict[str, Any] = {"token": self.token if token is None else token}
        if user:
            who |= {"as": user, "as-groups": list(groups)}
        cluster = {"server": self.url, "certificate-authority": str(self.ca_file)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": who}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }
        path.touch(mode=0o600)
        path.write_text(json.dumps(config, indent=1))
        return path

    @property
    def unprivileged_token(self) -> str:
        """Return the token of a user without any role."""
        return f"{self.token}u"

    def compact(self) -> None:
        """Compact etcd to the last revision, as the API server does every few minutes.

        Continue tokens of earlier lists then expire.
        """
        last = self._etcd("kv/range", {"key": base64.b64encode(b"/").decode()})
        self._etcd("kv/compaction", {"revision": last["header"]["revision"], "physical": True})

    def _etcd(self, path: str, body: Mapping[str, Any]) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.etcd_ports[0]}/v3/{path}", data=json.dumps(body).encode()
        )
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
            return json.load(answer)

    def _write_tokens(self) -> None:
        tokens = self.folder / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(
            f"{self.token},admin,1,system:masters\n{self.unprivileged_token},unprivileged,2,nothing\n"
        )

    def _start(
        self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(  # noqa: S603 - what the caller named
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                # It ends with this process, even if that is killed.
                env=os.environ | (environment or {}) | {marks.VARIABLE: marks.new()},
                start_new_session=True,
            )

    def _stop(self, name: str, number: signal.Signals) -> None:
        process = self._processes.pop(name, None)
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(timeout=_STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _wait_until_ready(self) -> None:
        # The certificate is created at the first start, so the server is identified by its port.
        context = ssl._create_unverified_context()  # noqa: S323, SLF001
        request = urllib.request.Request(  # noqa: S310
            f"{self.url}/readyz", headers={"Authorization": f"Bearer {self.token}"}
        )
        end = time.monotonic() + _START
        while time.monotonic() < end and self._processes["kube-apiserver"].poll() is None:
            try:
                with urllib.request.urlopen(request, context=context, timeout=5):  # noqa: S310
                    return
            except OSError:
                time.sleep(0.1)
        log = (self.folder / "kube-apiserver.log").read_text(errors="replace")
        raise ControlPlaneError(f"kube-apiserver did not become ready:\n{log[-2000:]}")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
