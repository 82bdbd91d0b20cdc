"""The codes of findings about templates, and the error of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from olmkit.base.diagnostics import Diagnostic, InputError

FORM: Final = "FBC910"
ENTRY: Final = "FBC911"
IMAGE: Final = "FBC912"
ORDER: Final = "FBC913"
SUBSTITUTION: Final = "FBC914"


def refuse_all(faults: Sequence[Diagnostic]) -> None:
    """Raise `InputError` with all findings, if there are any."""
    if faults:
        raise InputError(faults[0].message, faults[0].hint, tuple(faults))
