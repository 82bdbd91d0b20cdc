"""The interval at which catalogd polls an image, as minutes or as a duration."""

from __future__ import annotations

import pytest

from olmkit.cli import main

WORDS = ("catalog", "manifests", "quay.io/example/catalog:v1", "--name", "a", "--olm", "v1")


@pytest.mark.parametrize(("written", "minutes"), [("15", 15), ("15m", 15), ("1h30m", 90)])
def test_the_interval_is_a_number_of_minutes_or_a_duration(
    written: str, minutes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([*WORDS, "--poll", written]) == 0
    assert f"pollIntervalMinutes: {minutes}\n" in capsys.readouterr().out


@pytest.mark.parametrize("written", ["0", "90s", "often", "9999999"])
def test_another_interval_is_invalid_usage(
    written: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([*WORDS, "--poll", written]) == 2
    assert f"`{written}` is not a duration in whole minutes" in capsys.readouterr().err
