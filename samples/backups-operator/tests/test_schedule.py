"""Times of schedules, without a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from backups_operator.schedule import Due, InvalidSchedule, Schedule, due

NIGHTLY = Schedule.parse("0 3 * * *", "UTC")
HOUR = timedelta(hours=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_nothing_is_due_before_the_first_time() -> None:
    found = due(NIGHTLY, since=at("2026-03-01T04:00"), now=at("2026-03-02T02:59"), deadline=HOUR)
    assert found == Due(start=None, missed=None, next=at("2026-03-02T03:00"))


def test_a_backup_is_due_at_its_exact_second() -> None:
    found = due(NIGHTLY, since=at("2026-03-01T04:00"), now=at("2026-03-02T03:00"), deadline=HOUR)
    assert found.start == at("2026-03-02T03:00")
    assert found.next == at("2026-03-03T03:00")


def test_a_started_backup_is_not_due_again() -> None:
    found = due(NIGHTLY, since=at("2026-03-02T03:00"), now=at("2026-03-02T03:01"), deadline=HOUR)
    assert found.start is None
    assert found.missed is None


def test_of_many_missed_times_the_newest_counts() -> None:
    found = due(NIGHTLY, since=at("2025-01-01T00:00"), now=at("2026-03-02T03:10"), deadline=HOUR)
    assert found.start == at("2026-03-02T03:00")


def test_a_time_before_the_deadline_is_missed() -> None:
    found = due(NIGHTLY, since=at("2026-03-01T04:00"), now=at("2026-03-02T05:00"), deadline=HOUR)
    assert found == Due(start=None, missed=at("2026-03-02T03:00"), next=at("2026-03-03T03:00"))


def test_the_time_zone_and_its_summer_time_count() -> None:
    berlin = Schedule.parse("30 12 * * *", "Europe/Berlin")
    assert berlin.next_after(at("2026-01-10T00:00")) == at("2026-01-10T11:30")
    assert berlin.next_after(at("2026-07-10T00:00")) == at("2026-07-10T10:30")


@pytest.mark.parametrize(
    ("expression", "zone", "message"),
    [
        ("0 3 * *", "UTC", "does not have five fields"),
        ("0 0 3 * * *", "UTC", "does not have five fields"),
        ("61 3 * * *", "UTC", "Bad minute"),
        ("0 3 31 2 *", "UTC", "Bad day-of-month"),
        ("0 3 * * *", "Mars/Olympus", "unknown time zone"),
        ("0 3 * * *", "../etc", "unknown time zone"),
        ("0 3 * * *", "Europe", "unknown time zone"),
    ],
)
def test_an_invalid_schedule_is_refused(expression: str, zone: str, message: str) -> None:
    with pytest.raises(InvalidSchedule, match=message):
        Schedule.parse(expression, zone)
