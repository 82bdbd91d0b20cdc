"""The request that a reconciler gets, and its possible results.

Reconciling is level-triggered: a request is only a key, and the reconciler changes the current
state into the desired state. If it raises an error, the key is retried with increasing delay. If it
raises `TerminalError`, the key is not retried. If it returns `Result(requeue_after=…)`, the key is
reconciled again after that time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import msgspec

from olmkit.runtime.durations import Duration, seconds


class Request(msgspec.Struct, frozen=True, gc=False):
    """The object to reconcile; `namespace` is empty for cluster-scoped kinds."""

    # Not a dataclass: as the key of caches and queues, it is hashed a dozen times in each
    # reconcile.

    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True, init=False)
class Result:
    """The result of a successful reconcile; `requeue_after`, in seconds, repeats it.

    An event before that time causes a reconcile at once, and then only the delay that this
    reconcile returns counts. To be called periodically, return the delay from every reconcile.
    """

    requeue_after: float
    priority: int | None

    def __init__(self, requeue_after: Duration = 0.0, priority: int | None = None) -> None:
        # An error here fails the reconcile; in the queue it would fail the controller.
        if not isinstance(priority, int | None):
            raise TypeError(f"`priority` must be an integer, not {priority!r}")
        delay = seconds(requeue_after, "requeue_after")
        if delay < 0:
            raise ValueError(
                f"`requeue_after` is {delay:g}, but must be positive; 0 means no delayed reconcile"
            )
        object.__setattr__(self, "requeue_after", delay)
        object.__setattr__(self, "priority", priority)


class TerminalError(Exception):
    """A retry would not help; the key waits for its next event.

    An error whose cause is terminal (`raise … from`) is also terminal, and so is a group of
    terminal errors.
    """


class Reconciler(Protocol):
    """Changes the current state of one object into the desired state; must be idempotent."""

    async def reconcile(self, request: Request) -> Result | None:
        """Compare the current state with the desired state, and change what differs."""


class BlockingReconciler(Protocol):
    """A reconciler with a plain function, which runs in a separate thread and may block."""

    def reconcile(self, request: Request) -> Result | None:
        """Compare the current state with the desired state, and change what differs."""
