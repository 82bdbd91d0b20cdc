"""Durations as authors write them."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import pytest

from olmkit.kube.objects import GVK
from olmkit.runtime import durations
from olmkit.runtime.lead.leader import ElectionSettings
from olmkit.runtime.watch.scope import CacheSettings, KindScope
from olmkit.runtime.work.workqueue import WorkQueue


def test_a_number_and_a_timedelta_are_seconds() -> None:
    assert durations.seconds(5, "x") == 5
    assert durations.seconds(datetime.timedelta(milliseconds=1500), "x") == 1.5


@pytest.mark.parametrize(
    ("value", "error"),
    [(True, TypeError), ("5", TypeError), (float("nan"), ValueError), (float("inf"), ValueError)],
)
def test_an_invalid_duration_names_its_setting(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="`grace` must be a"):
        durations.seconds(value, "grace")


def test_settings_accept_a_timedelta_and_keep_seconds() -> None:
    minute = datetime.timedelta(minutes=1)
    made = ElectionSettings(
        name="x",
        namespace="n",
        lease_duration=minute,
        renew_deadline=minute / 2,
        retry_period=datetime.timedelta(seconds=5),
    )
    assert (made.lease_duration, made.renew_deadline, made.retry_period) == (60, 30, 5)
    gvk = GVK("", "v1", "Pod")
    settings = CacheSettings(resync=minute, kinds={gvk: KindScope(resync=minute / 2)})
    assert settings.resync_of(gvk) == 30
    assert settings.resync_of(GVK("", "v1", "Node")) == 60
    with pytest.raises(ValueError, match="`resync` must be a finite number"):
        CacheSettings(resync=float("nan"))


def test_a_queue_accepts_a_timedelta() -> None:
    async def scenario() -> None:
        queue: WorkQueue[str] = WorkQueue()
        queue.add("later", after=datetime.timedelta(milliseconds=20))
        assert len(queue) == 0
        assert await asyncio.wait_for(queue.get(), 5) == ("later", 0)
        with pytest.raises(ValueError, match="`after` must be a finite number"):
            queue.add("x", after=float("nan"))

    asyncio.run(scenario())
