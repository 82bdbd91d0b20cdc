"""Durations in the API of the runtime: seconds as a number, or a `timedelta`."""

from __future__ import annotations

import math
from datetime import timedelta

Duration = float | timedelta
"""Seconds as a number, or a `timedelta`."""


def seconds(value: Duration, what: str) -> float:
    """Return the duration in seconds; `what` names the setting in errors.

    Raises `TypeError` for a value that is not a duration, and `ValueError` for NaN and infinity.
    """
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"`{what}` must be a number of seconds or a `timedelta`, not {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"`{what}` must be a finite number of seconds, not {value!r}")
    return value
