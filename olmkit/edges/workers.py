"""Process many items on all processors.

Python runs one thread at a time, so the workers are processes. They are forked
from this one, so they start with everything that is already imported and read,
and send back only their results. Each takes the next thing when it is done with
one, which keeps all busy however much the things differ. Where forking is not
safe, or not worth it, the work is done here, with the same result.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

# Fewer things are done before the workers are ready.
_WORTH_IT = 4
_INDEX = struct.Struct("=I")
# A pipe holds 64 KiB, and the list of what is to be done is written before it is read.
_MAX_TICKETS = 65536 // _INDEX.size


def map_all(work: Callable[[T], R], items: Sequence[T], *, processes: int = 0) -> list[R]:
    """Return the results of `work` for the items; 0 processes: one for each processor.

    Results can be pickled. What `work` raises in a worker is lost there, and raised when the
    item is done once more here, so `work` is free of effects.
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

    # Nothing of the parent may run here: no handlers, no flushing of its streams.
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
