"""Threads for blocking code, which do not delay the end of the process.

The interpreter waits for threads of `concurrent.futures` when it ends. A reconciler that hangs in
one would keep a process alive that has lost its lease or was stopped.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Threads:
    """A pool of at most `number` threads, which start when they are needed."""

    def __init__(self, number: int, name: str) -> None:
        self._number = number
        self._name = name
        self._tasks: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = (
            queue.SimpleQueue()
        )
        self._idle = threading.Semaphore(0)
        self._started = 0

    def run(self, work: Callable[[], Any]) -> Future[Any]:
        """Run `work` in one of the threads; always call it from the same thread."""
        future: Future[Any] = Future()
        self._tasks.put((work, future))
        if not self._idle.acquire(blocking=False) and self._started < self._number:
            self._started += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return future

    def end(self) -> None:
        """End each thread after its current work; waiting work does not start."""
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
                    # A future cannot hold it: the caller would wait forever.
                    future.set_exception(RuntimeError(f"raised {error!r}"))
                except BaseException as error:
                    future.set_exception(error)
            del task, work, future  # the finished work may be large
            self._idle.release()
