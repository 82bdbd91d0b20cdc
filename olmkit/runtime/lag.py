"""Measure whether something blocks the event loop, since that blocks the whole operator.

A task sleeps for half a second and measures how much longer it took. To help find the cause, the
log lists the running reconciles.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

_LOG = logging.getLogger(__name__)

_PERIOD = 0.5
_NOTABLE = 0.5  # seconds


class LoopLag:
    """A runnable that measures the lag of the event loop; `seconds` is the last measurement."""

    name = "loop lag"

    def __init__(self, active: Callable[[], Sequence[str]] = list) -> None:
        self.seconds = 0.0
        self._active = active
        self._looked: float | None = None

    async def run(self) -> None:
        """Measure until cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            before, self._looked = self._active(), clock()
            await asyncio.sleep(_PERIOD)
            self.seconds = max(0.0, clock() - self._looked - _PERIOD)
            if self.seconds > _NOTABLE:
                seen = sorted({*before, *self._active()})
                _LOG.warning(
                    "the event loop was blocked",
                    extra={"seconds": round(self.seconds, 3), "reconciles": seen},
                )

    def behind(self) -> float:
        """Return the current lag or the last one, in seconds."""
        if self._looked is None:
            return 0.0
        now = asyncio.get_running_loop().time()
        return max(self.seconds, now - self._looked - _PERIOD)
