"""Lengths of time as authors write them: seconds as a number, or a `timedelta`."""

from __future__ import annotations

import math
from datetime import timedelta

Duration = float | timedelta
"""Seconds as a number, or a `timedelta`."""


def seconds(value: Duration, what: str) -> float:
    """The number of seconds; `what` names the setting in the error.

    Raises `TypeError` for what is not a length of time, and `ValueError` for nan and infinity.
    """
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"`{what}` is a number of seconds or a `timedelta`, not {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"`{what}` is a finite number of seconds, not {value!r}")
    return value
