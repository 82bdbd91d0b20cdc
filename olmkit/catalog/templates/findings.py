"""The findings about templates, and their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from olmkit.base.diagnostics import Diagnostic, InputError, Location, Severity

FORM: Final = "FBC910"
ENTRY: Final = "FBC911"
IMAGE: Final = "FBC912"
ORDER: Final = "FBC913"
SUBSTITUTION: Final = "FBC914"

NAMES: Final[Mapping[str, str]] = {
    FORM: "malformed-template",
    ENTRY: "unusable-template-entry",
    IMAGE: "unusable-template-image",
    ORDER: "unorderable-bundles",
    SUBSTITUTION: "impossible-substitution",
}


def found(code: str, message: str, *, at: Location | None = None, hint: str = "") -> Diagnostic:
    """Return one finding; all of them stop the rendering."""
    return Diagnostic(
        rule=code,
        name=NAMES[code],
        severity=Severity.ERROR,
        message=message,
        at=at,
        hint=hint,
    )


def refusal(code: str, message: str, *, at: Location | None = None, hint: str = "") -> InputError:
    """Return the error of one finding."""
    return InputError.of(found(code, message, at=at, hint=hint))


def refuse_all(faults: Sequence[Diagnostic]) -> None:
    """Raise `InputError` with all findings, if there are any."""
    if faults:
        raise InputError(faults[0].message, faults[0].hint, tuple(faults))
