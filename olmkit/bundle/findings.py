"""What generating a bundle has to say.

Generation never drops or changes something of the author's in silence: each
such act is one of these findings. They are not rules, since they are about what was
done and not about what exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from olmkit.base.diagnostics import Diagnostic, InputError, Location, Severity


class Kind(NamedTuple):
    """A finding's name and weight."""

    name: str
    severity: Severity


KINDS: Mapping[str, Kind] = {
    "PRJ101": Kind("unusable-input", Severity.ERROR),
    "PRJ102": Kind("kind-left-out", Severity.WARNING),
    "PRJ103": Kind("kind-replaced-by-olm", Severity.INFO),
    "PRJ104": Kind("document-left-out", Severity.WARNING),
    "PRJ105": Kind("default-base", Severity.WARNING),
    "PRJ106": Kind("base-entry-replaced", Severity.WARNING),
    "PRJ107": Kind("webhook-field-lost", Severity.WARNING),
    "PRJ108": Kind("webhook-without-target", Severity.WARNING),
    "PRJ109": Kind("aggregated-role", Severity.WARNING),
    "PRJ110": Kind("dangling-binding", Severity.WARNING),
    "PRJ111": Kind("same-name-twice", Severity.WARNING),
    "PRJ112": Kind("field-without-place", Severity.WARNING),
    "PRJ113": Kind("unnamed-related-image", Severity.WARNING),
    "PRJ114": Kind("sample-without-api", Severity.WARNING),
    "PRJ115": Kind("unknown-service-account", Severity.WARNING),
    "PRJ116": Kind("no-deployment", Severity.WARNING),
    "PRJ117": Kind("changed-stale-file", Severity.WARNING),
    "PRJ118": Kind("account-without-rules", Severity.WARNING),
    "PRJ119": Kind("cert-manager-annotation", Severity.WARNING),
}


def found(
    code: str, message: str, *, at: Location | None = None, hint: str = "", subject: str = ""
) -> Diagnostic:
    name, severity = KINDS[code]
    return Diagnostic(
        rule=code,
        name=name,
        severity=severity,
        message=message,
        at=at,
        hint=hint,
        subject=subject,
    )


def refusal(message: str, *, at: Location | None = None, hint: str = "") -> InputError:
    """The error for input from which no bundle can be made."""
    diagnostic = found("PRJ101", message, at=at, hint=hint)
    return InputError(message, hint, (diagnostic,))
