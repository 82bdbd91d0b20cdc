"""A work queue of keys with deduplication, delays, back-off and priorities.

The semantics are those of controller-runtime's priority queue. A key is queued once, however often
it is added; at most one worker has it; and a key that is added while a worker has it is queued
again afterwards. One event loop owns the queue, so there are no locks; from another thread, add
keys through `loop.call_soon_threadsafe`.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from olmkit.runtime.durations import Duration, seconds

LOW_PRIORITY = -100
"""The priority of requests from an initial list or a resync, which come after real changes."""

_MANY = 256  # stale items up to which a heap is not rebuilt

K = TypeVar("K", bound=Hashable)


class RateLimiter(Protocol):
    """Computes the delay of keys that failed."""

    def when(self, key: Hashable) -> float:
        """Return the delay in seconds, and count the call."""

    def forget(self, key: Hashable) -> None:
        """Reset the key after a success."""

    def num_requeues(self, key: Hashable) -> int:
        """Return how often `when` was called since the last `forget`."""


class ExponentialLimiter:
    """A delay of 5 ms, doubled with each failure up to 1000 s, without jitter."""

    def __init__(self, base: float = 0.005, maximum: float = 1000.0) -> None:
        self._base = base
        self._maximum = maximum
        self._failures: dict[Hashable, int] = {}

    def when(self, key: Hashable) -> float:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        # Above 2^64 the product exceeds any maximum, and a float would overflow.
        return min(self._base * 2.0 ** min(failures, 64), self._maximum)

    def forget(self, key: Hashable) -> None:
        self._failures.pop(key, None)

    def num_requeues(self, key: Hashable) -> int:
        return self._failures.get(key, 0)


class BucketLimiter:
    """A token bucket for all keys: `rate` per second, with a burst of `burst`."""

    def __init__(self, rate: float = 10.0, burst: int = 100) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._last: float | None = None

    def when(self, key: Hashable) -> float:  # noqa: ARG002 - one bucket for all
        now = asyncio.get_running_loop().time()
        if self._last is not None:
            self._tokens = min(self._burst, self._tokens + (now - self._last) * self._rate)
        self._last = now
        self._tokens -= 1
        return max(0.0, -self._tokens / self._rate)

    def forget(self, key: Hashable) -> None:
        """Do nothing: used tokens are not returned."""

    def num_requeues(self, key: Hashable) -> int:  # noqa: ARG002 - knows no keys
        return 0


class SlowestLimiter:
    """Returns the longest delay of several limiters; calls all of them."""

    def __init__(self, *limiters: RateLimiter) -> None:
        self._limiters = limiters

    def when(self, key: Hashable) -> float:
        return max(limiter.when(key) for limiter in self._limiters)

    def forget(self, key: Hashable) -> None:
        for limiter in self._limiters:
            limiter.forget(key)

    def num_requeues(self, key: Hashable) -> int:
        return max(limiter.num_requeues(key) for limiter in self._limiters)


class FastSlowLimiter:
    """A short delay for the first few failures of a key, then a long one."""

    def __init__(self, fast: float, slow: float, max_fast: int) -> None:
        self._fast = fast
        self._slow = slow
        self._max_fast = max_fast
        self._failures: dict[Hashable, int] = {}

    def when(self, key: Hashable) -> float:
        self._failures[key] = failures = self._failures.get(key, 0) + 1
        return self._fast if failures <= self._max_fast else self._slow

    def forget(self, key: Hashable) -> None:
        self._failures.pop(key, None)

    def num_requeues(self, key: Hashable) -> int:
        return self._failures.get(key, 0)


class CappedLimiter:
    """Limits the delays of another limiter to `maximum` seconds."""

    def __init__(self, limiter: RateLimiter, maximum: float) -> None:
        self._limiter = limiter
        self._maximum = maximum

    def when(self, key: Hashable) -> float:
        return min(self._limiter.when(key), self._maximum)

    def forget(self, key: Hashable) -> None:
        self._limiter.forget(key)

    def num_requeues(self, key: Hashable) -> int:
        return self._limiter.num_requeues(key)


class QueueMetrics(Protocol):
    """Receives the measurements of a queue, which `runtime.metrics` exports as metrics."""

    def added(self) -> None:
        """A key became ready."""

    def depth(self, priority: int, change: int) -> None:
        """The number of ready keys with this priority changed by `change`."""

    def waited(self, seconds: float) -> None:
        """A worker got a key that had been ready for `seconds`."""

    def worked(self, seconds: float) -> None:
        """A worker finished a key after `seconds`."""

    def retried(self) -> None:
        """A key was added with a delay."""


class NoMetrics:
    """Ignores all measurements."""

    def added(self) -> None: ...

    def depth(self, priority: int, change: int) -> None: ...

    def waited(self, seconds: float) -> None: ...

    def worked(self, seconds: float) -> None: ...

    def retried(self) -> None: ...


@dataclass(slots=True, eq=False)
class _Entry(Generic[K]):
    key: K
    priority: int
    due: float | None  # None: ready
    order: int
    since: float = 0.0
    dropped: bool = False  # its item in a heap is stale


class WorkQueue(Generic[K]):
    """Keys waiting for workers.

    Invariants: at most one worker has a key; a key is queued once; an addition while a worker has
    the key is never lost; keys of the same priority are first in, first out; additions after
    shutdown are ignored.
    """

    def __init__(
        self, *, limiter: RateLimiter | None = None, metrics: QueueMetrics | None = None
    ) -> None:
        self._limiter = limiter or ExponentialLimiter()
        self._metrics = metrics or NoMetrics()
        self._entries: dict[K, _Entry[K]] = {}
        self._ready: list[tuple[int, int, _Entry[K]]] = []
        self._delayed: list[tuple[float, int, _Entry[K]]] = []
        self._held_back: dict[K, _Entry[K]] = {}  # ready, and a worker has the key
        self._locked: dict[K, float] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._idle: asyncio.Event = asyncio.Event()
        self._idle.set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = 0.0
        self._counter = 0
        self._depth = 0
        self._stale = 0  # upper bound of the stale items in the heaps
        self._closed = False

    def measured_by(self, metrics: QueueMetrics) -> None:
        """Report to `metrics`; call it before the first key is added."""
        self._metrics = metrics

    def __len__(self) -> int:
        """Return the number of ready keys, without delayed keys and those that workers have."""
        return self._depth

    @property
    def closed(self) -> bool:
        return self._closed

    def working(self) -> dict[K, float]:
        """Return the keys that workers have, and since when (loop time)."""
        return dict(self._locked)

    def add(
        self,
        key: K,
        *,
        after: Duration = 0.0,
        rate_limited: bool = False,
        limiter: RateLimiter | None = None,
        priority: int | None = None,
    ) -> None:
        """Queue `key`: ready at once, after a delay, or after the delay of the limiter.

        If the key is already queued, the earlier time and the higher priority apply; a key whose
        priority increases is queued last in its new priority. `limiter` replaces the limiter of the
        queue for this call.
        """
        if self._closed:
            return
        wait = seconds(after, "after") if after else 0.0
        delay = self._delay(key, wait, (limiter or self._limiter) if rate_limited else None)
        now = asyncio.get_running_loop().time()
        due = now + delay if delay > 0 else None
        entry = self._entries.get(key)
        if entry is None:
            entry = _Entry(key, priority or 0, due, self._next_order())
            self._entries[key] = entry
            self._place(entry, now)
            return
        raised = (priority or 0) > entry.priority
        sooner = entry.due is not None and (due is None or due < entry.due)
        if not raised and not sooner:
            return
        self._remove(entry)
        entry = _Entry(
            key,
            max(entry.priority, priority or 0),
            due if sooner else entry.due,
            self._next_order() if raised or (sooner and due is None) else entry.order,
            entry.since,
        )
        self._entries[key] = entry
        self._place(entry, now)

    def hasten(self) -> None:
        """Make all delayed keys ready."""
        for entry in list(self._entries.values()):
            if entry.due is not None:
                self.add(entry.key, priority=entry.priority)

    async def get(self) -> tuple[K, int] | None:
        """Wait for the next key, lock it and return it with its priority; None after shutdown."""
        while True:
            entry = self._pop()
            if entry is not None:
                return entry.key, entry.priority
            if self._closed:
                return None
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._wake()  # the wake-up was for a worker that is cancelled
                raise
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def done(self, key: K) -> None:
        """Unlock `key`; do nothing if it is not locked."""
        since = self._locked.pop(key, None)
        if since is None:
            return
        self._metrics.worked(asyncio.get_running_loop().time() - since)
        held_back = self._held_back.pop(key, None)
        if held_back is not None:
            heapq.heappush(self._ready, (-held_back.priority, held_back.order, held_back))
            self._wake()
        if not self._locked and not self._depth:
            self._idle.set()

    def forget(self, key: K) -> None:
        """Reset the key in the limiter; the queue does not change."""
        self._limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        return self._limiter.num_requeues(key)

    def shut_down(self, *, drain: bool = False) -> None:
        """Ignore all further additions; without `drain`, drop the queued keys."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for entry in list(self._entries.values()):
            if not drain or entry.due is not None:
                self._remove(entry)
                del self._entries[entry.key]
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        if not self._locked and not self._depth:
            self._idle.set()

    async def drained(self) -> None:
        """Wait until no key is ready and no worker has one."""
        await self._idle.wait()

    def _delay(self, key: K, after: float, limiter: RateLimiter | None) -> float:
        delay = max(0.0, after)
        if limiter is not None:
            limited = limiter.when(key)
            delay = min(delay, limited) if after > 0 else limited
        if delay > 0:
            self._metrics.retried()
        return delay

    def _next_order(self) -> int:
        self._counter += 1
        return self._counter

    def _place(self, entry: _Entry[K], now: float) -> None:
        if entry.due is not None:
            heapq.heappush(self._delayed, (entry.due, entry.order, entry))
            self._set_timer()
            return
        if not entry.since:
            entry.since = now
            self._metrics.added()
        self._count(entry, 1)
        if entry.key in self._locked:
            self._held_back[entry.key] = entry
        else:
            heapq.heappush(self._ready, (-entry.priority, entry.order, entry))
            self._wake()

    def _remove(self, entry: _Entry[K]) -> None:
        entry.dropped = True
        if entry.due is None:
            self._count(entry, -1)
            self._held_back.pop(entry.key, None)
        self._stale += 1
        if self._stale > _MANY and self._stale * 2 > len(self._ready) + len(self._delayed):
            self._tidy()

    def _tidy(self) -> None:
        """Rebuild the heaps without stale items, which could otherwise remain for hours."""
        self._stale = 0
        self._ready = [place for place in self._ready if not place[2].dropped]
        self._delayed = [place for place in self._delayed if not place[2].dropped]
        heapq.heapify(self._ready)
        heapq.heapify(self._delayed)

    def _count(self, entry: _Entry[K], change: int) -> None:
        self._depth += change
        self._idle.clear()
        self._metrics.depth(entry.priority, change)

    def _pop(self) -> _Entry[K] | None:
        while self._ready:
            _, _, entry = heapq.heappop(self._ready)
            if entry.dropped:
                continue
            now = asyncio.get_running_loop().time()
            del self._entries[entry.key]
            self._locked[entry.key] = now
            self._count(entry, -1)
            self._metrics.waited(now - entry.since)
            return entry
        return None

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
                return

    def _set_timer(self) -> None:
        while self._delayed and self._delayed[0][2].dropped:
            heapq.heappop(self._delayed)
        if not self._delayed:
            return
        due = self._delayed[0][0]
        if self._timer is not None:
            if self._timer_due <= due:
                return
            self._timer.cancel()
        self._timer_due = due
        self._timer = asyncio.get_running_loop().call_at(due, self._fire)

    def _fire(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._delayed and (self._delayed[0][2].dropped or self._delayed[0][0] <= now):
            _, _, entry = heapq.heappop(self._delayed)
            if entry.dropped:
                continue
            entry.due = None
            entry.order = self._next_order()  # last in its priority
            self._place(entry, now)
        self._set_timer()
