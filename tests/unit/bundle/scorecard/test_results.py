"""The results in a test's output."""

from __future__ import annotations

import json

import pytest

from olmkit.bundle.scorecard import results
from olmkit.bundle.scorecard.results import ScorecardResult


def test_a_report_is_read_as_in_go() -> None:
    log = json.dumps(
        {
            "RESULTS": [
                {"name": "a", "state": "pass", "log": "l", "creationTimestamp": None, "more": 1},
                {"state": "Pass", "errors": ["e"], "suggestions": None},
            ]
        }
    )
    assert results.parse(log) == (
        ScorecardResult(name="a", state="pass", log="l"),
        ScorecardResult(state="Pass", errors=("e",)),
    )


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", "is not JSON: line 1, column 1"),
        ("starting\n{}", "is not JSON"),
        ('{"results": []} more', "is not JSON"),
        ("[]", "the report is not an object"),
        ('{"results": {}}', "`results` is not a list"),
        ('{"results": ["a"]}', "a result is not an object"),
        ('{"results": [{"errors": "a"}]}', "errors is not a list"),
        ('{"results": [{"errors": [1]}]}', "`errors` is not a string"),
        ("[" * 100_000, "is not"),
    ],
)
def test_output_that_is_not_a_report_is_a_failure_and_is_shown(log: str, words: str) -> None:
    [found] = results.parse(log)
    assert found.state == "fail"
    assert words in found.errors[0]
    assert found.log == log


@pytest.mark.parametrize("log", ["{}", "null", '{"results": null}', '{"results": []}'])
def test_a_report_without_results_does_not_pass(log: str) -> None:
    assert results.parse(log) == (
        ScorecardResult(state="error", errors=("the test reported no results",)),
    )
