"""One run of Ansible, with its input and output files in a private folder.

Values are passed in files that only this user can read.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

import olmkit
from olmkit.base.diagnostics import OlmkitError

OWN_COLLECTIONS = Path(olmkit.__file__).parent / "hybrid" / "collections"
"""The collection `operator_sdk.util`: its modules send results of plays to the operator that runs
them."""
_LINE = 8 << 20  # bytes of one event
_CHUNK = 64 * 1024
_PART = 1 << 20  # bytes of a file that are masked at once
COLLECTIONS = f"~/.ansible/collections{os.pathsep}/usr/share/ansible/collections"  # Ansible's own
_HOSTS = "localhost ansible_connection=local ansible_python_interpreter={}\n"
_SHORT = 48  # bytes of a path; a socket in it may need 55 more
_SECRET = ("kubeconfig", "env/extravars", "env/trusted")

Take = Callable[[bytes], None]
"""Receives a line of a run's output."""


@dataclass(eq=False)
class RunError(OlmkitError):
    """The run did not finish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContent:
    """A role or a playbook on disk: exactly one of the two."""

    role: Path | None = None
    playbook: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: its content, its two files of variables, and its settings.

    `folder` is that of the object, `ident` is the name of this run in it, `temporary` is removed
    with the run; `timeout` is in seconds, 0: none. `arguments` are passed to ansible-playbook.
    """

    content: RunContent
    folder: Path
    temporary: Path
    ident: str
    variables: bytes
    trusted: bytes
    server: str
    namespace: str = ""
    verbosity: int = 0
    keep: int = 20
    timeout: float = 0.0
    arguments: Sequence[str] = ()

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables of this run only."""
        kubeconfig = str(self.folder / "kubeconfig")
        found = {"KUBECONFIG": kubeconfig, "K8S_AUTH_KUBECONFIG": kubeconfig}
        # Kubernetes clients write a file for each server, and each run has a separate one. Ansible
        # creates sockets in this folder, whose paths have a length limit.
        if len(os.fsencode(self.temporary)) <= _SHORT:
            found["TMPDIR"] = str(self.temporary)
        return found

    @property
    def artifacts(self) -> Path:
        """Return the folder with the output of the run."""
        return self.folder / "artifacts" / self.ident


class Runner(Protocol):
    """Runs Ansible."""

    async def run(self, run: Run, on_line: Take) -> None:
        """Call `on_line` with each line of output until the run ends, with any exit code.

        Raises `RunError` if it was killed, or prints too much. If it is cancelled, it ends the
        process.
        """

    def close(self) -> None:
        """End the remaining runs that no caller waits for."""


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Return a private folder for one run."""
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = tempfile.TemporaryDirectory(prefix="run-", dir=parent, ignore_cleanup_errors=True)
    with found as folder:
        yield Path(folder)


def prepare(run: Run, environment: Mapping[str, str], inventory: Path | None) -> None:
    """Prepare the folder; `inventory` is a file or a folder, None: only `localhost`."""
    run.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ("env", "inventory", "project"):
        (run.folder / name).mkdir(exist_ok=True)
    write(run.folder / "env" / "extravars", run.variables)
    write(run.folder / "env" / "trusted", run.trusted)
    write(run.folder / "kubeconfig", _kubeconfig(run))
    hosts = run.folder / "inventory" / "hosts"
    if inventory is None:
        write(hosts, _HOSTS.format(_interpreter(environment)).encode())
    elif inventory.is_dir():
        shutil.copytree(inventory, hosts.parent, dirs_exist_ok=True)
    else:
        shutil.copyfile(inventory, hosts)


def variables(environment: Mapping[str, str], program: str) -> dict[str, str]:
    """Return the variables of all runs; `program` is part of the installation that runs them."""
    found = dict(environment)
    # Last: an installed collection with the same name takes precedence.
    places = (found.get("ANSIBLE_COLLECTIONS_PATH") or COLLECTIONS, str(OWN_COLLECTIONS))
    found["ANSIBLE_COLLECTIONS_PATH"] = os.pathsep.join(places)
    folder = str(Path(program).parent)
    found["PATH"] = os.pathsep.join(one for one in (folder, found.get("PATH", "")) if one)
    return found


def first_arguments(run: Run) -> list[str]:
    """Return the first arguments of ansible-playbook."""
    return ["-e", f"@{run.folder / 'env' / 'trusted'}", *run.arguments]


def command_line(run: Run) -> str:
    """Return the trusted arguments of a run as one command line."""
    return shlex.join(first_arguments(run))


def mask(run: Run, hide: Mapping[bytes, bytes]) -> None:
    """Replace these strings in the output of the run, and remove its temporary files."""
    for name in _SECRET:
        (run.folder / name).unlink(missing_ok=True)
    for file in run.artifacts.rglob("*") if hide else ():
        if not file.is_file() or file.is_symlink():
            continue
        changed = file.with_name(f"{file.name}.masked")
        try:
            with file.open("rb") as source:
                if all(part == shown for part, shown in _masked(source, hide)):
                    continue
                source.seek(0)
                with open(changed, "xb", opener=_private) as target:
                    for _, shown in _masked(source, hide):
                        target.write(shown)
            changed.chmod(file.stat().st_mode)
            changed.replace(file)
        except OSError:
            # For example, a full disk: files that cannot be masked are not kept.
            for one in (file, changed):
                one.unlink(missing_ok=True)


def _masked(source: BinaryIO, hide: Mapping[bytes, bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the masked data in parts; a file may be larger than memory."""
    longest = max(len(one) for one in hide)
    kept = b""
    while chunk := source.read(max(_PART, 2 * longest)):
        kept += chunk
        end = max(0, len(kept) - longest)
        # No string is split: if one crosses the end of the part, its start is kept for the next
        # part.
        while early := [at for at in (_across(kept, end, one) for one in hide) if at >= 0]:
            end = min(early)
        part, kept = kept[:end], kept[end:]
        yield part, _replaced(part, hide)
    yield kept, _replaced(kept, hide)


def _across(data: bytes, end: int, value: bytes) -> int:
    """Return the start of a value in the data that crosses `end`; -1 if there is none."""
    return data.find(value, max(0, end - len(value) + 1), end + len(value) - 1)


def _replaced(data: bytes, hide: Mapping[bytes, bytes]) -> bytes:
    for value, shown in hide.items():
        data = data.replace(value, shown)
    return data


def forget(folder: Path) -> None:
    """Remove the output of an object's runs."""
    shutil.rmtree(folder, ignore_errors=True)


def write(file: Path, data: bytes) -> None:
    """Write a file that only this user can read, even if it exists with other permissions."""
    with open(file, "wb", opener=_private) as stream:
        stream.write(data)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


async def read_lines(stream: asyncio.StreamReader, on_line: Take) -> None:
    """Call `on_line` with each line; raises `RunError` for an endless line."""
    pending = b""
    while chunk := await stream.read(_CHUNK):
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            on_line(line)
        if len(pending) > _LINE:
            raise RunError(f"the run prints a line of more than {_LINE >> 20} MiB")
    if pending:
        on_line(pending)


def check_end(code: int) -> None:
    """Raise `RunError` for a process that a signal ended."""
    if code < 0:
        raise RunError(f"the run was ended by the signal {signal.Signals(-code).name}")


def time_out_error(run: Run) -> RunError:
    """Return the error of a run that reached its time limit."""
    return RunError(f"the run was ended after {run.timeout:g} s, its time limit")


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
