"""The table of findings that are not rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from olmkit.base import findings
from olmkit.base.diagnostics import Location, Severity


def test_a_finding_has_the_name_and_the_severity_of_its_code() -> None:
    found = findings.create("PRJ103", "a message", at=Location(path="a"), hint="a hint")
    assert (found.rule, found.name, found.severity) == (
        "PRJ103",
        "kind-replaced-by-olm",
        Severity.INFO,
    )
    assert (found.message, found.at, found.hint) == ("a message", Location(path="a"), "a hint")


def test_an_unknown_code_cannot_be_reported() -> None:
    with pytest.raises(KeyError):
        findings.create("PRJ999", "a message")


def test_an_error_begins_with_the_place_and_has_its_finding() -> None:
    error = findings.error("FBC910", "a message", at=Location(path="a", line=2), hint="a hint")
    assert (error.message, error.hint) == ("a:2: a message", "a hint")
    assert [one.rule for one in error.diagnostics] == ["FBC910"]


@pytest.mark.parametrize("code", findings.CODES)
def test_a_code_has_a_unique_name_and_a_description(code: str) -> None:
    one = findings.CODES[code]
    assert one.code == code
    assert one.doc.endswith(".")
    assert one.source
    same = [other.code for other in findings.CODES.values() if other.name == one.name]
    assert same == [code] or one.name in ("wrong-type",)


def test_the_page_of_configuration_files_has_the_severities_of_the_codes(root: Path) -> None:
    page = (root / "docs/reference/configuration-files.md").read_text()
    named = re.findall(r"(error|warning) `([A-Z]{3}[0-9]{3})`", page)
    assert len(named) > 10
    assert [(str(findings.CODES[code].severity), code) for _, code in named] == named
