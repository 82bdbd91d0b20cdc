"""The error of a bundle that cannot be generated.

Generation never silently drops or changes the author's data: each such change is a finding
(`PRJ101` and later, in `olmkit.base.findings`).
"""

from __future__ import annotations

from olmkit.base import findings
from olmkit.base.diagnostics import InputError, Location


def refusal(message: str, *, at: Location | None = None, hint: str = "") -> InputError:
    """Return the error for input from which no bundle can be generated."""
    diagnostic = findings.create("PRJ101", message, at=at, hint=hint)
    return InputError(message, hint, (diagnostic,))
