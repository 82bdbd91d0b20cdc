from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube import conditions
from olmkit.kube.conditions import condition, set_condition

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def _there(**other: Any) -> list[conditions.Condition]:
    return [condition("Available", "True", "Ready", "m") | {"lastTransitionTime": THEN} | other]


def test_a_new_condition_is_appended_with_the_time() -> None:
    found: list[conditions.Condition] = []
    assert set_condition(found, condition("Available", "True", "Ready"), now=NOW)
    assert found[0]["lastTransitionTime"] == NOW
    given = condition("Other", "True", "Ready") | {"lastTransitionTime": THEN}
    assert set_condition(found, given, now=NOW)
    assert found[1]["lastTransitionTime"] == THEN


def test_the_time_only_changes_with_the_status() -> None:
    found = _there()
    assert not set_condition(found, condition("Available", "True", "Ready", "m"), now=NOW)
    newer = condition("Available", "True", "Ready", "m") | {"lastTransitionTime": NOW}
    assert not set_condition(found, newer, now=NOW)
    assert found[0]["lastTransitionTime"] == THEN
    assert set_condition(found, condition("Available", "False", "Ready", "m"), now=NOW)
    assert found[0]["lastTransitionTime"] == NOW


@pytest.mark.parametrize(
    ("new", "field", "value"),
    [
        (condition("Available", "True", "Other", "m"), "reason", "Other"),
        (condition("Available", "True", "Ready", "n"), "message", "n"),
        (
            condition("Available", "True", "Ready", "m", observed_generation=3),
            "observedGeneration",
            3,
        ),
    ],
)
def test_each_other_field_is_overwritten_separately(
    new: conditions.Condition, field: str, value: Any
) -> None:
    found = _there()
    assert set_condition(found, new, now=NOW)
    assert found[0][field] == value
    assert found[0]["lastTransitionTime"] == THEN


def test_the_observed_generation_is_overwritten_even_with_zero() -> None:
    found = _there(observedGeneration=5)
    assert set_condition(found, condition("Available", "True", "Ready", "m"), now=NOW)
    assert found[0]["observedGeneration"] == 0


def test_an_absent_condition_is_neither_true_nor_false() -> None:
    assert not conditions.is_true([], "Available")
    assert not conditions.is_false([], "Available")
    assert conditions.is_true(_there(), "Available")
    assert conditions.is_false(_there(status="False"), "Available")


def test_removing_returns_whether_the_condition_existed() -> None:
    found = _there()
    assert conditions.remove_condition(found, "Available")
    assert not conditions.remove_condition(found, "Available")
    assert found == []


@pytest.mark.parametrize(
    ("type_", "status", "reason"),
    [
        ("", "True", "R"),
        ("A", "true", "R"),
        ("A", "True", ""),
        ("A", "True", "9"),
        ("A b", "True", "R"),
    ],
)
def test_a_condition_that_the_server_would_refuse_is_refused(
    type_: str, status: str, reason: str
) -> None:
    with pytest.raises(ValueError, match="condition"):
        condition(type_, status, reason)


def test_a_message_that_is_too_long_is_cut() -> None:
    assert len(condition("A", "True", "R", "x" * 40_000)["message"]) == 32768
