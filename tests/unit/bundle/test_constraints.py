"""Values of `olm.constraint`: what OLM refuses, at any depth."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.bundle import constraints
from olmkit.bundle.constraints import ConstraintStage

GVK = {"group": "a.example.org", "version": "v1", "kind": "A"}
PACKAGE = {"packageName": "a", "versionRange": ">=1.0.0"}


def test_a_valid_constraint_has_no_problems_and_case_of_keys_is_ignored() -> None:
    value = {
        "FailureMessage": "m",
        "ALL": {"Constraints": [{"GVK": GVK}, {"not": {"constraints": [{"package": PACKAGE}]}}]},
        "cel": None,
    }

    found = constraints.read(value)

    assert found.problems == ()
    assert found.value == {
        "failureMessage": "m",
        "all": {"constraints": [{"gvk": GVK}, {"not": {"constraints": [{"package": PACKAGE}]}}]},
    }


@pytest.mark.parametrize(
    ("value", "keys", "message", "stage"),
    [
        ({}, (), "the constraint is empty", ConstraintStage.CONVERT),
        ({"gvk": None}, (), "the constraint is empty", ConstraintStage.CONVERT),
        ([], (), "a constraint must be a mapping", ConstraintStage.PARSE),
        ({"gvk": "A"}, ("gvk",), "`gvk` must be a mapping", ConstraintStage.PARSE),
        ({"gkv": GVK}, ("gkv",), 'unknown field "gkv"', ConstraintStage.PARSE),
        (
            {"gvk": {**GVK, "plural": "as"}},
            ("gvk", "plural"),
            "unknown field",
            ConstraintStage.PARSE,
        ),
        (
            {"gvk": {**GVK, "version": 1}},
            ("gvk", "version"),
            "`version` must be a string",
            ConstraintStage.PARSE,
        ),
        (
            {"gvk": {**GVK, "kind": ""}},
            ("gvk", "kind"),
            "`kind` of `gvk` is missing",
            ConstraintStage.SENSE,
        ),
        (
            {"package": {"versionRange": "1.x"}},
            ("package", "packageName"),
            "missing",
            ConstraintStage.SENSE,
        ),
        (
            {"package": {**PACKAGE, "versionRange": "one"}},
            ("package", "versionRange"),
            "not a version range",
            ConstraintStage.CONVERT,
        ),
        (
            {"package": {"packageName": "a"}},
            ("package", "versionRange"),
            "range",
            ConstraintStage.CONVERT,
        ),
        ({"cel": {}}, ("cel", "rule"), "`rule` of `cel` is missing", ConstraintStage.CONVERT),
        ({"any": {}}, ("any",), "no bundle meets it", ConstraintStage.SENSE),
        (
            {"all": {"constraints": []}},
            ("all",),
            "every bundle of the catalog",
            ConstraintStage.SENSE,
        ),
        (
            {"not": {"constraints": {}}},
            ("not", "constraints"),
            "must be a list",
            ConstraintStage.PARSE,
        ),
        (
            {"package": PACKAGE, "gvk": GVK},
            (),
            "exactly one of `gvk`, `package`",
            ConstraintStage.SENSE,
        ),
    ],
)
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_problems_have_their_place_at_any_depth(
    value: Any, keys: tuple[Any, ...], message: str, stage: ConstraintStage, depth: int
) -> None:
    for _ in range(depth):
        value = {"all": {"constraints": [{"gvk": GVK}, value]}}

    problems = constraints.read(value).problems

    (found,) = [one for one in problems if message in one.message]
    assert found.keys == ("all", "constraints", 1) * depth + keys
    assert found.stage == stage


def test_a_constraint_above_the_limit_of_olm_is_not_read() -> None:
    value = {"cel": {"rule": "x" * constraints.MAX_SIZE}}

    (found,) = constraints.read(value).problems

    assert "larger than 131072 bytes" in found.message


def test_deep_nesting_is_a_problem() -> None:
    value: Any = {"gvk": GVK}
    for _ in range(300):
        value = {"all": {"constraints": [value]}}

    assert "nested more than 200 levels deep" in constraints.read(value).problems[0].message
