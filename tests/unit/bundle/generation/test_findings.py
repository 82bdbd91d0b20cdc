from __future__ import annotations

from olmkit.base.diagnostics import Location, Severity
from olmkit.bundle.generation.findings import refusal


def test_a_refusal_has_its_place() -> None:
    error = refusal("a message", at=Location(path="a"), hint="fix")
    (found,) = error.diagnostics
    assert (found.rule, found.severity) == ("PRJ101", Severity.ERROR)
    assert found.at == Location(path="a")
    assert (error.message, error.hint) == ("a message", "fix")
