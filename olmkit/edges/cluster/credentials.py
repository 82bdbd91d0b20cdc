"""Credentials for an API server, and their renewal.

Tokens in files rotate, and exec plug-ins return an expiry time. A client calls `authorization()`
before a request, and `refused()` if the server did not accept the credentials.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from olmkit.base.diagnostics import ConfigurationError, OlmkitError, RemoteError
from olmkit.edges import disk
from olmkit.edges.programs import processes

# The kubelet renews bound tokens at 80 % of their lifetime; Kubernetes' own client reads them once
# a minute.
_TOKEN_REFRESH = 60.0
_MAX_EXEC_OUTPUT = 4 * 1024 * 1024
_EXEC_TIMEOUT = 60.0
_LAST_MOMENT = 1.0  # time for killed processes to end
_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


class ClusterCredentials(Protocol):
    """Credentials, which a client gets before each request."""

    async def authorization(self) -> str | None:
        """Return the value of the Authorization header, if there is one."""

    def certificate(self) -> tuple[bytes, bytes] | None:
        """Return a client certificate and key that came with the last answer."""

    def refused(self, sent: str | None) -> bool:
        """Handle a 401 response to this header; return whether a retry may have another one.

        Many requests may be refused at once, and another one may already have renewed the
        credentials.
        """


class NoCredentials:
    """Anonymous, or only a client certificate."""

    async def authorization(self) -> str | None:
        return None

    def certificate(self) -> tuple[bytes, bytes] | None:
        return None

    def refused(self, sent: str | None) -> bool:  # noqa: ARG002 - it stays what it is
        return False


class TokenCredentials(NoCredentials):
    """A bearer token that does not change."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def authorization(self) -> str | None:
        return f"Bearer {self._token}"


class BasicCredentials(NoCredentials):
    """A user's name and password."""

    def __init__(self, user: str, password: str) -> None:
        self._header = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    async def authorization(self) -> str | None:
        return self._header


class TokenFileCredentials(NoCredentials):
    """A bearer token in a renewed file; read again once a minute and on 401."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._token = ""
        self._read_at: float | None = None

    async def authorization(self) -> str | None:
        now = asyncio.get_running_loop().time()
        if self._read_at is None or now - self._read_at >= _TOKEN_REFRESH:
            try:
                token = disk.read_file(self._path).decode().strip()
            except (OlmkitError, ValueError) as error:
                if not self._token:
                    raise ConfigurationError(f"cannot read the token in `{self._path}`") from error
                token = ""
            if not token and not self._token:
                raise ConfigurationError(f"there is no token in `{self._path}`")
            # The file may be incomplete while it is written: an old token may still be valid.
            self._token = token or self._token
            self._read_at = now
        return f"Bearer {self._token}"

    def refused(self, sent: str | None) -> bool:
        if sent == f"Bearer {self._token}":
            self._read_at = None
        return True


class ExecCredentials:
    """A program that prints an ExecCredential; its output is cached until it expires."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        folder: Path,
        cluster: Mapping[str, Any],
        user: str,
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._cluster = cluster
        self._user = user
        self._token: str | None = None
        self._certificate: tuple[bytes, bytes] | None = None
        self._expires: datetime.datetime | None = None
        self._known = False
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )
        version = settings.get("apiVersion")
        if version not in _EXEC_VERSIONS:
            raise ConfigurationError(
                f"the exec plug-in of user `{user}` uses `{version}`",
                hint=f"supported are {' and '.join(f'`{known}`' for known in _EXEC_VERSIONS)}",
            )

    async def authorization(self) -> str | None:
        # A lock belongs to one loop, and the elector has its own loop.
        async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if not self._known or self._is_expired():
                self._take(await self._run())
        return self._header()

    def certificate(self) -> tuple[bytes, bytes] | None:
        return self._certificate

    def refused(self, sent: str | None) -> bool:
        if sent == self._header():
            self._known = False
        return True

    def _header(self) -> str | None:
        return f"Bearer {self._token}" if self._token else None

    def _is_expired(self) -> bool:
        return self._expires is not None and self._expires <= datetime.datetime.now(datetime.UTC)

    async def _run(self) -> Mapping[str, Any]:
        command = str(self._settings.get("command") or "")
        if "/" in command and not Path(command).is_absolute():
            command = str(self._folder / command)
        words = [command, *map(str, self._list("args"))]
        interactive = self._interactive()
        try:
            process = await _start(
                *words,
                stdin=sys.stdin if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                env=self._environment(),
                # A program that prompts in the terminal must stay in the foreground.
                start_new_session=not interactive,
            )
        except (OSError, ValueError) as error:
            hint = str(self._settings.get("installHint") or "install it, or correct the kubeconfig")
            raise ConfigurationError(
                f"cannot run `{command}`, the exec plug-in of user `{self._user}`", hint=hint
            ) from error
        try:
            out = await asyncio.wait_for(
                processes.converse(process, limit=_MAX_EXEC_OUTPUT), _EXEC_TIMEOUT
            )
        except processes.TooMuchOutputError:
            raise ConfigurationError(
                f"`{command}` writes more than {_MAX_EXEC_OUTPUT} bytes as credentials"
            ) from None
        except TimeoutError:
            raise RemoteError(
                f"`{command}` returned no credentials within {_EXEC_TIMEOUT:.0f} s", temporary=True
            ) from None
        finally:
            if process.returncode is None:  # it took too long, or the caller no longer waits
                await _end(process, group=not interactive)
        if process.returncode:
            raise RemoteError(
                f"`{command}`, the exec plug-in of user `{self._user}`, ended with code "
                f"{process.returncode}"
            )
        return self._answer(command, out)

    def _answer(self, command: str, out: bytes) -> Mapping[str, Any]:
        try:
            answer = json.loads(out)
            status = answer["status"]
            if answer["apiVersion"] != self._settings.get("apiVersion"):
                raise ConfigurationError(
                    f"`{command}` answered in another version than `{self._settings['apiVersion']}`"
                )
            if not isinstance(status, dict):
                raise TypeError
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ConfigurationError(f"`{command}` printed no ExecCredential") from error
        return status

    def _take(self, status: Mapping[str, Any]) -> None:
        self._token = str(status["token"]) if status.get("token") else None
        certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
        self._certificate = (
            (str(certificate).encode(), str(key).encode()) if certificate and key else None
        )
        if self._token is None and self._certificate is None:
            raise ConfigurationError(
                f"the exec plug-in of user `{self._user}` returned neither a token nor a "
                f"certificate"
            )
        self._expires = None
        if status.get("expirationTimestamp"):
            try:
                expires = datetime.datetime.fromisoformat(str(status["expirationTimestamp"]))
            except ValueError as error:
                raise ConfigurationError(
                    f"the exec plug-in of user `{self._user}` returned an expiry that is not a time"
                ) from error
            self._expires = expires if expires.tzinfo else expires.replace(tzinfo=datetime.UTC)
        self._known = True

    def _list(self, key: str) -> Sequence[Any]:
        value = self._settings.get(key) or ()
        if not isinstance(value, list | tuple):
            raise ConfigurationError(
                f"`{key}` of the exec plug-in of user `{self._user}` is not a list"
            )
        return value

    def _interactive(self) -> bool:
        mode = self._settings.get("interactiveMode") or "IfAvailable"
        if mode == "Never":
            return False
        available = sys.stdin is not None and sys.stdin.isatty()
        if mode == "Always" and not available:
            raise ConfigurationError(
                f"the exec plug-in of user `{self._user}` requires input, and there is no terminal"
            )
        return available

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        for entry in self._list("env"):
            if isinstance(entry, dict):
                environment[str(entry.get("name"))] = str(entry.get("value"))
        spec: dict[str, Any] = {"interactive": self._interactive()}
        if self._settings.get("provideClusterInfo"):
            spec["cluster"] = self._cluster
        environment["KUBERNETES_EXEC_INFO"] = json.dumps(
            {
                "apiVersion": self._settings["apiVersion"],
                "kind": "ExecCredential",
                "spec": spec,
            }
        )
        return environment


async def _start(*arguments: str, **options: Any) -> asyncio.subprocess.Process:
    """Return the process; if the caller no longer waits, it is ended after it has started."""
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*arguments, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError, ValueError):
            await _end(await starting, group=options["start_new_session"])
        raise


async def _end(process: asyncio.subprocess.Process, *, group: bool) -> None:
    """End a plug-in, and its child processes if it has its own group.

    The wait is short: a surviving child process may keep the pipe open.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _LAST_MOMENT)
