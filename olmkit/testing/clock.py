"""An event loop whose time jumps to the next timer instead of waiting.

A ten-minute back-off takes no time, and the order of events is the same in every run. Sockets still
work: time only jumps when nothing is ready.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    loop: ClockLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if ready or timeout is None or timeout <= 0:
            return ready or super().select(timeout)
        if self.loop.has_io():
            # A socket may still become ready: wait a moment before time jumps.
            ready = super().select(min(timeout, self.loop.patience))
            if ready:
                return ready
        self.loop.advance(timeout)
        return []


class ClockLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time()` starts at 1000 s and only jumps to the next timer."""

    def __init__(self, *, patience: float = 0.02) -> None:
        selector = _JumpingSelector()
        selector.loop = self
        self._now = 1000.0
        self.patience = patience
        super().__init__(selector)

    def time(self) -> float:
        """Return the seconds of the simulated clock."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Advance the simulated clock by `seconds`."""
        self._now += seconds

    def has_io(self) -> bool:
        """Return whether the loop waits for any socket except its wake-up pipe."""
        return len(self._selector.get_map()) > 1  # type: ignore[attr-defined]


def run(work: Coroutine[Any, Any, T], *, patience: float = 0.02) -> T:
    """Run a coroutine on a `ClockLoop`, like `asyncio.run`.

    `patience`: the real seconds to wait for sockets before time jumps; a tiny value is enough if
    client and server are in this loop.
    """
    with asyncio.Runner(loop_factory=lambda: ClockLoop(patience=patience)) as runner:
        return runner.run(work)
