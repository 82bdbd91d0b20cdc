"""Back-off for releases that failed with the same input.

A failing release runs hooks and creates objects each time. So the pause grows from 15 seconds to an
hour, regardless of events; a change of the spec is a new input, which is tried at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

FIRST = 15.0  # seconds
LONGEST = 3600.0


@dataclass(slots=True)
class _Failure:
    input: str
    pause: float
    until: float


@dataclass(slots=True)
class Failures:
    """Failures by the UID of the object; `clock` is monotonic, in seconds."""

    clock: Callable[[], float]
    _found: dict[str, _Failure] = field(default_factory=dict)

    def pause(self, uid: str, digest: str) -> float:
        """Return the seconds until this input may be retried; 0: now."""
        failure = self._found.get(uid)
        if failure is None or failure.input != digest:
            return 0.0
        return max(0.0, failure.until - self.clock())

    def note(self, uid: str, digest: str) -> float:
        """Record a failure; return the seconds until the next attempt."""
        last = self._found.get(uid)
        is_repeated = last is not None and last.input == digest
        pause = min(LONGEST, last.pause * 2) if last is not None and is_repeated else FIRST
        self._found[uid] = _Failure(digest, pause, self.clock() + pause)
        return pause

    def forget(self, uid: str) -> None:
        """Reset after a success, or if the object is gone."""
        self._found.pop(uid, None)
