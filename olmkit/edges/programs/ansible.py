"""Runs of Ansible: one process of ansible-runner each, in a private folder.

Values go through files that only this user can read. What the process prints is one event a line.
A process that takes too long, or whose caller is cancelled, gets SIGTERM and after some seconds
SIGKILL; it has its own session, so what it started ends with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import olmkit
from olmkit.base.diagnostics import ConfigurationError, OlmkitError

_LINE = 8 << 20  # bytes of one event
_CHUNK = 64 * 1024
_GRACE = 5.0  # seconds between the two signals
_OLDEST = (2, 19)
OWN_COLLECTIONS = Path(olmkit.__file__).parent / "hybrid" / "collections"
"""The collection `operator_sdk.util`: what plays say to the operator that runs them."""
_COLLECTIONS = f"~/.ansible/collections{os.pathsep}/usr/share/ansible/collections"  # Ansible's own
_HOSTS = "localhost ansible_connection=local ansible_python_interpreter={}\n"


@dataclass(eq=False)
class RunError(OlmkitError):
    """The run did not come to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContent:
    """A role or a playbook on the disk: exactly one of the two."""

    role: Path | None = None
    playbook: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: what, with which two files of variables, and how.

    `folder` is that of the object, `ident` names this run in it; `timeout` in seconds, 0: none.
    `arguments` go to ansible-playbook.
    """

    content: RunContent
    folder: Path
    ident: str
    variables: bytes
    trusted: bytes
    server: str
    namespace: str = ""
    verbosity: int = 0
    keep: int = 20
    timeout: float = 0.0
    arguments: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsibleRunner:
    """The program and the variables of its environment.

    `command` starts ansible-runner. `inventory` is a file or a folder, in the place of one with
    `localhost` alone. `skips_facts` holds for roles.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    inventory: Path | None = None
    skips_facts: bool = False
    _running: set[int] = field(default_factory=set, init=False)

    async def run(self, run: Run, take: Callable[[bytes], None]) -> None:
        """Give `take` each line that it prints, until it ends, whatever its exit code is.

        Raises `RunError` when it was ended from outside, or prints too much. Cancelled, it ends
        the process.
        """
        await asyncio.to_thread(self._prepare, run)
        process = await self._start(run)
        self._running.add(process.pid)
        try:
            async with asyncio.timeout(run.timeout or None):
                await _lines(process, take)
                code = await process.wait()
        except TimeoutError:
            raise RunError(f"the run was ended after {run.timeout:g} s, its time limit") from None
        finally:
            await asyncio.shield(_end(process))
            self._running.discard(process.pid)
        if code < 0:
            raise RunError(f"the run was ended by the signal {signal.Signals(-code).name}")

    def close(self) -> None:
        """End the runs that are left when nothing waits for them."""
        while self._running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._running.pop(), signal.SIGKILL)

    async def _start(self, run: Run) -> asyncio.subprocess.Process:
        words = [*self.command, "run", str(run.folder), "-i", run.ident, "-j"]
        words += ["--rotate-artifacts", str(run.keep)]
        if run.verbosity:
            words.append("-" + "v" * run.verbosity)
        if run.content.playbook is not None:
            words += ["-p", str(run.content.playbook)]
        elif run.content.role is not None:
            role = run.content.role
            words += ["--role", role.name, "--roles-path", str(role.parent), "--hosts", "localhost"]
            if self.skips_facts:
                words.append("--role-skip-facts")
        try:
            return await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=self._variables(run),
                start_new_session=True,
            )
        except OSError as error:
            words_ = (error.strerror or str(error)).lower()
            raise RunError(f"cannot run `{words[0]}`: {words_}") from error

    def _variables(self, run: Run) -> dict[str, str]:
        kubeconfig = str(run.folder / "kubeconfig")
        found = dict(self.environment)
        found |= {"KUBECONFIG": kubeconfig, "K8S_AUTH_KUBECONFIG": kubeconfig}
        # Last: an installed collection of the same name takes precedence.
        places = (found.get("ANSIBLE_COLLECTIONS_PATH") or _COLLECTIONS, str(OWN_COLLECTIONS))
        found["ANSIBLE_COLLECTIONS_PATH"] = os.pathsep.join(places)
        # `ansible-playbook` of the same installation.
        folder = str(Path(self.command[0]).parent)
        found["PATH"] = os.pathsep.join(one for one in (folder, found.get("PATH", "")) if one)
        return found

    def _prepare(self, run: Run) -> None:
        """The folder of the run, as ansible-runner reads it."""
        run.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in ("env", "inventory", "project"):
            (run.folder / name).mkdir(exist_ok=True)
        _write(run.folder / "env" / "extravars", run.variables)
        trusted = run.folder / "env" / "trusted"
        _write(trusted, run.trusted)
        words = shlex.join(["-e", f"@{trusted}", *run.arguments])
        _write(run.folder / "env" / "cmdline", words.encode())
        _write(run.folder / "kubeconfig", _kubeconfig(run))
        inventory = run.folder / "inventory" / "hosts"
        if self.inventory is None:
            interpreter = _interpreter(self.environment)
            _write(inventory, _HOSTS.format(interpreter).encode())
        elif self.inventory.is_dir():
            shutil.copytree(self.inventory, inventory.parent, dirs_exist_ok=True)
        else:
            shutil.copyfile(self.inventory, inventory)

    def mask(self, run: Run, hide: Mapping[bytes, bytes]) -> None:
        """Replace these texts in what the run has left, and remove what was only for it."""
        for name in ("kubeconfig", "env/extravars", "env/trusted"):
            (run.folder / name).unlink(missing_ok=True)
        for file in (run.folder / "artifacts" / run.ident).rglob("*"):
            if not file.is_file() or file.is_symlink():
                continue
            data = file.read_bytes()
            changed = data
            for value, shown in hide.items():
                changed = changed.replace(value, shown)
            if changed != data:
                file.write_bytes(changed)

    def forget(self, folder: Path) -> None:
        """Remove what the runs of an object have left."""
        shutil.rmtree(folder, ignore_errors=True)


async def runner(environment: Mapping[str, str]) -> AnsibleRunner:
    """That of this Python; raises `ConfigurationError` where it is not installed."""
    import importlib.metadata
    import importlib.util

    for module in ("ansible", "ansible_runner"):
        if importlib.util.find_spec(module) is None:
            raise ConfigurationError(
                f"the Python package `{module}` is not installed",
                hint="install olmkit with its extra `ansible`",
            )
    version = importlib.metadata.version("ansible-core")
    if tuple(int(one) for one in version.split(".")[:2]) < _OLDEST:
        raise ConfigurationError(
            f"ansible-core {version} is too old: it loses values that are marked as unsafe",
            hint="install olmkit with its extra `ansible`",
        )
    inventory = environment.get("ANSIBLE_INVENTORY")
    return AnsibleRunner(
        command=(sys.executable, "-m", "ansible_runner"),
        environment=environment,
        inventory=Path(inventory) if inventory else None,
        skips_facts=environment.get("ANSIBLE_GATHERING") == "explicit",
    )


def content(
    *, role: str, playbook: str, folder: Path, environment: Mapping[str, str]
) -> RunContent:
    """The playbook or the role that an entry names; raises `ConfigurationError` without it.

    Paths are relative to the working directory, or to `folder`, that of the file of watches.
    A role is looked up as ansible-operator does: path, collections, paths of roles, `roles/`.
    """
    if playbook:
        for place in (Path.cwd(), folder):
            if (place / playbook).is_file():
                return RunContent(playbook=(place / playbook).resolve())
        raise ConfigurationError(f"the playbook `{playbook}` does not exist")
    for place in _places(role, folder, environment):
        if place.is_dir():
            return RunContent(role=place.resolve())
    raise ConfigurationError(
        f"the role `{role}` does not exist",
        hint="name its folder, or the folder that holds it in `ANSIBLE_ROLES_PATH`",
    )


def _places(role: str, folder: Path, environment: Mapping[str, str]) -> list[Path]:
    found = [Path(role)] if Path(role).is_absolute() else []
    parts = role.split(".")
    if len(parts) == 3:
        said = environment.get("ANSIBLE_COLLECTIONS_PATH", "")
        home = Path(environment.get("HOME", "/")) / ".ansible" / "collections"
        default = f"/usr/share/ansible/collections{os.pathsep}{home}"
        below = Path("ansible_collections", parts[0], parts[1], "roles", parts[2])
        found += [Path(one) / below for one in (said or default).split(os.pathsep)]
    for one in environment.get("ANSIBLE_ROLES_PATH", "").split(os.pathsep):
        if one:
            found += [Path(one) / role, Path(one) / "roles" / role]
    for place in (Path.cwd(), folder):
        found += [place / "roles" / role, place / role]
    return found


def _interpreter(environment: Mapping[str, str]) -> str:
    place = environment.get("VIRTUAL_ENV")
    return str(Path(place) / "bin" / "python") if place else sys.executable


def _kubeconfig(run: Run) -> bytes:
    context = {"cluster": "run", "user": "run", "namespace": run.namespace or "default"}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "run", "cluster": {"server": run.server}}],
            "users": [{"name": "run", "user": {}}],
            "contexts": [{"name": "run", "context": context}],
            "current-context": "run",
        }
    ).encode()


def _write(file: Path, data: bytes) -> None:
    """A file that only this user can read, also when another one was there."""
    with open(file, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as stream:
        stream.write(data)


async def _lines(process: asyncio.subprocess.Process, take: Callable[[bytes], None]) -> None:
    assert process.stdout is not None  # noqa: S101 - it was started with a pipe
    pending = b""
    while chunk := await process.stdout.read(_CHUNK):
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            take(line)
        if len(pending) > _LINE:
            raise RunError(f"the run prints a line of more than {_LINE >> 20} MiB")
    if pending:
        take(pending)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the process and what it started: its session may outlive it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        if process.returncode is not None:
            continue
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await process.wait()
