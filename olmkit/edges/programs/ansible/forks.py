"""Fork runs from a process that has imported Ansible, so that they start quickly.

That process starts with the first run, and is started again after it has ended; its running runs
have then failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olmkit.edges.programs.ansible import process_tree, runs
from olmkit.edges.programs.ansible.runs import Run, RunError, Take
from olmkit.edges.programs.keeper import marks

_CALLBACKS = Path(__file__).parent / "callbacks"
_CHUNK = 64 * 1024
_FULL = 0.02  # seconds until a write to a full socket is retried
_LATE = 2.0  # seconds for remaining output after the end of a run
_TAIL = 400  # characters
_LOG = "fork-server.log"


@dataclass(slots=True, kw_only=True)
class ForkRunner:
    """Forks runs; `command` starts the fork server, with the number of its socket added.

    `folder` is private and has its output. `inventory` and `skips_facts` are as in
    `AnsibleRunner`.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    inventory: Path | None = None
    skips_facts: bool = False
    _server: _Server | None = field(default=None, init=False)

    async def run(self, run: Run, on_line: Take) -> None:
        """See `Runner`."""
        await asyncio.to_thread(self._prepare, run)
        request = {
            "words": self._arguments(run),
            "environment": run.environment | self._variables(run) | {marks.VARIABLE: marks.new()},
            "folder": str(run.folder / "project"),
        }
        try:
            async with asyncio.timeout(run.timeout or None):
                with (run.artifacts / "events").open("wb") as kept:

                    def line(data: bytes) -> None:
                        kept.write(data + b"\n")
                        on_line(data)

                    code = await self._start_server().run(request, line)
        except TimeoutError:
            raise runs.time_out_error(run) from None
        runs.check_end(code)

    def close(self) -> None:
        """See `Runner`."""
        if self._server is not None:
            self._server.kill()

    def _start_server(self) -> _Server:
        """Return the process that forks; start a new one if there is none."""
        if self._server is None or self._server.is_gone:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            environment = runs.variables(self.environment, self.command[0])
            places = (environment.get("ANSIBLE_CALLBACK_PLUGINS"), str(_CALLBACKS))
            environment["ANSIBLE_CALLBACK_PLUGINS"] = os.pathsep.join(filter(None, places))
            environment["ANSIBLE_RETRY_FILES_ENABLED"] = "False"
            environment.setdefault("ANSIBLE_HOST_KEY_CHECKING", "False")
            environment[marks.VARIABLE] = marks.new()
            self._server = _Server(self.command, environment, self.folder)
        return self._server

    def _prepare(self, run: Run) -> None:
        runs.prepare(run, self.environment, self.inventory)
        if run.keep:
            before = sorted(run.artifacts.parent.glob("*"), key=lambda one: one.stat().st_mtime)
            for one in before[: max(0, len(before) + 1 - run.keep)]:
                shutil.rmtree(one, ignore_errors=True)
        run.artifacts.mkdir(mode=0o700, parents=True, exist_ok=True)
        role = run.content.role
        if role is not None:
            play = {
                "hosts": "localhost",
                "gather_facts": not self.skips_facts,
                "roles": [{"role": role.name}],
            }
            runs.write(_play(run), json.dumps([play]).encode())

    def _arguments(self, run: Run) -> list[str]:
        words = [*runs.first_arguments(run), "-i", str(run.folder / "inventory")]
        words += ["-e", f"@{run.folder / 'env' / 'extravars'}"]
        if run.verbosity:
            words.append("-" + "v" * run.verbosity)
        return [*words, str(run.content.playbook or _play(run))]

    def _variables(self, run: Run) -> dict[str, str]:
        found = {"ANSIBLE_LOCAL_TEMP": str(run.temporary)}
        if run.content.role is not None:
            others = self.environment.get("ANSIBLE_ROLES_PATH")
            places = (str(run.content.role.parent), others)
            found["ANSIBLE_ROLES_PATH"] = os.pathsep.join(filter(None, places))
        return found


def _play(run: Run) -> Path:
    return run.folder / "project" / "play.json"


@dataclass(eq=False, slots=True)
class _Forked:
    """A run; `ended` receives its exit code."""

    ended: asyncio.Future[int]
    mark: str = ""
    pid: int | None = None


class _Server:
    """The client of `fork_server`."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], folder: Path
    ) -> None:
        self.is_gone = False
        self._log = folder / _LOG
        self._idents = itertools.count(1)
        self._runs: dict[str, _Forked] = {}
        self._pending = b""
        self._sending = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._ready = self._loop.create_future()
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)
        try:
            with theirs, self._log.open("wb") as log:
                self._process = subprocess.Popen(  # noqa: S603 - this Python
                    [*command, str(theirs.fileno())],
                    cwd=folder,
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
        except OSError as error:
            self._channel.close()
            words = (error.strerror or str(error)).lower()
            raise RunError(f"cannot run `{command[0]}`: {words}") from error
        self._loop.add_reader(self._channel, self._read)

    async def run(self, request: Mapping[str, Any], on_line: Take) -> int:
        """Fork, and call `on_line` with each line until the run has ended; return its exit code."""
        await asyncio.shield(self._ready)
        ident = str(next(self._idents))
        forked = _Forked(self._loop.create_future(), request["environment"].get(marks.VARIABLE, ""))
        source, target = os.pipe()
        try:
            self._runs[ident] = forked
            try:
                await self._send({"run": ident, **request}, target)
            finally:
                os.close(target)
            return await self._follow(source, forked.ended, on_line)
        finally:
            if not forked.ended.done():
                await asyncio.shield(self._end(ident, forked.ended))
            forked.ended.cancel()
            self._runs.pop(ident, None)

    async def _follow(self, source: int, ended: asyncio.Future[int], on_line: Take) -> int:
        stream = asyncio.StreamReader()
        transport, _ = await self._loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(source, "rb", buffering=0)
        )
        reading = asyncio.ensure_future(runs.read_lines(stream, on_line))
        try:
            both: set[asyncio.Future[Any]] = {reading, ended}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
            code = await asyncio.shield(ended)
            # Remaining processes of the run may keep the output open.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LATE):
                    await reading
            return code
        finally:
            reading.cancel()
            transport.close()

    async def _end(self, ident: str, ended: asyncio.Future[int]) -> None:
        """End a run; the server kills processes that do not end."""
        with contextlib.suppress(RunError):
            await self._send({"end": ident})
            await asyncio.shield(ended)

    async def _send(self, message: Mapping[str, Any], *descriptors: int) -> None:
        data = json.dumps(message).encode() + b"\n"
        async with self._sending:
            while data:
                try:
                    sent = socket.send_fds(self._channel, [data], descriptors)
                except BlockingIOError:
                    await asyncio.sleep(_FULL)
                    continue
                except OSError:
                    raise self._lost_server_error() from None
                data, descriptors = data[sent:], ()

    def _read(self) -> None:
        try:
            data = self._channel.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.kill()
            return
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def _take(self, message: Mapping[str, Any]) -> None:
        if "ready" in message:
            if not self._ready.done():
                self._ready.set_result(None)
            return
        forked = self._runs.get(message["run"])
        if forked is None:
            return
        if "pid" in message:
            forked.pid = message["pid"]
        elif forked.ended.done():
            return
        elif "code" in message:
            forked.ended.set_result(message["code"])
        else:
            forked.ended.set_exception(RunError(f"cannot start the run: {message['error']}"))

    def kill(self) -> None:
        """End the server and its runs."""
        if self.is_gone:
            return
        self.is_gone = True
        if not self._loop.is_closed():
            self._loop.remove_reader(self._channel)
        self._channel.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for one in self._runs.values():
            if one.pid is not None and not one.ended.done():
                process_tree.kill(one.pid, mark=one.mark)
        if self._loop.is_closed():
            return
        for future in (self._ready, *(one.ended for one in self._runs.values())):
            if not future.done():
                future.set_exception(self._lost_server_error())
                future.exception()  # if no caller waits for it, nothing is lost

    def _lost_server_error(self) -> RunError:
        output = ""
        with contextlib.suppress(OSError):
            output = self._log.read_text(errors="replace").strip()[-_TAIL:]
        return RunError(f"the process that starts runs has ended: {output}".rstrip(": "))
