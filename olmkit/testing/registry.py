"""A real registry on loopback for tests: docker-registry, stopped by its process id.

It stores its data in the caller's folder. With users it requires basic authentication, with a
certificate it uses TLS, and with a token server it requires tokens.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from olmkit.edges.programs.keeper import marks

PROGRAM = "docker-registry"
_START = 20.0  # seconds; enough for a busy machine


def program() -> str | None:
    """Return the path of docker-registry (Debian's package `docker-registry`), or None."""
    return shutil.which(PROGRAM, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def free_port() -> int:
    """Return a TCP port on 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(kw_only=True)
class RegistryServer:
    """One docker-registry; a context manager. `users` maps names to bcrypt hashes."""

    folder: Path
    users: Mapping[str, str] = field(default_factory=dict)
    certificate: tuple[Path, Path] | None = None  # certificate, key
    token: Mapping[str, str] | None = None  # docker-registry's configuration of a token server
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def host(self) -> str:
        """Return the registry's name in image references."""
        return f"127.0.0.1:{self.port}"

    @property
    def storage(self) -> Path:
        """Return the folder in which the registry stores its blobs."""
        return self.folder / "storage"

    def __enter__(self) -> Self:
        found = program()
        if found is None:
            raise FileNotFoundError(PROGRAM)
        with socket.socket() as probe:  # otherwise another server would answer
            if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                raise RuntimeError(f"{PROGRAM} does not start: port {self.port} is taken")
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "config.json"  # JSON is YAML
        path.write_text(json.dumps(self._configuration()))
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the registry itself
                [found, "serve", str(path)],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                # It ends with this process, even if that is killed.
                env=os.environ | {marks.VARIABLE: marks.new()},
            )
        self._wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _configuration(self) -> dict[str, Any]:
        web: dict[str, Any] = {"addr": self.host, "secret": "only for tests"}
        if self.certificate is not None:
            web["tls"] = {
                "certificate": str(self.certificate[0]),
                "key": str(self.certificate[1]),
            }
        auth: dict[str, Any] = {}
        if self.users:
            path = self.folder / "htpasswd"
            path.write_text("".join(f"{name}:{word}\n" for name, word in self.users.items()))
            auth["htpasswd"] = {"realm": "tests", "path": str(path)}
        if self.token is not None:
            auth["token"] = dict(self.token)
        return {
            "version": 0.1,
            "log": {"level": "warn"},
            "storage": {
                "filesystem": {"rootdirectory": str(self.storage)},
                "delete": {"enabled": True},
            },
            "http": web,
            **({"auth": auth} if auth else {}),
        }

    def _wait(self) -> None:
        deadline = time.monotonic() + _START
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                break
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            try:
                connection.request("GET", "/v2/")
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
            else:
                return
            finally:
                connection.close()
        log = (self.folder / "log").read_text(errors="replace")[-500:]
        self.__exit__(None, None, None)
        raise RuntimeError(f"{PROGRAM} does not start: {log}")
