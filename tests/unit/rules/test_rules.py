"""Every rule: what breaks it, what it then says, and that it is documented."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmkit.base.diagnostics import Diagnostic
from olmkit.rules import engine

BREAKS: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "breaks.yaml").read_text()
)
PUBLISHING: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "publishing_breaks.yaml").read_text()
)
RULES = {rule.code: rule for rule in engine.rules()}
DEFAULT = {rule.code for rule in engine.choose(engine.profile("default"))}

Judge = Callable[[Mapping[str, Any]], tuple[Diagnostic, ...]]


def test_the_minimal_bundle_has_no_findings(judge: Judge) -> None:
    assert judge({}) == ()


def test_every_rule_has_a_fixture_that_breaks_it() -> None:
    assert sorted(BREAKS) == sorted(DEFAULT)
    assert sorted(PUBLISHING) == sorted(RULES.keys() - DEFAULT)


def test_the_publishable_bundle_has_a_note_only(judge_publication: Judge) -> None:
    assert [finding.rule for finding in judge_publication({})] == ["EXT011"]


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_finds_what_its_fixture_breaks(
    judge: Judge, judge_publication: Judge, code: str
) -> None:
    changes = BREAKS.get(code) or PUBLISHING[code]
    everything = judge(changes) if code in BREAKS else judge_publication(changes)

    found = [finding for finding in everything if finding.rule == code]

    assert [finding for finding in found if changes["says"] in finding.message], found
    for finding in found:
        assert finding.name == RULES[code].name
        assert finding.at is not None
        assert finding.at.path.startswith("kettle")
        assert "\n" not in finding.message
        assert not finding.message.endswith(".")
    if "line" in changes:
        assert changes["line"] in [finding.at.line for finding in found if finding.at]


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_is_documented(code: str) -> None:
    doc = RULES[code].doc

    sentence, why, fix = (part.strip() for part in re.split(r"\n\n(?=Why:|Fix:)", doc))

    assert sentence.endswith(".")
    assert why.startswith("Why: ")
    assert fix.startswith("Fix: ")


def test_codes_and_names_are_unique_and_families_known() -> None:
    names = [rule.name for rule in RULES.values()]

    assert len(set(names)) == len(names)
    assert {rule.family for rule in RULES.values()} <= set(engine.FAMILIES)


def test_nothing_crashes_on_any_fixture(judge: Judge, judge_publication: Judge) -> None:
    for code, changes in BREAKS.items():
        assert not engine.crashed(judge(changes)), code
        assert not engine.crashed(judge_publication(changes)), code
    for code, changes in PUBLISHING.items():
        assert not engine.crashed(judge_publication(changes)), code
