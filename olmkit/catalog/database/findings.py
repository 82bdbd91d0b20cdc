"""The findings of converting an index database."""

from __future__ import annotations

from typing import Final

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic, InputError, Location

UNREADABLE: Final = "FBC920"
LEFT_OUT: Final = "FBC921"
ICON: Final = "FBC922"


def create(code: str, message: str, *, path: str, subject: str = "", hint: str = "") -> Diagnostic:
    """Return one finding about the database in the file `path`."""
    return findings.create(code, message, at=Location(path=path), subject=subject, hint=hint)


def refusal(message: str, *, path: str, subject: str = "", hint: str = "") -> InputError:
    """Return the error for a database that cannot be converted to a catalog."""
    return InputError.of(create(UNREADABLE, message, path=path, subject=subject, hint=hint))
