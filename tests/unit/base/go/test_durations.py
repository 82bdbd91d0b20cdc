"""Durations as Go reads them."""

from __future__ import annotations

import pytest

from olmkit.base.go import durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("1m30s", 90), ("1.5h", 5400), ("-2s", -2), ("+2s", 2), (".5s", 0.5), ("1us", 1e-6)],
)
def test_durations_that_go_accepts_are_read(text: str, seconds: float) -> None:
    assert durations.parse(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "s", "1d", "1s ", "1 s", "--1s", "9999999999h", "٣s"])
def test_durations_that_go_refuses_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        durations.parse(text)
