from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError, Location, Severity
from olmkit.rules import engine
from olmkit.rules.engine import Finding, Rule


def _rule(code: str, *findings: Finding, error: Exception | None = None) -> Rule:
    def check(subject: Any) -> Iterator[Finding]:  # noqa: ARG001 - a rule's signature
        """Report a finding."""
        yield from findings
        if error is not None:
            raise error

    return Rule(
        code=code,
        name=code.lower(),
        severity=Severity.ERROR,
        suite="default",
        subject="bundle",
        check=check,
        wants_facts=False,
    )


def test_the_engine_adds_code_name_and_severity_to_findings() -> None:
    (found,) = engine.run(None, [_rule("TST001", Finding("a"))])

    assert (found.rule, found.name, found.severity) == ("TST001", "tst001", Severity.ERROR)
    assert found.docs == "docs/reference/rules/tst.md#tst001"


def test_findings_are_sorted_by_place_and_reported_once() -> None:
    low = Finding("low", at=Location(path="a", line=9, column=1))
    high = Finding("high", at=Location(path="a", line=2, column=1))

    found = engine.run(None, [_rule("TST001", low, high, low)])

    assert [finding.message for finding in found] == ["high", "low"]


def test_findings_of_one_rule_are_limited_and_the_rest_is_counted() -> None:
    many = [Finding(f"{number:05}") for number in range(engine.MAX_FINDINGS + 2)]

    found = engine.run(None, [_rule("TST001", *many), _rule("TST002", Finding("b"))])

    assert len(found) == engine.MAX_FINDINGS + 2
    (rest,) = [one for one in found if "more findings" in one.message]
    assert (rest.rule, rest.severity) == ("TST001", Severity.ERROR)


def test_a_rule_that_crashes_is_a_finding_about_olmkit_and_hides_no_other() -> None:
    rules = [_rule("TST001", Finding("a"), error=KeyError("x")), _rule("TST002", Finding("b"))]

    found = engine.run(None, rules)

    assert engine.has_crashed(found)
    assert {finding.rule for finding in found} == {"TST001", "TST002", engine.CRASH}
    crash = next(finding for finding in found if finding.rule == engine.CRASH)
    assert "rule `TST001` stopped with KeyError" in crash.message


def test_the_severity_of_a_profile_takes_precedence_over_rule_and_finding() -> None:
    rule = _rule("TST001", Finding("a", severity=Severity.INFO))

    (found,) = engine.run(None, [rule], severities={"TST001": Severity.WARNING})

    assert found.severity is Severity.WARNING


@pytest.mark.parametrize("words", [["CSV012"], ["csv012"], ["repeated-install-mode"]])
def test_rules_are_selected_by_code_and_by_name(words: list[str]) -> None:
    chosen = engine.choose(engine.profile("default"), select=words)

    assert [rule.code for rule in chosen] == ["CSV012"]


def test_rules_are_selected_by_family_and_ignored_by_code() -> None:
    chosen = engine.choose(engine.profile("default"), select=["CRD"], ignore=["CRD001"])

    codes = [rule.code for rule in chosen]
    assert codes[0] == "CRD002"
    assert {code[:3] for code in codes} == {"CRD"}


def test_a_profile_selects_suites() -> None:
    reference = engine.choose(engine.profile("operator-sdk"))
    default = engine.choose(engine.profile("default"))

    assert {rule.suite for rule in reference} == {"default"}
    assert {rule.suite for rule in default} == {"default", "sound"}


def test_publishing_profiles_are_stricter_and_spare_published_bundles() -> None:
    assert engine.profile("default").severities == {}
    assert engine.profile("community").severities["CSV048"] is Severity.ERROR


def test_an_unknown_rule_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigurationError) as caught:
        engine.choose(engine.profile("default"), ignore=["repeated-install-modes"])

    assert caught.value.message == "there is no rule `repeated-install-modes`"
    assert caught.value.hint == "did you mean `repeated-install-mode`"


def test_a_family_for_another_kind_of_input_can_be_named() -> None:
    assert engine.choose(engine.profile("default"), select=["GRF"]) == ()


def test_a_rule_in_two_suites_runs_with_either() -> None:
    hub = {rule.code for rule in engine.choose(engine.profile("default"), select=["operatorhub"])}

    assert {"HUB001", "CSV037"} <= hub


@pytest.mark.parametrize("name", list(engine.PROFILES))
def test_every_suite_of_a_profile_has_rules(name: str) -> None:
    profile = engine.profile(name)

    suites = {
        suite
        for subject in engine.MODULES
        for rule in engine.choose(profile, subject=subject)
        for suite in rule.suites
    }

    assert profile.suites <= suites


def test_every_suite_and_every_optional_module_is_used() -> None:
    of_profiles = {suite for profile in engine.PROFILES.values() for suite in profile.suites}

    of_rules = {
        suite
        for subject in engine.MODULES
        for rule in engine.rules(subject)
        for suite in rule.suites
    }
    optional = {suite for suites in engine.OPTIONAL_MODULES.values() for suite in suites}

    assert of_rules == of_profiles
    assert optional == {
        suite for suite in of_profiles - {"default", "sound"} if not suite.startswith("submission")
    }


def test_profiles_differ() -> None:
    codes = {
        name: frozenset(rule.code for rule in engine.choose(profile))
        for name, profile in engine.PROFILES.items()
    }

    assert len(set(codes.values())) == len(codes)


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="there is no profile `x`") as caught:
        engine.profile("x")

    assert "operatorhub" in caught.value.hint


def test_an_explanation_has_code_severity_and_documentation() -> None:
    words = engine.explain("CSV012")

    assert words.startswith("CSV012 repeated-install-mode (error, sound rules)\n\n")
    assert "Why: " in words
    assert "Fix: " in words


def test_two_rules_with_one_code_are_refused() -> None:
    with pytest.raises(ValueError, match="two rules have the code `CSV012`"):

        @engine.rule("CSV012", "other")
        def other(bundle: Any) -> Iterator[Finding]:  # noqa: ARG001 - a rule's signature
            yield from ()


def test_a_code_is_three_letters_and_three_digits() -> None:
    with pytest.raises(ValueError, match="is not a rule code"):
        engine.rule("X1", "other")
