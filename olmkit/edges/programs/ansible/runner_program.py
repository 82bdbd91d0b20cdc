"""Run Ansible through ansible-runner: a process for each run, with the folders that it keeps.

A process that takes too long, or whose caller is cancelled, gets SIGTERM and after some seconds
SIGKILL; it has its own session, so its child processes end with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from olmkit.edges.programs.ansible import process_tree, runs
from olmkit.edges.programs.ansible.fork_server import GRACE
from olmkit.edges.programs.ansible.process_tree import ProcessMark
from olmkit.edges.programs.ansible.runs import Run, RunError, Take
from olmkit.edges.programs.keeper import marks


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsibleRunner:
    """The program and the variables of its environment.

    `command` starts ansible-runner. `inventory` is a file or a folder; the default has only
    `localhost`. `skips_facts` applies to roles.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    inventory: Path | None = None
    skips_facts: bool = False
    _running: dict[int, _Members] = field(default_factory=dict, init=False)

    async def run(self, run: Run, on_line: Take) -> None:
        """See `Runner`."""
        await asyncio.to_thread(self._prepare, run)
        mark = marks.new()
        process = await self._start(run, mark)
        assert process.stdout is not None  # noqa: S101 - it was started with a pipe
        members = self._running.setdefault(process.pid, _Members(mark))
        try:
            async with asyncio.timeout(run.timeout or None):
                await runs.read_lines(process.stdout, on_line)
                code = await process.wait()
        except TimeoutError:
            raise runs.time_out_error(run) from None
        finally:
            await asyncio.shield(_end(process, members))
            self._running.pop(process.pid, None)
        runs.check_end(code)

    def close(self) -> None:
        """See `Runner`."""
        while self._running:
            pid, members = self._running.popitem()
            process_tree.kill(pid, members.known, mark=members.mark)

    def _prepare(self, run: Run) -> None:
        runs.prepare(run, self.environment, self.inventory)
        runs.write(run.folder / "env" / "cmdline", runs.command_line(run).encode())

    async def _start(self, run: Run, mark: str) -> asyncio.subprocess.Process:
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
                env=runs.variables(self.environment, self.command[0])
                | run.environment
                | {marks.VARIABLE: mark},
                start_new_session=True,
            )
        except OSError as error:
            words_ = (error.strerror or str(error)).lower()
            raise RunError(f"cannot run `{words[0]}`: {words_}") from error


@dataclass(slots=True)
class _Members:
    """The processes of a run: their mark, and those that were found before it was ended."""

    mark: str
    known: list[ProcessMark] = field(default_factory=list)


async def _end(process: asyncio.subprocess.Process, members: _Members) -> None:
    """End the process and its child processes: its session may outlive it, and this call."""
    if process.returncode is None:
        members.known += process_tree.tree(process.pid)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    if process.returncode is None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if members.known:
        process_tree.kill(process.pid, members.known, mark=members.mark)
        await process.wait()
