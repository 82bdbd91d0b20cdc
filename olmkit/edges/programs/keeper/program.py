"""A process that ends marked processes when the process that started it has ended.

`python -I -S program.py MARK`: standard input is a pipe from that process, which sends nothing.
When the pipe is closed, all processes whose environment has the mark, and their descendants, get
SIGTERM and after some seconds SIGKILL. They may have their own sessions, or have lost their
parents. SIGKILL and a crash also close the pipe. This module imports little, because it is in
memory next to each operator.

Without `/proc`, nothing is found.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator

VARIABLE = "OLMKIT_KEPT"
GRACE = 5.0
"""Seconds from SIGTERM to SIGKILL."""
_ROUNDS = 10  # a process may start another one meanwhile
_PAUSE = 0.1  # seconds between two checks
_LONGEST = 60.0  # seconds; a process that waits for a disk does not end


def processes() -> Iterator[tuple[int, int, str]]:
    """Yield the ID, the parent and the start time of each running process."""
    for name in _listed():
        try:
            # The name is in parentheses, and may contain them.
            words = _read(name, "stat").rpartition(b")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if words and words[0] not in (b"Z", b"X"):
            yield int(name), int(words[1]), words[19].decode()


def marked(mark: str) -> list[int]:
    """Return the processes whose mark is or starts with this one, and their descendants.

    A parent comes before its children. If the children were killed first, the parent could take
    that for their ordinary end, and continue.
    """
    wanted = f"\0{VARIABLE}={mark}".encode()
    parents: dict[int, int] = {}
    below: dict[int, list[int]] = {}
    direct = set()
    for pid, parent, _ in processes():
        parents[pid] = parent
        below.setdefault(parent, []).append(pid)
        with contextlib.suppress(OSError):  # it ended meanwhile, or belongs to another user
            if wanted in b"\0" + _read(str(pid), "environ"):
                direct.add(pid)
    found = []
    left = [(pid, False) for pid, parent in parents.items() if parent not in parents]
    for pid, is_below in left:  # grows meanwhile
        is_found = is_below or pid in direct
        if is_found:
            found.append(pid)
        left += [(child, is_found) for child in below.get(pid, ())]
    return found


def kill(mark: str) -> None:
    """Kill the processes with the mark with SIGKILL."""
    for _ in range(_ROUNDS):
        found = _others(mark)
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def end_all(mark: str) -> None:
    """End the processes with the mark, including those that start meanwhile."""
    asked: set[int] = set()
    begun = time.monotonic()
    while found := _others(mark):
        age = time.monotonic() - begun
        if age > _LONGEST:
            return
        is_late = age > GRACE
        for pid in found if is_late else [one for one in found if one not in asked]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL if is_late else signal.SIGTERM)
        asked.update(found)
        time.sleep(_PAUSE)


def _others(mark: str) -> list[int]:
    return [pid for pid in marked(mark) if pid != os.getpid()]


def _listed() -> list[str]:
    try:
        return [one for one in os.listdir("/proc") if one.isdigit()]  # noqa: PTH208 - imports little
    except OSError:
        return []


def _read(pid: str, name: str) -> bytes:
    with open(f"/proc/{pid}/{name}", "rb") as file:  # noqa: PTH123 - imports little
        return file.read()


def main() -> None:
    """Wait for the end of standard input, then end the marked processes."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.read(0, 1):
        pass
    end_all(sys.argv[1])


if __name__ == "__main__":
    main()
