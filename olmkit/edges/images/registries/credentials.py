"""Registry credentials from the files of Docker and Podman.

Files and their order: the one that the user names; else the one in `REGISTRY_AUTH_FILE`; else
Docker's, then Podman's, the first that has the registry. Credential helpers are run like in Docker.
Secrets are in values that do not show them, and are never written anywhere.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.edges.disk import read_file
from olmkit.edges.programs import processes
from olmkit.edges.programs.keeper import program as keeper

_MAX_FILE = 4 * 1024 * 1024
_MAX_HELPER_OUTPUT = 1024 * 1024
_HELPER_TIMEOUT = 60.0  # some ask the user to unlock a keyring
_HELPER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DOCKER_HUB_KEY = "https://index.docker.io/v1/"
# The user name with which helpers mark the secret as a token for the token server.
_TOKEN_USER = "<token>"  # noqa: S105


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryCredentials:
    """A user with a password, or a token that the token server accepts instead."""

    username: str = ""
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)
    registry_token: str = field(default="", repr=False)

    @property
    def basic(self) -> str:
        """Return the value of a basic `Authorization` header."""
        pair = f"{self.username}:{self.password}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"


async def find(
    name: str, *, environment: Mapping[str, str], authfile: str | None = None
) -> RegistryCredentials | None:
    """Return the credentials for `name` (registry and repository), if there are any."""
    for path in _files(environment, authfile):
        found = await _find_in(path, name, environment)
        if found is not None:
            return found
    return None


def list_registries(
    *, environment: Mapping[str, str], authfile: str | None = None
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Return the credential files, each with the registries in it.

    A program with the credentials of all registries is listed as `*`. Raises
    `ConfigurationError` for a file that cannot be read.
    """
    for path in _files(environment, authfile):
        value = _load(path)
        keys: set[str] = set()
        for table in (value.get("auths"), value.get("credHelpers")):
            if isinstance(table, dict):
                keys.update(_normalise(key) for key in table)
        if isinstance(value.get("credsStore"), str):
            keys.add("*")
        yield path, tuple(sorted(keys))


def _files(environment: Mapping[str, str], authfile: str | None) -> Iterator[Path]:
    named = authfile or environment.get("REGISTRY_AUTH_FILE")
    if named:
        path = Path(named).expanduser()
        if authfile and not path.is_file():
            raise ConfigurationError(f"the file with credentials `{path}` does not exist")
        if path.is_file():
            yield path
        return
    home = Path(environment["HOME"]) if environment.get("HOME") else None
    candidates: list[Path] = []
    if environment.get("DOCKER_CONFIG"):
        candidates.append(Path(environment["DOCKER_CONFIG"], "config.json"))
    elif home is not None:
        candidates.append(home / ".docker" / "config.json")
    if environment.get("XDG_RUNTIME_DIR"):
        candidates.append(Path(environment["XDG_RUNTIME_DIR"], "containers", "auth.json"))
    if environment.get("XDG_CONFIG_HOME"):
        candidates.append(Path(environment["XDG_CONFIG_HOME"], "containers", "auth.json"))
    elif home is not None:
        candidates.append(home / ".config" / "containers" / "auth.json")
    yield from (path for path in candidates if path.is_file())


async def _find_in(
    path: Path, name: str, environment: Mapping[str, str]
) -> RegistryCredentials | None:
    value = _load(path)
    helpers = value.get("credHelpers")
    registry = name.partition("/")[0]
    helper = ""
    if isinstance(helpers, dict):
        helper = next(
            (helpers[key] for key in _keys(name) if isinstance(helpers.get(key), str)), ""
        )
    if not helper and isinstance(value.get("credsStore"), str):
        helper = value["credsStore"]
    if helper:
        server = _DOCKER_HUB_KEY if registry == "docker.io" else registry
        found = await _run_helper(helper, server, environment)
        if found is not None:
            return found
    auths = value.get("auths")
    if not isinstance(auths, dict):
        return None
    normalised = {_normalise(key): entry for key, entry in auths.items()}
    for key in _keys(name):
        entry = normalised.get(key)
        if isinstance(entry, dict):
            found = _from_entry(entry, path, key)
            if found is not None:
                return found
    return None


def _load(path: Path) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(read_file(path, limit=_MAX_FILE))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        # The reason would quote the text, which contains secrets.
        raise ConfigurationError(f"the file with credentials `{path}` is not JSON") from None
    if not isinstance(value, dict):
        raise ConfigurationError(f"the file with credentials `{path}` is not a JSON object")
    return value


def _keys(name: str) -> Iterator[str]:
    """Yield the keys for `name` in credential files, the most specific first."""
    parts = name.split("/")
    for end in range(len(parts), 0, -1):
        yield "/".join(parts[:end])


def _normalise(key: str) -> str:
    """Return a key as `registry[/path]`: older files have URLs."""
    text = key.removeprefix("https://").removeprefix("http://").rstrip("/")
    host, slash, rest = text.partition("/")
    if rest in ("v1", "v2"):
        slash = rest = ""
    if host == "index.docker.io":
        host = "docker.io"
    return f"{host}{slash}{rest}"


def _from_entry(entry: Mapping[str, Any], path: Path, key: str) -> RegistryCredentials | None:
    username, password = _text(entry, "username"), _text(entry, "password")
    auth = _text(entry, "auth")
    if auth:
        try:
            pair = base64.b64decode(auth.strip(), validate=True).decode().rstrip("\0")
        except (binascii.Error, ValueError):
            pair = ""
        if ":" not in pair:
            raise ConfigurationError(
                f"the entry for `{key}` in `{path}` is damaged",
                hint=f"log in again: `docker login {key}`",
            )
        username, _, password = pair.partition(":")
    identity, token = _text(entry, "identitytoken"), _text(entry, "registrytoken")
    if not (username or identity or token):
        return None
    return RegistryCredentials(
        username=username, password=password, identity_token=identity, registry_token=token
    )


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


async def _run_helper(
    helper: str, server: str, environment: Mapping[str, str]
) -> RegistryCredentials | None:
    program = f"docker-credential-{helper}"
    if not _HELPER_NAME.fullmatch(helper):
        raise ConfigurationError("the name of a credential helper is not valid")
    # It stays in the group of the terminal, where it may ask for a password; the mark finds its
    # child processes.
    mark = secrets.token_hex(8)
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            "get",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=dict(environment) | {keeper.VARIABLE: mark},
        )
    except OSError:
        raise ConfigurationError(
            f"the credential helper `{program}` cannot be run",
            hint="install it, or remove it from the configuration of Docker",
        ) from None
    try:
        output = await asyncio.wait_for(
            processes.converse(process, server.encode(), limit=_MAX_HELPER_OUTPUT),
            timeout=_HELPER_TIMEOUT,
        )
    except TimeoutError:
        raise RemoteError(
            f"the credential helper `{program}` does not answer", temporary=False
        ) from None
    except processes.TooMuchOutputError:
        raise RemoteError(
            f"the credential helper `{program}` writes more than {_MAX_HELPER_OUTPUT} bytes",
            temporary=False,
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            keeper.kill(mark)
            await processes.wait_for_end(process)
    if process.returncode != 0:
        if b"credentials not found" in output:
            return None
        raise RemoteError(f"the credential helper `{program}` failed", temporary=False)
    return _from_helper(output, program)


def _from_helper(output: bytes, program: str) -> RegistryCredentials | None:
    try:
        value = json.loads(output)
        username, secret = value["Username"], value["Secret"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise RemoteError(
            f"the credential helper `{program}` returns something other than credentials",
            temporary=False,
        ) from None
    if not isinstance(username, str) or not isinstance(secret, str) or not secret:
        return None
    if username == _TOKEN_USER:
        return RegistryCredentials(identity_token=secret)
    return RegistryCredentials(username=username, password=secret)
