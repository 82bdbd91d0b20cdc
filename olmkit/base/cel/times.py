"""CEL durations and timestamps, with nanosecond precision."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Final

_SECOND: Final = 10**9
_UNITS: Final = {
    "ns": 1,
    **dict.fromkeys(("us", "µs", "μs"), 10**3),
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_PART = r"([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(ns|us|µs|μs|ms|s|m|h)"
_DURATION = re.compile(rf"([+-]?)(0|(?:{_PART})+)")
_MOST: Final = 2**63 - 1
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:[.,]([0-9]+))?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})"
)
FIRST: Final = -62_135_596_800 * _SECOND
LAST: Final = 253_402_300_800 * _SECOND - 1


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A duration of at most 64 bits; raises `ValueError` if it is longer."""

    nanoseconds: int

    def __post_init__(self) -> None:
        if not -_MOST - 1 <= self.nanoseconds <= _MOST:
            raise ValueError("duration overflow")

    @staticmethod
    def parse(text: str) -> Duration:
        """Parse text such as `1h30m` or `-1.5s`; `ValueError` if it is invalid."""
        found = _DURATION.fullmatch(text)
        if found is None:
            raise ValueError(f"invalid duration `{text}`")
        total = sum(_nanoseconds(*part.groups()) for part in re.finditer(_PART, found[2]))
        return Duration(-total if found[1] == "-" else total)

    def part(self, unit: str) -> int:
        """Return the number of whole units in a duration, rounded towards zero."""
        size = _UNITS[unit]
        return abs(self.nanoseconds) // size * (-1 if self.nanoseconds < 0 else 1)

    def __str__(self) -> str:
        sign = "-" if self.nanoseconds < 0 else ""
        whole, rest = divmod(abs(self.nanoseconds), _SECOND)
        return sign + f"{whole}.{rest:09d}".rstrip("0").rstrip(".") + "s"


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A timestamp from year 1 to 9999, relative to 1970; raises `ValueError` beyond."""

    nanoseconds: int

    def __post_init__(self) -> None:
        if not FIRST <= self.nanoseconds <= LAST:
            raise ValueError("timestamp overflow")

    @staticmethod
    def parse(text: str) -> Timestamp:
        """Parse RFC 3339 text; `ValueError` if it is invalid."""
        found = _TIMESTAMP.fullmatch(text)
        if found is None:
            raise ValueError(f"invalid timestamp `{text}`")
        zone = "+00:00" if found[3] == "Z" else found[3]
        # The offset is computed manually, because the first and last days may be outside the years.
        moment = datetime.datetime.fromisoformat(found[1] + "+00:00")
        minutes = int(zone[1:3]) * 60 + int(zone[4:])
        seconds = _seconds(moment) - (-60 if zone[0] == "-" else 60) * minutes
        return Timestamp(seconds * _SECOND + int(f"{found[2] or ''}000000000"[:9]))

    @property
    def seconds(self) -> int:
        return self.nanoseconds // _SECOND

    @property
    def milliseconds(self) -> int:
        """Return the milliseconds within the second."""
        return self.nanoseconds % _SECOND // 10**6

    @property
    def moment(self) -> datetime.datetime:
        """Return the time in UTC, to the second."""
        return _EPOCH + datetime.timedelta(seconds=self.seconds)

    def __str__(self) -> str:
        fraction = f".{self.nanoseconds % _SECOND:09d}".rstrip("0").rstrip(".")
        return self.moment.strftime("%m-%dT%H:%M:%S").join(
            (f"{self.moment.year:04d}-", fraction + "Z")
        )


def _seconds(moment: datetime.datetime) -> int:
    since = moment - _EPOCH
    return since.days * 86_400 + since.seconds


def _nanoseconds(number: str, unit: str) -> int:
    whole, _, fraction = number.partition(".")
    size = _UNITS[unit]
    return int(whole or "0") * size + int(f"0{fraction}") * size // int(f"1{'0' * len(fraction)}")
