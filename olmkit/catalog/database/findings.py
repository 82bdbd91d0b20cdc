"""The findings of converting an index database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from olmkit.base.diagnostics import Diagnostic, InputError, Location, Severity

UNREADABLE: Final = "FBC920"
LEFT_OUT: Final = "FBC921"
ICON: Final = "FBC922"

KINDS: Final[Mapping[str, tuple[str, Severity]]] = {
    UNREADABLE: ("unreadable-index-database", Severity.ERROR),
    LEFT_OUT: ("bundle-left-out", Severity.INFO),
    ICON: ("icon-left-out", Severity.WARNING),
}


def found(code: str, message: str, *, path: str, subject: str = "", hint: str = "") -> Diagnostic:
    """Return one finding about the database in the file `path`."""
    name, severity = KINDS[code]
    at = Location(path=path)
    return Diagnostic(
        rule=code,
        name=name,
        severity=severity,
        message=message,
        at=at,
        subject=subject,
        hint=hint,
    )


def refusal(message: str, *, path: str, subject: str = "", hint: str = "") -> InputError:
    """Return the error for a database that no catalog can be made of."""
    return InputError.of(found(UNREADABLE, message, path=path, subject=subject, hint=hint))
