"""A dump of what a process is doing: its controllers, tasks and threads, with their stacks.

A dump shows places in the program and names of objects. It never shows values of variables, so it
contains no secrets.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, TracebackType

from olmkit.runtime.manager import Manager

_ERROR_OUTPUT = 2
_MAX_TASKS = 2000
_MAX_KEYS = 50


def on_signal(*managers: Manager) -> Callable[[], None]:
    """Print a dump to standard error on SIGUSR1, also while the event loop is blocked.

    Call it in the main thread while the loop runs. Returns a function that restores the signal's
    handler.
    """
    number = getattr(signal, "SIGUSR1", None)
    if number is None or threading.current_thread() is not threading.main_thread():
        return lambda: None
    loop = asyncio.get_running_loop()

    def heard(_: int, __: FrameType | None) -> None:
        # Not through `logging`: the main thread may hold one of its locks or streams.
        data = render(loop, managers).encode(errors="backslashreplace")
        while data:
            data = data[os.write(_ERROR_OUTPUT, data) :]

    before = signal.signal(number, heard)

    def give_back() -> None:
        signal.signal(number, before)

    return give_back


def render(loop: asyncio.AbstractEventLoop, managers: Sequence[Manager]) -> str:
    """Return the lines of the dump; call it in the loop's thread."""
    lines = [f"dump of process {os.getpid()}"]
    for manager in managers:
        lines += _of_manager(manager, loop.time())
    tasks = sorted(asyncio.all_tasks(loop), key=lambda task: task.get_name())
    lines += ["", f"{len(tasks)} tasks"]
    for task in tasks[:_MAX_TASKS]:
        lines += ["", f"task {task.get_name()}: {_coroutine(task)}", *_of_task(task)]
    frames = sys._current_frames()  # noqa: SLF001 - documented; the only way to read all stacks
    threads = {thread.ident: thread.name for thread in threading.enumerate()}
    lines += ["", f"{len(frames)} threads"]
    for ident, frame in frames.items():
        lines += ["", f"thread {threads.get(ident, ident)}", *_stack(traceback.walk_stack(frame))]
    return "\n".join(lines) + "\n"


def _of_manager(manager: Manager, now: float) -> Iterator[str]:
    yield f"manager {manager.name}: {'ready' if manager.ready else 'not ready'}"
    for controller in manager.controllers:
        working = controller.queue.working()
        yield (
            f"controller {controller.name}: {len(controller.queue)} waiting, "
            f"{len(working)} of {controller.workers} workers busy"
        )
        for key, since in list(working.items())[:_MAX_KEYS]:
            yield f"  {key} for {now - since:.3f} s"
    for informer in manager.cache.informers:
        state = "synced" if informer.synced else "not synced"
        failures = "; ".join(type(failure).__name__ for failure in informer.failures)
        yield f"watch {informer.gvk}: {state}" + (failures and f", {failures}")


def _coroutine(task: asyncio.Task[object]) -> str:
    return getattr(task.get_coro(), "__qualname__", "")


def _of_task(task: asyncio.Task[object]) -> list[str]:
    """Return the frames of a task, down to the innermost await."""
    places: list[tuple[FrameType, int]] = []
    waits: object = task.get_coro()
    while waits is not None:
        frame = getattr(waits, "cr_frame", None) or getattr(waits, "gi_frame", None)
        frame = frame or getattr(waits, "ag_frame", None)
        if frame is not None:
            places.append((frame, frame.f_lineno))
        waits = getattr(waits, "cr_await", None) or getattr(waits, "gi_yieldfrom", None)
    return _stack(iter(places), turned=False)


def _stack(places: Iterator[tuple[FrameType, int]], *, turned: bool = True) -> list[str]:
    found = [
        f"  {frame.f_code.co_filename}:{line} {frame.f_code.co_qualname}" for frame, line in places
    ]
    return found[::-1] if turned else found


class Profile:
    """Samples of the stacks of all threads: folded stack → number of samples."""

    def __init__(self, period: float = 0.01) -> None:
        self._period = period
        self._counts: dict[str, int] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="profile", daemon=True)

    def __enter__(self) -> Profile:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ending.set()
        self._thread.join()

    def folded(self) -> str:
        """Return a line for each stack: functions, outermost first, and number of samples."""
        lines = [f"{stack} {count}" for stack, count in sorted(self._counts.items())]
        return "".join(f"{line}\n" for line in lines)

    def _sample(self) -> None:
        own = threading.get_ident()
        while not self._ending.wait(self._period):
            names = {thread.ident: thread.name for thread in threading.enumerate()}
            for ident, frame in sys._current_frames().items():  # noqa: SLF001
                if ident == own:
                    continue
                places = [_function(one) for one, _ in traceback.walk_stack(frame)]
                stack = ";".join([names.get(ident, str(ident)), *reversed(places)])
                self._counts[stack] = self._counts.get(stack, 0) + 1


def _function(frame: FrameType) -> str:
    module = frame.f_globals.get("__name__", "")
    name = f"{module}.{frame.f_code.co_qualname}"
    return name.replace(";", ",").replace(" ", "_")
