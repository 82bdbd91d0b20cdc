"""Findings of generating."""

from __future__ import annotations

from olmkit.base.diagnostics import Location, Severity
from olmkit.bundle.generation import findings


def test_a_finding_has_the_name_and_weight_of_its_kind() -> None:
    found = findings.found("PRJ103", "words", at=Location(path="a"))
    assert (found.name, found.severity) == ("kind-replaced-by-olm", Severity.INFO)


def test_a_refusal_carries_its_place() -> None:
    error = findings.refusal("words", at=Location(path="a"), hint="fix")
    assert error.diagnostics[0].severity is Severity.ERROR
    assert (error.message, error.hint) == ("words", "fix")
