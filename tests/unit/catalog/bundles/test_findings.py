from __future__ import annotations

from olmkit.base.diagnostics import Location, Severity
from olmkit.catalog.bundles import findings


def test_a_finding_has_the_name_and_the_weight_of_its_code() -> None:
    found = findings.found("FBC901", "left out", at=Location(path="a"))

    assert (found.name, found.severity) == ("file-left-out", Severity.WARNING)


def test_a_refusal_says_the_first_fault_and_carries_all() -> None:
    note = findings.found("FBC901", "left out")
    faults = [findings.found("FBC900", "no csv", hint="add it"), findings.found("FBC904", "more")]

    error = findings.refusal(faults, [note])

    assert (error.message, error.hint) == ("no csv", "add it")
    assert list(error.diagnostics) == [note, *faults]
