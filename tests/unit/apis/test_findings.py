"""Findings flow one way: separated findings have their own list, and none is removed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from olmkit.apis.findings import Findings
from olmkit.base.diagnostics import Diagnostic, Severity


def test_a_finding_has_the_severity_of_its_rule_and_is_kept_once() -> None:
    findings = Findings()
    findings.add("API004", "m", None)
    findings.add("API004", "m", None)
    findings.add("API004", "m", None, severity=Severity.ERROR)
    assert [one.severity for one in findings] == [Severity.WARNING, Severity.ERROR]


def test_separated_codes_go_to_another_list_and_the_rest_to_the_same() -> None:
    findings = Findings()
    others: list[Diagnostic] = []
    inner = findings.setting_apart({"API006"}, others)
    inner.add("API006", "of a type", None)
    inner.add("API006", "of a type", None)
    inner.add("API003", "of a marker", None)
    more: list[Diagnostic] = []
    inner.setting_apart({"API007"}, more).add("API006", "of another type", None)
    assert [one.rule for one in findings] == ["API003"]
    assert [one.message for one in others] == ["of a type", "of another type"]
    assert more == []


def _taken_back(text: str) -> list[str]:
    """Assignments to a list of findings, or to a part of it."""
    return [
        ast.unparse(target)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign | ast.Delete)
        for target in node.targets
        if "findings" in ast.unparse(target) and ".items" in ast.unparse(target)
    ]


def test_no_list_of_findings_is_truncated(root: Path) -> None:
    for path in [*(root / "olmkit/apis").rglob("*.py"), *(root / "olmkit/jobs").rglob("*.py")]:
        assert _taken_back(path.read_text()) == [], path


@pytest.mark.parametrize("line", ["self.findings.items[3:] = []", "del findings.items[2]"])
def test_a_truncation_is_detected(line: str) -> None:
    assert _taken_back(line)
