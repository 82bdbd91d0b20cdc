"""Durations in the form of Go's `time.ParseDuration`: `1m30s`, `250ms`, `0`."""

from __future__ import annotations

import re

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0}
_UNITS |= {"m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_LIMIT = (1 << 63) / 1e9  # seconds; Go counts nanoseconds in 64 bits


def parse(text: str) -> float:
    """Parse to seconds; raises `ValueError` if Go does not accept the duration."""
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0.0
    found, end = 0.0, 0
    while end < len(rest) and (part := _PART.match(rest, end)):
        found += float(part[1]) * _UNITS[part[2]]
        end = part.end()
    if not rest or end != len(rest) or found >= _LIMIT:
        raise ValueError(f"`{text:.80}` is not a duration such as `1m30s`")
    return -found if text.startswith("-") else found
