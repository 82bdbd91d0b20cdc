"""Threads that are reused, and that no process has to wait for."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import CancelledError

import pytest

from olmkit.runtime.work.threads import Threads


def test_a_thread_is_reused_and_the_number_is_limited() -> None:
    threads = Threads(2, "t")
    first = threads.run(threading.get_ident).result(5)
    gate = threading.Barrier(3)
    both = [threads.run(lambda: (gate.wait(60), threading.get_ident())[1]) for _ in range(2)]
    gate.wait(60)
    used = {future.result(5) for future in both}
    assert len(used) == 2
    assert first in used
    later = {threads.run(threading.get_ident).result(5) for _ in range(20)}
    assert later <= used
    threads.end()


def test_exceptions_are_raised_even_if_a_future_cannot_hold_them() -> None:
    def fail(error: BaseException) -> None:
        raise error

    threads = Threads(1, "t")
    for error, found in (
        (ValueError("v"), ValueError),
        (SystemExit(3), SystemExit),
        (StopIteration(), RuntimeError),
    ):
        with pytest.raises(found):
            threads.run(lambda error=error: fail(error)).result(5)  # type: ignore[misc]
    threads.end()


def test_waiting_calls_are_not_started_at_the_end() -> None:
    threads = Threads(1, "t")
    initialized, gate = threading.Event(), threading.Event()

    def hold() -> bool:
        initialized.set()
        return gate.wait(60)

    running = threads.run(hold)
    waiting = threads.run(lambda: 1)
    initialized.wait(60)
    threads.end()
    gate.set()
    assert running.result(5)
    with pytest.raises(CancelledError):
        waiting.result(5)


def test_a_blocked_thread_does_not_keep_a_process_running() -> None:
    program = (
        "import threading; from olmkit.runtime.work.threads import Threads\n"
        "begun = threading.Event()\n"
        "Threads(1, 't').run(lambda: (begun.set(), threading.Event().wait()))\n"
        "begun.wait()"
    )
    ended = subprocess.run([sys.executable, "-c", program], timeout=30, check=False)
    assert ended.returncode == 0
