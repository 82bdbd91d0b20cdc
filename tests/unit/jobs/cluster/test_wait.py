"""Waits: the behavior at the time limit."""

from __future__ import annotations

import asyncio

import pytest

from olmkit.jobs.cluster import wait
from olmkit.jobs.cluster.wait import Timeouts
from olmkit.olm.explain.explanation import Explanation, Readiness

READY = Explanation(readiness=Readiness.READY, cause="healthy", message="it is healthy")
APPROVAL = Explanation(
    readiness=Readiness.BLOCKED, cause="needs-approval", message="it waits for approval"
)
UNPACKING = Explanation(
    readiness=Readiness.WAITING, cause="unpacking", message="the bundle is unpacked"
)


def run(*states: Explanation, acts: bool, timeouts: Timeouts) -> tuple[Explanation, list[str]]:
    """Return the result, and the states that were acted on; the last state stays."""
    left = list(states)
    acted: list[str] = []

    async def look() -> Explanation:
        return left.pop(0) if len(left) > 1 else left[0]

    async def act(_: Explanation, explanation: Explanation) -> bool:
        acted.append(explanation.cause)
        return acts and wait.is_approval(explanation)

    found = wait.wait_for_state(
        look, lambda one: one, report=wait.silent, act=act, timeouts=timeouts
    )
    return asyncio.run(found), acted


def test_a_state_that_changed_at_the_time_limit_is_read_again() -> None:
    found, acted = run(
        APPROVAL, UNPACKING, acts=True, timeouts=Timeouts(seconds=0, given=90, interval=0)
    )

    assert (found.readiness, found.message) == (
        Readiness.WAITING,
        "the bundle is unpacked (after 90 s)",
    )
    assert acted == ["needs-approval", "unpacking"]


def test_a_change_without_effect_does_not_extend_the_time_limit() -> None:
    found, acted = run(APPROVAL, acts=True, timeouts=Timeouts(seconds=0, interval=0))

    assert (found.readiness, found.message) == (
        Readiness.STUCK,
        "it waits for approval (after 0 s)",
    )
    assert acted == ["needs-approval"] * 2


@pytest.mark.parametrize("state", [APPROVAL, UNPACKING])
def test_without_a_change_the_time_limit_ends_the_wait(state: Explanation) -> None:
    found, acted = run(state, READY, acts=False, timeouts=Timeouts(seconds=0, interval=0))

    assert found.message == f"{state.message} (after 0 s)"
    assert acted == [state.cause]


def test_the_rest_of_a_time_limit_keeps_the_whole() -> None:
    async def rests() -> tuple[Timeouts, Timeouts]:
        now = asyncio.get_running_loop().time()
        first = Timeouts(seconds=60).rest(now + 10)
        return first, first.rest(now - 5)

    first, late = asyncio.run(rests())

    assert 9 < first.seconds <= 10
    assert (first.total, late.seconds, late.total) == (60, 0, 60)
