"""Run a process in the foreground with olmkit's output and signals.

The process gets its own group, so that an interrupt from the terminal reaches it only once, through
olmkit: many programs treat a second interrupt as a request to end immediately.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

from olmkit.base.diagnostics import ConfigurationError

_CHUNK = 64 * 1024
_NO_LIMIT = 1 << 60  # bytes
_ENDING = 5.0  # seconds; a child of the process may keep its pipe open
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)


def run(command: Sequence[str], *, folder: Path, environment: Mapping[str, str]) -> int:
    """Run a command in `folder`; return its exit code, or 128 plus its signal's number.

    Raises `ConfigurationError` if there is no such program.
    """
    with _Signals() as signals:
        try:
            process = subprocess.Popen(  # noqa: S603 - what the project says
                list(command),
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                process_group=0,
            )
        except OSError as error:
            words = (error.strerror or str(error)).lower()
            raise ConfigurationError(f"cannot run `{command[0]}`: {words}") from error
        with process:
            signals.pass_to(process)
            code = process.wait()
    return code if code >= 0 else 128 - code


class TooMuchOutputError(Exception):
    """The output of a process exceeds its limit."""


async def converse(process: asyncio.subprocess.Process, sent: bytes = b"", *, limit: int) -> bytes:
    """Send a process its input and wait for its end; return its output.

    Raises `TooMuchOutputError` above `limit` bytes; the process may still be running then, and the
    caller must end it.
    """
    if process.stdin is not None:
        # A process that does not read its input closes the pipe.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(sent)
            await process.stdin.drain()
        process.stdin.close()
    output = bytearray()
    assert process.stdout is not None  # noqa: S101 - it was started with a pipe
    while chunk := await process.stdout.read(_CHUNK):
        output += chunk
        if len(output) > limit:
            raise TooMuchOutputError
    await process.wait()
    return bytes(output)


async def wait_for_end(process: asyncio.subprocess.Process) -> None:
    """Wait for a killed process, and discard its output.

    On Python 3.11, waiting never ends while the output pipe is full.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_ENDING):
            while process.stdout is not None and await process.stdout.read(_CHUNK):
                pass
            await process.wait()


class _Signals:
    """Forwards signals to a process, including those received before it started."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> _Signals:
        self._stack.enter_context(_handle_signals(self._take))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def pass_to(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        while self._early:
            process.send_signal(self._early.pop(0))

    def _take(self, number: int, _: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
        else:
            self._process.send_signal(number)


@contextlib.contextmanager
def _handle_signals(handler: object) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in _PASSED_ON}
    # An ignored signal, as SIGHUP with nohup, stays ignored, for olmkit and for the process.
    taken = [number for number in _PASSED_ON if before[number] is not signal.SIG_IGN]
    for number in taken:
        signal.signal(number, handler)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


def memory_limit(control_groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the bytes of memory that the container may use; None without a limit."""
    # Version 2, and version 1, in which a very large number means no limit.
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            text = (control_groups / name).read_text().strip()
        except OSError:
            continue
        if text.isdigit() and int(text) < _NO_LIMIT:
            return int(text)
    return None


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def path_with(folder: Path, environment: Mapping[str, str]) -> str:
    """Return `PYTHONPATH` with a folder prepended."""
    found = environment.get("PYTHONPATH")
    return os.pathsep.join([str(folder), found]) if found else str(folder)


def current_python() -> str:
    """Return the Python that runs this process."""
    return sys.executable


def python_of(folder: Path) -> str:
    """Return the Python of the project's virtual environment, else the current one."""
    own = folder / ".venv" / "bin" / "python"
    return str(own.absolute()) if own.exists() else sys.executable
