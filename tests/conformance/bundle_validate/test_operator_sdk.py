"""Validation of bundles compared with operator-sdk 1.42.3.

Published bundles have the same result, and each of its findings has a counterpart. Rule vectors,
one error each, also have the same result, or the correct one where operator-sdk is wrong.
`differences.toml` has every difference with its reason; one that is not there
fails, and so does an entry that is no longer a difference. `meanings.toml` names
the rules of olmkit for each of its messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import Diagnostic, OlmkitError, Severity
from olmkit.bundle import layout
from olmkit.bundle.model import Bundle
from olmkit.edges import disk
from olmkit.rules import engine
from tests.conformance.bundle_validate.answers import DIFFERENCES, unanswered
from tests.conformance.bundle_validate.vectors import Vector, read

Found = dict[str, tuple[Diagnostic, ...] | None]

# Sections of the specification whose rules are in separate suites: see `test_optional.py`.
_LATER = re.compile(r"5\.6|5\.7|^6\.1")


@cache
def _found(folder: Path, shown: str) -> tuple[Diagnostic, ...] | None:
    """Return all findings about a published bundle, or `None` if there is no bundle."""
    try:
        return _findings_of(layout.read(disk.read_tree(folder), shown))
    except OlmkitError:
        return None


def _findings_of(bundle: Bundle | None) -> tuple[Diagnostic, ...] | None:
    if bundle is None:
        return None
    return engine.run(bundle, engine.choose(engine.profile("default")))


@pytest.fixture(scope="module")
def cases_of_rules(vectors: Path) -> dict[str, Vector]:
    return read(vectors)


@pytest.fixture(scope="module")
def found(cases_of_rules: dict[str, Vector]) -> Found:
    return {case: _findings_of(vector.bundle) for case, vector in cases_of_rules.items()}


@cache
def _codes(profile: str) -> frozenset[str]:
    return frozenset(rule.code for rule in engine.choose(engine.profile(profile)))


def _fails(found: Sequence[Diagnostic] | None, profile: str) -> bool:
    return found is None or any(
        ours.severity is Severity.ERROR and ours.rule in _codes(profile) for ours in found
    )


@pytest.fixture(scope="module")
def published(cases: Path) -> list[dict[str, Any]]:
    lines = (cases / "expected/bundle-validate/default.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("profile", ["operator-sdk", "default"])
def test_every_published_bundle_has_the_result_of_the_reference(
    cases: Path, published: list[dict[str, Any]], profile: str
) -> None:
    different = [
        answer["case"]
        for answer in published
        if _fails(_found(cases / answer["case"], answer["case"]), profile) == (answer["exit"] == 0)
    ]

    assert len(published) == 76
    assert sum(answer["exit"] != 0 for answer in published) == 11
    assert different == []


def test_every_finding_about_a_published_bundle_has_a_counterpart(
    cases: Path, published: list[dict[str, Any]]
) -> None:
    missing = [
        (answer["case"], words)
        for answer in published
        for words in unanswered(answer, _found(cases / answer["case"], answer["case"]) or ())
    ]

    assert missing == []


def test_every_vector_has_the_result_of_the_reference(
    cases_of_rules: dict[str, Vector], found: Found
) -> None:
    different = {}
    for case, vector in cases_of_rules.items():
        failed = _fails(found[case], "operator-sdk")
        if failed != (vector.answers["default"]["exit"] != 0):
            different[case] = "fail" if failed else "pass"

    assert len(cases_of_rules) == 757
    assert different == {case: entry["ours"] for case, entry in DIFFERENCES["verdict"].items()}


def test_no_rule_stops_with_an_internal_error(cases_of_rules: dict[str, Vector]) -> None:
    for case, vector in cases_of_rules.items():
        if vector.bundle is not None:
            assert not engine.has_crashed(engine.run(vector.bundle, engine.rules())), case


def test_every_finding_about_a_vector_has_a_counterpart(
    cases_of_rules: dict[str, Vector], found: Found
) -> None:
    missing = {}
    for case, vector in cases_of_rules.items():
        ours = found[case]
        if ours is not None and case not in DIFFERENCES["verdict"]:
            missing[case] = list(unanswered(vector.answers["default"], ours))

    assert sorted(case for case, words in missing.items() if words) == sorted(DIFFERENCES["unsaid"])


def _correct_severities(vectors: Mapping[str, Vector]) -> dict[str, str]:
    """Return case → the correct severity if the reference is silent or wrong."""
    advice = {}
    for case, vector in vectors.items():
        if _LATER.search(vector.section) or case.startswith(("multiarch-", "hub-")):
            continue
        if "; right: error" in vector.right:
            advice[case] = "error"
        elif "; right: warning" in vector.right:
            advice[case] = "warning"
        elif "; right: the API server refuses it" in vector.right:
            advice[case] = "error"
    return advice


def test_if_the_reference_is_silent_olmkit_reports_the_correct_finding(
    cases_of_rules: dict[str, Vector], found: Found
) -> None:
    advice = _correct_severities(cases_of_rules)
    different = {}
    for case, wanted in advice.items():
        listed = found[case]
        severities = {ours.severity for ours in listed} if listed is not None else {Severity.ERROR}
        ours = next((str(weight) for weight in Severity if weight in severities), "nothing")
        if ours != wanted:
            different[case] = ours

    assert len(advice) > 100
    assert different == {case: entry["ours"] for case, entry in DIFFERENCES["advice"].items()}


def test_every_difference_has_a_reason() -> None:
    for section in DIFFERENCES.values():
        for entry in section if isinstance(section, list) else section.values():
            assert len(entry["why"]) > 20, entry
