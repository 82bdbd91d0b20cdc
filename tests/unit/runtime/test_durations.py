"""Lengths of time as authors write them."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from olmkit.runtime import durations


def test_number_and_timedelta_are_seconds() -> None:
    assert durations.seconds(5, "x") == 5
    assert durations.seconds(datetime.timedelta(milliseconds=1500), "x") == 1.5


@pytest.mark.parametrize(
    ("value", "error"),
    [(True, TypeError), ("5", TypeError), (float("nan"), ValueError), (float("inf"), ValueError)],
)
def test_what_is_not_a_length_of_time_names_its_setting(value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="`grace` is a"):
        durations.seconds(value, "grace")
