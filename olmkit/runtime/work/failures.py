"""The errors of a reconcile: which of them are final, and which are not about its object."""

from __future__ import annotations

from olmkit.kube.api import ClusterError
from olmkit.runtime.work.reconcile import TerminalError

# Errors that would panic in Go: bugs in the program.
FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RecursionError,
    TypeError,
)


def message_of(error: Exception) -> str:
    """Return the message of an error; never raise, since the key must be retried."""
    try:
        return str(error)
    except Exception:
        return type(error).__name__


def is_unanswered(error: BaseException) -> bool:
    """Return whether the error, or a whole group, comes from unresponsive webhooks."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_unanswered(one) for one in error.exceptions)
    if isinstance(error, ClusterError):
        return error.temporary and error.is_of_webhook
    return error.__cause__ is not None and is_unanswered(error.__cause__)


def is_terminal(error: BaseException) -> bool:
    """Return whether the error or its explicit cause is a `TerminalError`.

    In a group, all errors must be terminal, since the others need a retry. An error raised while a
    terminal error was handled is not terminal.
    """
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        if isinstance(found, TerminalError):
            return True
        if isinstance(found, BaseExceptionGroup):
            return all(is_terminal(one) for one in found.exceptions)
        seen.add(id(found))
        found = found.__cause__
    return False
