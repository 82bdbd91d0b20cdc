"""Whether the event loop is blocked."""

from __future__ import annotations

import asyncio
import logging

import pytest

from olmkit.runtime.lag import LoopLag
from olmkit.runtime.manager import Manager
from olmkit.runtime.serve import probes
from olmkit.runtime.serve.probes import CheckFailed
from olmkit.testing import clock


def _loop() -> clock.ClockLoop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, clock.ClockLoop)
    return loop


def test_a_blocked_loop_is_reported_with_the_running_reconciles(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        lag = LoopLag(lambda: ["memcached n/a"])
        running = asyncio.create_task(lag.run())
        await asyncio.sleep(2)
        assert lag.seconds == 0
        assert lag.behind() == 0
        _loop().advance(3)  # as if a computation had taken three seconds
        assert lag.behind() > 2
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert lag.seconds > 2
        await asyncio.sleep(2)
        assert lag.behind() == 0
        running.cancel()

    with caplog.at_level(logging.WARNING):
        clock.run(scenario())
    [record] = caplog.records
    assert record.message == "the event loop was blocked"
    assert vars(record)["reconciles"] == ["memcached n/a"]


def test_the_check_fails_while_the_loop_is_far_behind() -> None:
    async def scenario() -> None:
        manager = Manager(None, name="tests")  # type: ignore[arg-type]
        check = probes.loop_keeps_up(manager, limit=5)
        await check()
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(2)
        await check()
        _loop().advance(10)
        with pytest.raises(CheckFailed, match="the event loop was blocked for"):
            await check()
        await asyncio.sleep(2)
        await check()
        manager.stop()
        await running

    clock.run(scenario())
