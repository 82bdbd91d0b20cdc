from __future__ import annotations

from olmkit.base import findings
from olmkit.catalog.bundles.findings import refusal


def test_a_refusal_has_the_message_of_the_first_error_and_has_all_of_them() -> None:
    note = findings.create("FBC901", "left out")
    faults = [findings.create("FBC900", "no csv", hint="add it"), findings.create("FBC904", "more")]

    error = refusal(faults, [note])

    assert (error.message, error.hint) == ("no csv", "add it")
    assert list(error.diagnostics) == [note, *faults]
