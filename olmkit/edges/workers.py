"""Process many items on all processors.

Python runs one thread at a time, so the workers are processes. They are forked from this one, so
they start with everything that is already imported and read, and return only their results. Each
worker takes the next item when it has finished one, so all are busy even if the items differ in
size. If forking is not safe, or not worth it, the work is done in this process, with the same
result.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

# A few items are done before the workers are ready.
_WORTH_IT = 4
_INDEX = struct.Struct("=I")
# A pipe holds 64 KiB, and the list of items is written before it is read.
_MAX_TICKETS = 65536 // _INDEX.size


def map_all(work: Callable[[T], R], items: Sequence[T], *, processes: int = 0) -> list[R]:
    """Return the results of `work` for the items; 0 processes: one for each processor.

    Results must be picklable. An exception in a worker is lost; the item is processed again in this
    process, which raises it. So `work` must not have side effects.
    """
    count = min(processes or processors(), len(items))
    if count < 2 or len(items) < _WORTH_IT or not _can_fork():
        return [work(item) for item in items]
    step = -(-len(items) // _MAX_TICKETS)
    take, put = os.pipe()
    os.write(put, b"".join(_INDEX.pack(start) for start in range(0, len(items), step)))
    os.close(put)
    children = [_start(work, items, take, step) for _ in range(count - 1)]
    done: dict[int, R] = {}
    try:
        done.update(_serve(work, items, take, step))
    finally:
        os.close(take)
        for process, stream in children:
            done.update(_collect(process, stream))
    return [done[index] if index in done else work(item) for index, item in enumerate(items)]


def processors() -> int:
    """Return the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _can_fork() -> bool:
    # A forked child has no threads, but keeps the locks that they held.
    return hasattr(os, "fork") and threading.active_count() == 1


def _start(work: Callable[[T], R], items: Sequence[T], take: int, step: int) -> tuple[int, int]:
    source, sink = os.pipe()
    process = os.fork()
    if process:
        os.close(sink)
        return process, source
    import pickle

    # The parent's handlers must not run here, and its streams must not be flushed.
    code = 1
    try:
        os.close(source)
        data = pickle.dumps(list(_serve(work, items, take, step)), pickle.HIGHEST_PROTOCOL)
        with os.fdopen(sink, "wb") as stream:
            stream.write(data)
        code = 0
    finally:
        os._exit(code)


def _serve(
    work: Callable[[T], R], items: Sequence[T], take: int, step: int
) -> Iterator[tuple[int, R]]:
    while ticket := os.read(take, _INDEX.size):
        (start,) = _INDEX.unpack(ticket)
        for index in range(start, min(start + step, len(items))):
            yield index, work(items[index])


def _collect(process: int, source: int) -> list[tuple[int, R]]:
    import pickle

    with os.fdopen(source, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(process, 0)
    if status != 0 or not data:
        return []
    found: list[tuple[int, R]] = pickle.loads(data)  # noqa: S301 - our own child wrote it
    return found
