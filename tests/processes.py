"""Processes of tests: whether one has ended, and which are running."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path


def wait_for_end(pid: int, seconds: float = 30) -> None:
    """Wait until the process `pid` has ended: a signal needs a moment. A zombie has ended.

    Raises:
        AssertionError: the process still runs after `seconds`.

    """
    end = time.monotonic() + seconds
    while _runs(pid):
        assert time.monotonic() < end, f"process {pid} still runs after {seconds} s"
        time.sleep(0.02)


def of_environment(word: str) -> list[str]:
    """Return the commands of the processes that started with this in their environment."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it ended in the meantime
            if word.encode() in file.read_bytes():
                found.append((file.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return [one for one in found if one]  # a zombie has none


def _runs(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return not any(line.startswith("State:\t") and line[7] in "ZX" for line in status.splitlines())
