"""Threads that are used again, and that nothing has to wait for."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import CancelledError

import pytest

from olmkit.runtime.work.threads import Threads


def test_a_thread_is_used_again_and_no_more_are_started_than_allowed() -> None:
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


def test_what_is_raised_comes_out_also_what_a_future_cannot_hold() -> None:
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


def test_what_waits_at_the_end_is_not_begun() -> None:
    threads = Threads(1, "t")
    begun, gate = threading.Event(), threading.Event()

    def hold() -> bool:
        begun.set()
        return gate.wait(60)

    running = threads.run(hold)
    waiting = threads.run(lambda: 1)
    begun.wait(60)
    threads.end()
    gate.set()
    assert running.result(5)
    with pytest.raises(CancelledError):
        waiting.result(5)


def test_a_thread_that_hangs_does_not_keep_a_process() -> None:
    program = (
        "import threading; from olmkit.runtime.work.threads import Threads\n"
        "begun = threading.Event()\n"
        "Threads(1, 't').run(lambda: (begun.set(), threading.Event().wait()))\n"
        "begun.wait()"
    )
    ended = subprocess.run([sys.executable, "-c", program], timeout=30, check=False)
    assert ended.returncode == 0
