"""Inside a Python controller: the number of tasks in its loop, and how long it was blocked.

SIGUSR1 makes it print a line of JSON. The blocked time is CPU time of the loop's thread
between two ticks of a millisecond, including one full garbage collection, so that other
work on the machine does not count. It is only measured with BENCH_PAUSES set, since
ticking itself needs CPU time.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import time

_running: set[asyncio.Task[None]] = set()


class _Pauses:
    longest = 0.0


async def start() -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, _tell)
    if os.environ.get("BENCH_PAUSES"):
        _running.add(asyncio.create_task(_tick()))


async def _tick() -> None:
    before = time.thread_time()
    while True:
        await asyncio.sleep(0.001)
        now = time.thread_time()
        _Pauses.longest = max(_Pauses.longest, now - before)
        before = now


def _tell() -> None:
    tasks = len(asyncio.all_tasks()) - len(_running)
    if _running:
        before = time.thread_time()
        gc.collect()
        _Pauses.longest = max(_Pauses.longest, time.thread_time() - before)
    print(json.dumps({"tasks": tasks, "pause": _Pauses.longest}), flush=True)
    _Pauses.longest = 0.0
