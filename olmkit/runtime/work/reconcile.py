"""What a reconciler gets, and the three things it can say.

Reconciling is level-triggered: a request is a key and nothing else, and the
reconciler makes the present state so. Raise anything: the key comes back with
growing delay. Raise `TerminalError`: it does not come back by itself. Return
`Result(requeue_after=…)`: it comes back then. There is no fourth way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import msgspec

from olmkit.runtime.durations import Duration, seconds


class Request(msgspec.Struct, frozen=True, gc=False):
    """Which object to look at; `namespace` is empty for kinds that have none."""

    # No dataclass: as the key of every cache and queue it is hashed a dozen times a pass.

    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True, init=False)
class Result:
    """What to do after success: nothing, or look again after `requeue_after`, kept in seconds.

    A delay that is returned once is not a promise: an event in between makes the key run
    at once, and only the delay returned then counts. Who wants to be called
    periodically returns the delay on every pass.
    """

    requeue_after: float
    priority: int | None

    def __init__(self, requeue_after: Duration = 0.0, priority: int | None = None) -> None:
        # Here it is the reconcile that fails; in the queue it would be the controller.
        if not isinstance(priority, int | None):
            raise TypeError(f"`priority` is a whole number, not {priority!r}")
        delay = seconds(requeue_after, "requeue_after")
        if delay < 0:
            raise ValueError(
                f"`requeue_after` is {delay:g}, but a delay is positive; 0 means no delayed pass"
            )
        object.__setattr__(self, "requeue_after", delay)
        object.__setattr__(self, "priority", priority)


class TerminalError(Exception):
    """Trying again would not help; the key waits for its next event.

    It counts as the cause of another error too (`raise … from`), and in a group of errors
    when all of them are so.
    """


class Reconciler(Protocol):
    """Makes the state of one object so; safe to run again at any time."""

    async def reconcile(self, request: Request) -> Result | None:
        """Look at the present state and change what differs from the wanted one."""


class BlockingReconciler(Protocol):
    """The same as a plain function, which runs in a separate thread and may block."""

    def reconcile(self, request: Request) -> Result | None:
        """Look at the present state and change what differs from the wanted one."""
