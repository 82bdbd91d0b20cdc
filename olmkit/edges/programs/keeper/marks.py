"""Mark processes, so that they end with this process, even if it is killed."""

from __future__ import annotations

import itertools
import logging
import os
import secrets
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from olmkit.edges.programs.keeper import program

_LOG = logging.getLogger(__name__)
VARIABLE = program.VARIABLE


def new() -> str:
    """Return the mark of a new process and its descendants, for the variable `VARIABLE`."""
    return _OWN.new()


@dataclass(slots=True)
class _Marks:
    """The marks of this process, and the keeper that has their prefix."""

    _owner: int = 0
    _first: str = ""
    _keeper: int = 0  # 0: none
    _pipe: int = -1
    _count: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def new(self) -> str:
        with self._lock:
            if self._owner != os.getpid():
                # After a fork, the keeper of the parent process is not ours.
                self._owner, self._first, self._keeper = os.getpid(), secrets.token_hex(8), 0
            if not self._keeper or _has_ended(self._keeper):
                self._start()
            return f"{self._first}.{next(self._count)}."

    def _start(self) -> None:
        words = [sys.executable, "-I", "-S", str(Path(program.__file__)), self._first]
        if self._pipe >= 0:
            os.close(self._pipe)
        ours, self._pipe = os.pipe()
        try:
            process = subprocess.Popen(  # noqa: S603 - this Python
                words,
                cwd="/",
                env={},
                stdin=ours,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            words_ = (error.strerror or str(error)).lower()
            _LOG.warning("runs may outlive this process", extra={"error": words_})
        else:
            self._keeper = process.pid
            process.returncode = 0  # so that Python does not warn that it outlives this process
        finally:
            os.close(ours)


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG) != (0, 0)
    except ChildProcessError:
        return True


_OWN = _Marks()
