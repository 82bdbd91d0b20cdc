"""A progress line on a terminal for a command that has not printed anything yet.

A timer of the system shows it, not a thread: workers that are started by fork have neither, and a
child process does not inherit it. Commands that show their own progress print before it is due.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from types import FrameType
from typing import Any, TextIO

PATIENCE = 2.0
"""Seconds without output after which the line appears."""
_EVERY = 1.0
_CLEAR = b"\r\x1b[K"


class Waiting:
    """The progress line of one command; call `stop` before printing anything."""

    def __init__(self, err: TextIO, label: str) -> None:
        self._err = err
        self._label = label
        self._begin = 0.0
        self._before: Any = None
        self._runs = False
        self._is_shown = False

    def start(self) -> None:
        """Start waiting; if the system has no such timer, nothing is shown."""
        # Not in the main thread, or not on this system.
        with contextlib.suppress(ValueError, AttributeError, OSError):
            self._before = signal.signal(signal.SIGALRM, self._show)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE, _EVERY)
            self._begin = time.monotonic()
            self._runs = True

    def stop(self) -> None:
        """Remove the line, and do not show it again."""
        if not self._runs:
            return
        self._runs = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._before)
        if self._is_shown:
            self._write(_CLEAR)

    def _show(self, _number: int, _frame: FrameType | None) -> None:
        if self._runs:
            seconds = round(time.monotonic() - self._begin)
            self._is_shown = True
            self._write(_CLEAR + f"{self._label} is working, {seconds} s".encode())

    def _write(self, data: bytes) -> None:
        # Bypasses the buffer of the stream: the timer may interrupt code that writes to it.
        with contextlib.suppress(OSError, ValueError):
            os.write(self._err.fileno(), data)
