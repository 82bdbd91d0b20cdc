"""A failure is not retried at once."""

from __future__ import annotations

from olmkit.hybrid.helm.failures import FIRST, LONGEST, Failures


def test_delays_grow_and_another_input_is_tried_at_once() -> None:
    now = 100.0
    failures = Failures(lambda: now)
    assert failures.pause("u", "a") == 0
    assert failures.note("u", "a") == FIRST
    assert failures.pause("u", "a") == FIRST
    assert failures.pause("u", "b") == 0
    assert failures.pause("v", "a") == 0
    now += FIRST
    assert failures.pause("u", "a") == 0
    assert [failures.note("u", "a") for _ in range(12)][-1] == LONGEST
    assert failures.note("u", "b") == FIRST
    failures.forget("u")
    assert failures.pause("u", "b") == 0
