from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.runtime.work.workqueue import (
    BucketLimiter,
    CappedLimiter,
    ExponentialLimiter,
    FastSlowLimiter,
    SlowestLimiter,
    WorkQueue,
)
from olmkit.testing import clock


async def _take(queue: WorkQueue[str], count: int) -> list[tuple[str, int]]:
    taken = []
    for _ in range(count):
        item = await queue.get()
        assert item is not None
        taken.append(item)
    return taken


def _now() -> float:
    return asyncio.get_running_loop().time()


def test_first_in_is_first_out() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        for key in ("a", "b", "c"):
            queue.add(key)
        assert [key for key, _ in await _take(queue, 3)] == ["a", "b", "c"]

    clock.run(scenario())


def test_a_delayed_key_can_be_made_ready() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("later", after=600, priority=-100)
        queue.add("now")
        queue.hasten()
        queue.hasten()
        assert await _take(queue, 2) == [("now", 0), ("later", -100)]
        assert len(queue) == 0

    clock.run(scenario())


def test_a_key_waits_once_however_often_it_is_added() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        queue.add("a")
        queue.add("a")
        assert len(queue) == 1

    clock.run(scenario())


def test_a_key_that_is_added_while_a_worker_has_it_is_returned_again_once() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        await queue.get()
        queue.add("a")
        queue.add("a")
        queue.add("b")
        assert (await queue.get()) == ("b", 0)
        waiting = asyncio.ensure_future(queue.get())
        await asyncio.sleep(1)
        assert not waiting.done()
        queue.done("a")
        assert (await waiting) == ("a", 0)
        queue.done("a")
        queue.done("b")
        assert len(queue) == 0

    clock.run(scenario())


def test_done_for_a_key_that_is_not_locked_has_no_effect() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.done("a")
        queue.add("a")
        queue.done("a")
        assert len(queue) == 1

    clock.run(scenario())


def test_a_higher_priority_is_served_first() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("low", priority=-100)
        queue.add("normal")
        queue.add("high", priority=5)
        assert await _take(queue, 3) == [("high", 5), ("normal", 0), ("low", -100)]

    clock.run(scenario())


def test_a_raised_priority_goes_to_the_end_of_its_level() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a", priority=-100)
        queue.add("b")
        queue.add("a")  # raises to 0, behind b
        queue.add("b", priority=-5)  # lower: changes nothing
        assert await _take(queue, 2) == [("b", 0), ("a", 0)]

    clock.run(scenario())


def test_an_equal_priority_keeps_the_position() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        queue.add("b")
        queue.add("a")
        assert [key for key, _ in await _take(queue, 2)] == ["a", "b"]

    clock.run(scenario())


def test_a_delayed_key_is_returned_when_it_is_due_and_does_not_count_before() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        start = _now()
        queue.add("a", after=600)
        assert len(queue) == 0
        assert (await queue.get()) == ("a", 0)
        assert _now() - start == pytest.approx(600)

    clock.run(scenario())


@pytest.mark.parametrize(
    ("first", "second", "due"), [(60, 30, 30), (30, 60, 30), (60, 0, 0), (60, -1, 0)]
)
def test_the_earlier_time_takes_precedence(first: float, second: float, due: float) -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        start = _now()
        queue.add("a", after=first)
        queue.add("a", after=second)
        await queue.get()
        assert _now() - start == pytest.approx(due)
        queue.done("a")
        rest = asyncio.ensure_future(queue.get())
        await asyncio.sleep(1000)
        assert not rest.done(), "the timer is removed with the entry"
        rest.cancel()

    clock.run(scenario())


def test_a_timer_for_a_ready_key_is_ignored() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        queue.add("a", after=60)
        await queue.get()
        queue.done("a")
        rest = asyncio.ensure_future(queue.get())
        await asyncio.sleep(1000)
        assert not rest.done()
        rest.cancel()

    clock.run(scenario())


def test_adding_again_while_processing_takes_precedence_over_the_delay_of_the_worker() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        await queue.get()
        queue.add("a")
        queue.add("a", after=60)
        queue.done("a")
        start = _now()
        await queue.get()
        assert _now() == start
        queue.done("a")
        rest = asyncio.ensure_future(queue.get())
        await asyncio.sleep(1000)
        assert not rest.done()
        rest.cancel()

    clock.run(scenario())


def test_a_raised_priority_keeps_the_delay() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        start = _now()
        queue.add("a", after=60)
        queue.add("a", after=90, priority=7)
        assert (await queue.get()) == ("a", 7)
        assert _now() - start == pytest.approx(60)

    clock.run(scenario())


def test_a_key_that_becomes_due_goes_to_the_end_of_its_level() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("late", after=10)
        await asyncio.sleep(5)
        queue.add("early")
        await asyncio.sleep(20)
        assert [key for key, _ in await _take(queue, 2)] == ["early", "late"]

    clock.run(scenario())


def test_the_exponential_limiter_doubles_delays() -> None:
    limiter = ExponentialLimiter()
    delays = [limiter.when("k") for _ in range(20)]
    assert delays[:8] == pytest.approx([0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64])
    assert delays[17] == pytest.approx(655.36)
    assert delays[18:] == [1000.0, 1000.0]
    assert sum(delays[:18]) / 60 == pytest.approx(21.8, abs=0.1)
    assert limiter.num_requeues("k") == 20
    limiter.forget("k")
    assert limiter.num_requeues("k") == 0
    assert limiter.when("k") == 0.005


def test_ten_thousand_failures_do_not_overflow() -> None:
    limiter = ExponentialLimiter()
    assert {limiter.when("k") for _ in range(10_000)} >= {1000.0}


def test_a_bucket_lets_a_burst_through_and_then_its_rate() -> None:
    async def scenario() -> None:
        limiter = BucketLimiter(rate=10, burst=3)
        assert [limiter.when("k") for _ in range(5)] == pytest.approx([0, 0, 0, 0.1, 0.2])
        await asyncio.sleep(10)
        assert limiter.when("k") == 0

    clock.run(scenario())


def test_the_slowest_of_several_limiters_decides() -> None:
    async def scenario() -> None:
        limiter = SlowestLimiter(ExponentialLimiter(), BucketLimiter(rate=1, burst=1))
        assert limiter.when("k") == pytest.approx(0.005)
        assert limiter.when("k") == pytest.approx(1.0)
        assert limiter.num_requeues("k") == 2

    clock.run(scenario())


def test_the_smaller_of_a_delay_and_the_limiters_applies() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        start = _now()
        queue.add("a", after=60, rate_limited=True)
        await queue.get()
        assert _now() - start == pytest.approx(0.005)

    clock.run(scenario())


def test_a_shutdown_drops_waiting_keys_and_wakes_the_workers() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        waiting = asyncio.ensure_future(queue.get())
        await asyncio.sleep(0)
        queue.add("later", after=60)
        queue.shut_down()
        queue.add("b")
        assert (await waiting) is None
        assert (await queue.get()) is None
        assert len(queue) == 0
        await queue.drained()

    clock.run(scenario())


def test_draining_returns_ready_keys_and_waits_for_the_workers() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("a")
        queue.add("b")
        queue.add("later", after=60)
        await queue.get()
        queue.shut_down(drain=True)
        drained = asyncio.ensure_future(queue.drained())
        assert (await queue.get()) == ("b", 0)
        queue.add("a")
        queue.done("a")
        await asyncio.sleep(1)
        assert not drained.done()
        queue.done("b")
        await drained
        assert (await queue.get()) is None

    clock.run(scenario())


def test_a_cancelled_worker_passes_its_wake_up_on() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        first = asyncio.ensure_future(queue.get())
        second = asyncio.ensure_future(queue.get())
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
        assert (await asyncio.wait_for(second, 60)) == ("a", 0)

    clock.run(scenario())


@pytest.mark.property
@settings(max_examples=60, deadline=None)
@given(st.integers(min_value=0, max_value=2**32))
def test_no_key_is_lost_and_none_is_with_two_workers(seed: int) -> None:
    async def scenario() -> None:
        chance = random.Random(seed)
        queue: WorkQueue[int] = WorkQueue()
        version: Counter[int] = Counter()  # how often a key was changed
        seen: dict[int, int] = {}  # which version its last pass saw
        active: set[int] = set()

        async def worker() -> None:
            while (item := await queue.get()) is not None:
                key, _ = item
                assert key not in active
                active.add(key)
                seen[key] = version[key]
                await asyncio.sleep(chance.choice([0, 0.001, 0.5]))
                active.discard(key)
                if chance.random() < 0.2:
                    queue.add(key, rate_limited=True)
                else:
                    queue.forget(key)
                queue.done(key)

        workers = [asyncio.ensure_future(worker()) for _ in range(chance.randint(1, 4))]
        for _ in range(100):
            key = chance.randint(0, 9)
            version[key] += 1
            queue.add(
                key,
                after=chance.choice([0, 0, 0, 0.1, 3]),
                priority=chance.choice([None, None, -100, 5]),
            )
            if chance.random() < 0.5:
                await asyncio.sleep(chance.choice([0, 0.01, 1]))
        await asyncio.sleep(10_000)
        assert seen == version
        assert len(queue) == 0
        queue.shut_down()
        await asyncio.gather(*workers)

    clock.run(scenario())


def test_fast_delays_come_before_the_slow_one() -> None:
    limiter = FastSlowLimiter(0.1, 60, 3)
    assert [limiter.when("k") for _ in range(5)] == [0.1, 0.1, 0.1, 60, 60]
    assert limiter.num_requeues("k") == 5
    limiter.forget("k")
    assert limiter.when("k") == 0.1


def test_a_maximum_applies_to_another_limiter() -> None:
    limiter = CappedLimiter(ExponentialLimiter(), 0.03)
    assert [limiter.when("k") for _ in range(4)] == [0.005, 0.01, 0.02, 0.03]
    assert limiter.num_requeues("k") == 4
    limiter.forget("k")
    assert limiter.num_requeues("k") == 0


def test_superseded_timers_need_no_memory() -> None:
    async def scenario() -> None:
        queue: WorkQueue[int] = WorkQueue()
        for _ in range(100):
            for key in range(50):
                queue.add(key, after=36_000)
                queue.add(key)
                assert await queue.get() is not None
                queue.done(key)
        assert len(queue._delayed) < 1000  # noqa: SLF001 - nothing else shows it
        queue.add(1, after=5)
        assert await queue.get() == (1, 0)

    clock.run(scenario())


class _Model:
    """The rules of the queue in their simplest form."""

    def __init__(self) -> None:
        self.waiting: dict[str, tuple[int, float | None, int]] = {}  # priority, due, order
        self.locked: set[str] = set()
        self.order = 0

    def add(self, key: str, due: float | None, priority: int) -> None:
        self.order += 1
        if key not in self.waiting:
            self.waiting[key] = (priority, due, self.order)
            return
        old_priority, old_due, order = self.waiting[key]
        sooner = old_due is not None and (due is None or due < old_due)
        if priority > old_priority or (sooner and due is None):
            order = self.order
        self.waiting[key] = (max(priority, old_priority), due if sooner else old_due, order)

    def pass_time(self, now: float) -> None:
        due = [(one[1], one[2], key) for key, one in self.waiting.items() if one[1] is not None]
        for when, _, key in sorted(due):
            if when <= now:
                self.order += 1
                self.waiting[key] = (self.waiting[key][0], None, self.order)

    def next(self) -> str | None:
        ready = [
            (-priority, order, key)
            for key, (priority, due, order) in self.waiting.items()
            if due is None and key not in self.locked
        ]
        return min(ready)[2] if ready else None


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(
            st.just("add"),
            st.sampled_from("abcd"),
            st.sampled_from([0.0, 1.0, 5.0, 60.0]),
            st.sampled_from([-100, 0, 5]),
        ),
        st.tuples(st.just("get")),
        st.tuples(st.just("done"), st.sampled_from("abcd")),
        st.tuples(st.just("sleep"), st.sampled_from([0.5, 3.0, 30.0])),
    ),
    max_size=40,
)


@pytest.mark.property
@settings(max_examples=150, deadline=None)
@given(OPERATIONS)
def test_the_queue_follows_its_rules(operations: list[tuple[Any, ...]]) -> None:
    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        queue: WorkQueue[str] = WorkQueue()
        model = _Model()
        for operation in operations:
            match operation:
                case ("add", key, after, priority):
                    queue.add(key, after=after, priority=priority)
                    model.add(key, loop.time() + after if after else None, priority)
                case ("get",):
                    expected = model.next()
                    if expected is None:
                        continue
                    found = await queue.get()
                    assert found == (expected, model.waiting[expected][0])
                    del model.waiting[expected]
                    model.locked.add(expected)
                case ("done", key):
                    queue.done(key)
                    model.locked.discard(key)
                case (_, seconds):
                    await asyncio.sleep(seconds)
                    model.pass_time(loop.time())
            assert len(queue) == sum(due is None for _, due, _ in model.waiting.values())
            assert queue.working().keys() == model.locked

    clock.run(scenario())
