"""The findings of generating a bundle.

Generation never drops or changes something of the author's in silence: each
such act is one of these findings. They are not rules, since they are about what was
done and not about what exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from olmkit.base.diagnostics import Diagnostic, InputError, Location, Severity


class FindingKind(NamedTuple):
    """The name and severity of a finding; its code is the key of the table that holds it."""

    name: str
    severity: Severity


KINDS: Mapping[str, FindingKind] = {
    "PRJ101": FindingKind("unusable-input", Severity.ERROR),
    "PRJ102": FindingKind("kind-left-out", Severity.WARNING),
    "PRJ103": FindingKind("kind-replaced-by-olm", Severity.INFO),
    "PRJ104": FindingKind("document-left-out", Severity.WARNING),
    "PRJ105": FindingKind("default-base", Severity.WARNING),
    "PRJ106": FindingKind("base-entry-replaced", Severity.WARNING),
    "PRJ107": FindingKind("webhook-field-lost", Severity.WARNING),
    "PRJ108": FindingKind("webhook-without-target", Severity.WARNING),
    "PRJ109": FindingKind("aggregated-role", Severity.WARNING),
    "PRJ110": FindingKind("dangling-binding", Severity.WARNING),
    "PRJ111": FindingKind("same-name-twice", Severity.WARNING),
    "PRJ112": FindingKind("field-without-place", Severity.WARNING),
    "PRJ113": FindingKind("unnamed-related-image", Severity.WARNING),
    "PRJ114": FindingKind("sample-without-api", Severity.WARNING),
    "PRJ115": FindingKind("unknown-service-account", Severity.WARNING),
    "PRJ116": FindingKind("no-deployment", Severity.WARNING),
    "PRJ117": FindingKind("changed-stale-file", Severity.WARNING),
    "PRJ118": FindingKind("account-without-rules", Severity.WARNING),
    "PRJ119": FindingKind("cert-manager-annotation", Severity.WARNING),
}


def found(
    code: str, message: str, *, at: Location | None = None, hint: str = "", subject: str = ""
) -> Diagnostic:
    """Return a finding with the name and severity of its code, or raise `KeyError`."""
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
    """Return the error for input from which no bundle can be made."""
    diagnostic = found("PRJ101", message, at=at, hint=hint)
    return InputError(message, hint, (diagnostic,))
