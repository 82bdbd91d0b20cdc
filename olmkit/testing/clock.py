"""An event loop whose time jumps to the next timer instead of waiting.

A ten-minute back-off takes no time, and a race is the same on every run. Real
sockets still work: time only jumps when nothing is ready.
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
            # Something outside may still answer: give it a moment before time jumps.
            ready = super().select(min(timeout, self.loop.patience))
            if ready:
                return ready
        self.loop.advance(timeout)
        return []


class ClockLoop(asyncio.SelectorEventLoop):
    """`time()` starts at 1000 s and moves only by jumping to the next timer."""

    def __init__(self, *, patience: float = 0.02) -> None:
        selector = _JumpingSelector()
        selector.loop = self
        self._now = 1000.0
        self.patience = patience
        super().__init__(selector)

    def time(self) -> float:
        """Seconds of the simulated clock."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass at once."""
        self._now += seconds

    def has_io(self) -> bool:
        """Whether any socket but the loop's own wake-up pipe is watched."""
        return len(self._selector.get_map()) > 1  # type: ignore[attr-defined]


def run(work: Coroutine[Any, Any, T], *, patience: float = 0.02) -> T:
    """Run a coroutine on a `ClockLoop`, as `asyncio.run` does on a real one.

    `patience`: seconds that are really waited for sockets before time jumps; hardly any
    are needed when both ends are in this loop.
    """
    with asyncio.Runner(loop_factory=lambda: ClockLoop(patience=patience)) as runner:
        return runner.run(work)
