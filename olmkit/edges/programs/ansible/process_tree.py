"""A process and its descendants, also in other sessions.

Without `/proc`, it is only the process itself.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection
from typing import NamedTuple

from olmkit.edges.programs.keeper import program
from olmkit.edges.programs.keeper.program import processes

_ROUNDS = 10  # a process may start another one while the list is built


class ProcessMark(NamedTuple):
    """A process; its start time shows whether its ID was reused."""

    pid: int
    begun: str


def tree(pid: int) -> list[ProcessMark]:
    """Return the process and its descendants, the oldest ones first."""
    begun: dict[int, str] = {}
    below: dict[int, list[int]] = {}
    for one, parent, at in processes():
        begun[one] = at
        below.setdefault(parent, []).append(one)
    found: list[ProcessMark] = []
    left = [pid]
    while left:
        one = left.pop(0)
        found.append(ProcessMark(one, begun.get(one, "")))
        left += below.get(one, ())
    return found


def kill(pid: int, known: Collection[ProcessMark] = (), *, mark: str = "") -> None:
    """Kill the process, its descendants, and remaining `known` processes with SIGKILL.

    With `mark`, also processes that have lost their parent.
    """
    _kill(known)
    for _ in range(_ROUNDS):
        if not _kill(tree(pid)):
            break
    if mark:
        program.kill(mark)


def _kill(members: Collection[ProcessMark]) -> bool:
    """Kill the processes; return whether there were any."""
    alive = {ProcessMark(pid, at) for pid, _, at in processes()}
    there = [one for one in members if one in alive or not one.begun]
    for one in there:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
    return bool(there)
