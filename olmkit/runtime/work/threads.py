"""Threads for code that blocks, which do not keep a process from its end.

Those of `concurrent.futures` are waited for when the interpreter ends. A reconciler
that hangs in one would hold a process that lost its lease, or was stopped, until
it is killed.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Threads:
    """At most `number` threads, started when they are needed; each is used again."""

    def __init__(self, number: int, name: str) -> None:
        self._number = number
        self._name = name
        self._tasks: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = (
            queue.SimpleQueue()
        )
        self._idle = threading.Semaphore(0)
        self._started = 0

    def run(self, work: Callable[[], Any]) -> Future[Any]:
        """Run `work` in one of the threads; called from one thread alone."""
        future: Future[Any] = Future()
        self._tasks.put((work, future))
        if not self._idle.acquire(blocking=False) and self._started < self._number:
            self._started += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return future

    def end(self) -> None:
        """Let the threads end, each after what it does; what waits is not begun."""
        with contextlib.suppress(queue.Empty):
            while (task := self._tasks.get_nowait()) is not None:
                task[1].cancel()
        for _ in range(self._started):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            work, future = task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except StopIteration as error:
                    # No future can hold it: its waiter would wait forever.
                    future.set_exception(RuntimeError(f"raised {error!r}"))
                except BaseException as error:
                    future.set_exception(error)
            del task, work, future  # what was worked on may be large
            self._idle.release()
