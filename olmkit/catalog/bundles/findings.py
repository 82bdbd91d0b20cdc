"""The error of a bundle that cannot be rendered.

A part that a catalog cannot contain is a finding (`FBC900` and later, in `olmkit.base.findings`).
"""

from __future__ import annotations

from collections.abc import Sequence

from olmkit.base.diagnostics import Diagnostic, InputError


def refusal(faults: Sequence[Diagnostic], notes: Sequence[Diagnostic] = ()) -> InputError:
    """Return the error for a bundle that cannot be rendered, with the warnings so far."""
    return InputError(faults[0].message, faults[0].hint, (*notes, *faults))
