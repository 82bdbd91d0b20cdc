"""operator-sdk's selectors of optional validators, as suites of rules."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.rules import engine, optional_validators

FRAMEWORK = {"operatorhub", "removed-apis", "capabilities", "categories", "good-practices"}


@pytest.mark.parametrize(
    ("selector", "suites"),
    [
        ("name=community", {"community"}),
        ("name==community", {"community"}),
        ("suite=operatorframework", FRAMEWORK),
        ("suite", FRAMEWORK),
        ("!suite, name!=operatorhub", {"community", "multiarch"}),
        ("name in (capabilities, categories)", {"capabilities", "categories"}),
        ("suite=operatorframework,name notin (operatorhubv2)", FRAMEWORK - {"operatorhub"}),
        ("name=operatorhub", FRAMEWORK - {"good-practices"}),
    ],
)
def test_a_selector_selects_suites(selector: str, suites: set[str]) -> None:
    assert optional_validators.suites(selector) == suites


@pytest.mark.parametrize("selector", ["name=other", "suite in (", "=", "name=a b"])
def test_a_selector_that_matches_nothing_is_refused(selector: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        optional_validators.suites(selector)

    assert caught.value.hint


def test_every_suite_has_rules() -> None:
    known = {suite for rule in engine.rules() for suite in rule.suites}

    for suites, _ in optional_validators.VALIDATORS.values():
        assert suites <= known
