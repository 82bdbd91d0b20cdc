"""Times of a schedule: functions of values, without a clock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError


class InvalidSchedule(ValueError):
    """The schedule or the time zone cannot be read."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A cron expression in a time zone; all times are in UTC."""

    expression: str
    zone: ZoneInfo

    @classmethod
    def parse(cls, expression: str, time_zone: str) -> Schedule:
        """Raises `InvalidSchedule`."""
        try:
            made = cls(expression, ZoneInfo(time_zone))
        except (KeyError, ValueError, OSError) as error:  # not found, not a name, a directory
            raise InvalidSchedule(f"unknown time zone `{time_zone}`") from error
        if len(expression.split()) != 5:  # cronsim also reads six fields: seconds
            raise InvalidSchedule(f"`{expression}` does not have five fields")
        try:
            made.next_after(datetime(2000, 1, 1, tzinfo=UTC))
        except CronSimError as error:
            raise InvalidSchedule(f"`{expression}`: {error}") from error
        except StopIteration as error:
            raise InvalidSchedule(f"`{expression}` never comes") from error
        return made

    def next_after(self, moment: datetime) -> datetime:
        """Return the first time after `moment`."""
        found: datetime = next(CronSim(self.expression, moment.astimezone(self.zone)))
        return found.astimezone(UTC)

    def last_until(self, moment: datetime) -> datetime | None:
        """Return the last time that is not after `moment`, or None."""
        local = (moment + timedelta(seconds=1)).replace(microsecond=0).astimezone(self.zone)
        found: datetime | None = next(CronSim(self.expression, local, reverse=True), None)
        return found.astimezone(UTC) if found is not None else None


@dataclass(frozen=True, slots=True)
class Due:
    """What is due now: `start` is the time of a backup to start.

    `missed` is the newest time that was missed: a backup would be too late.
    """

    start: datetime | None
    missed: datetime | None
    next: datetime


def due(schedule: Schedule, *, since: datetime, now: datetime, deadline: timedelta) -> Due:
    """Return what is due, if all times until `since` are processed.

    If the operator missed several times, only the newest counts: its backup includes what the
    older ones would have saved.
    """
    following = schedule.next_after(now)
    last = schedule.last_until(now)
    if last is None or last <= since:
        return Due(start=None, missed=None, next=following)
    if now - last > deadline:
        return Due(start=None, missed=last, next=following)
    return Due(start=last, missed=None, next=following)
