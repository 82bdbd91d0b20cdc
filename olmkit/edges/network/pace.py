"""The minimum transfer rates of responses and requests.

The timeout between two bytes does not end a connection to a server that sends a byte from time to
time, or that stops reading. No connection in use is as slow as these limits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable

from olmkit.base.streams import closing

LEAST_RATE = 1000  # bytes per second; modems of the 1990s had some thousands


class TooSlow(Exception):  # noqa: N818 - a signal between these modules, never shown
    """The transfer rate was below the minimum for a whole window."""


class Pace:
    """Measures the transfer rate, without the time in which the receiver processes data.

    Windows are in seconds.
    """

    def __init__(self, window: float) -> None:
        self._window = window
        self._waited = 0.0
        self._came = 0

    async def take(self, reading: Awaitable[bytes]) -> bytes:
        """Return the next piece. Raises `TooSlow`, or `TimeoutError` if nothing arrives."""
        clock = asyncio.get_running_loop().time
        began = clock()
        async with asyncio.timeout(self._window):
            piece = await reading
        self._waited += clock() - began
        self._came += len(piece)
        if self._waited >= self._window:
            if piece and self._came < LEAST_RATE * self._waited:
                raise TooSlow
            self._waited, self._came = 0.0, 0
        return piece


class Deadline:
    """The time limit until a response begins, which each sent chunk extends."""

    def __init__(self, window: float) -> None:
        self._window = window
        self._timeout = asyncio.timeout(None)

    @contextlib.asynccontextmanager
    async def watch(self, body: bytes | AsyncIterator[bytes] | None) -> AsyncIterator[None]:
        """Raise `TimeoutError` inside if the server has had all of `body` for too long."""
        async with self._timeout:
            self._extend(len(body) if isinstance(body, bytes) else 0)
            yield

    async def pieces(self, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield `body` as the server reads it; the time to produce `body` does not count."""
        async with closing(body):
            self._suspend()
            async for piece in body:
                self._extend(len(piece))
                yield piece
                self._suspend()
            self._extend(0)

    def _extend(self, size: int) -> None:
        now = asyncio.get_running_loop().time()
        self._reschedule(now + self._window + size / LEAST_RATE)

    def _suspend(self) -> None:
        self._reschedule(None)

    def _reschedule(self, when: float | None) -> None:
        with contextlib.suppress(RuntimeError):  # the response has started before the end of `body`
            self._timeout.reschedule(when)
