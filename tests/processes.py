"""Processes of tests: whether one has ended."""

from __future__ import annotations

import time
from pathlib import Path


def wait_for_end(pid: int, seconds: float = 30) -> None:
    """Waits until the process `pid` has ended: a signal needs a moment. A zombie has ended.

    Raises:
        AssertionError: the process still runs after `seconds`.

    """
    end = time.monotonic() + seconds
    while _runs(pid):
        assert time.monotonic() < end, f"process {pid} still runs after {seconds} s"
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return not any(line.startswith("State:\t") and line[7] in "ZX" for line in status.splitlines())
