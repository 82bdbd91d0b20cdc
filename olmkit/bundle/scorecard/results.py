"""Parse the results of scorecard tests, a JSON object on standard output.

Source: `TestStatus` of `scorecard.operatorframework.io/v1alpha3`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from olmkit.base.json import syntax_errors
from olmkit.bundle.scorecard.configuration import ScorecardTest

PASS, FAIL, ERROR = "pass", "fail", "error"
STATES = (PASS, FAIL, ERROR)


class ScorecardResult(NamedTuple):
    """One verdict of a test. `state` is as the test wrote it, so it may not be in `STATES`."""

    name: str = ""
    state: str = PASS
    errors: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    log: str = ""
    created: str = ""


class ScorecardOutcome(NamedTuple):
    """A test with its results; none if it was only listed."""

    test: ScorecardTest
    results: tuple[ScorecardResult, ...] = ()

    @property
    def passed(self) -> bool:
        return all(result.state == PASS for result in self.results)


def failure(message: str, log: str = "") -> tuple[ScorecardResult, ...]:
    """Return the result of a test that could not run or did not report."""
    return (ScorecardResult(state=FAIL, errors=(message,), log=log),)


def parse(log: str) -> tuple[ScorecardResult, ...]:
    """Return the results in the log of a test; a failed result if the log is not a report.

    A report without results is an error: a test that checks nothing must not count as passed.
    """
    try:
        status = _of(json.loads(log), Mapping, "the report")
        found = tuple(_result(item) for item in _of(_get(status, "results"), list, "`results`"))
    except json.JSONDecodeError as error:
        error = syntax_errors.same_on_each_python(error)
        place = f"line {error.lineno}, column {error.colno}"
        return failure(f"the output of the test is not JSON: {place}: {error.msg}", log)
    except (ValueError, RecursionError) as error:
        return failure(f"the output of the test is not a report: {error}", log)
    return found or (ScorecardResult(state=ERROR, errors=("the test reported no results",)),)


def _result(item: Any) -> ScorecardResult:
    value = _of(item, Mapping, "a result")
    return ScorecardResult(
        name=_text(value, "name"),
        state=_text(value, "state"),
        errors=_texts(value, "errors"),
        suggestions=_texts(value, "suggestions"),
        log=_text(value, "log"),
        created=_text(value, "creationTimestamp"),
    )


def _text(holder: Mapping[str, Any], name: str) -> str:
    value = _get(holder, name)
    return str(_of("" if value is None else value, str, f"`{name}`"))


def _texts(holder: Mapping[str, Any], name: str) -> tuple[str, ...]:
    return tuple(str(_of(item, str, f"`{name}`")) for item in _of(_get(holder, name), list, name))


def _get(holder: Mapping[str, Any], name: str) -> Any:
    if name in holder:
        return holder[name]
    folded = name.casefold()
    return next((value for key, value in holder.items() if key.casefold() == folded), None)


def _of(value: Any, kind: type, what: str) -> Any:
    """Return the value, empty for null; raise `ValueError` if it has a different type."""
    if value is None:
        return {} if kind is Mapping else []
    if not isinstance(value, kind):
        expected = "a list" if kind is list else "a string" if kind is str else "an object"
        raise ValueError(f"{what} is not {expected}")
    return value
