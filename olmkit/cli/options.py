"""Options that go together: several are put onto a command at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Run = Callable[..., Any]


def add(run: Run, options: Sequence[Callable[[Run], Run]]) -> Run:
    """`run` with the options; the help shows them in the given order."""
    for option in reversed(options):
        run = option(run)
    return run
