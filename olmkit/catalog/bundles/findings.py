"""The findings of rendering a bundle.

These are not rules, since they are not about what exists but about what a catalog
would make of it: a part that is left out is a warning, a bundle that no catalog
can hold is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from olmkit.base.diagnostics import Diagnostic, InputError, Location, Severity
from olmkit.bundle.generation.findings import FindingKind

KINDS: Mapping[str, FindingKind] = {
    "FBC900": FindingKind("unrenderable-bundle", Severity.ERROR),
    "FBC901": FindingKind("file-left-out", Severity.WARNING),
    "FBC902": FindingKind("second-csv", Severity.WARNING),
    "FBC903": FindingKind("missing-owned-crd", Severity.ERROR),
    "FBC904": FindingKind("wrong-type", Severity.ERROR),
    "FBC905": FindingKind("unreadable-properties", Severity.WARNING),
    "FBC906": FindingKind("unreadable-property", Severity.ERROR),
    "FBC907": FindingKind("image-without-registry", Severity.WARNING),
    "FBC908": FindingKind("bundle-in-no-channel", Severity.WARNING),
}


def found(code: str, message: str, *, at: Location | None = None, hint: str = "") -> Diagnostic:
    name, severity = KINDS[code]
    return Diagnostic(rule=code, name=name, severity=severity, message=message, at=at, hint=hint)


def refusal(faults: Sequence[Diagnostic], notes: Sequence[Diagnostic] = ()) -> InputError:
    """Return the error for a bundle that cannot be rendered, with what was noticed on the way."""
    return InputError(faults[0].message, faults[0].hint, (*notes, *faults))
