"""CEL rules of `olm.constraint` against what OLM's own evaluation answers for them.

Each rule is read, checked, and evaluated over the properties of a candidate: it is
refused before use, has no value, or holds or not.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from olmkit.base import cel, cel_evaluation, cel_operators
from olmkit.base.cel_values import EvaluationError
from olmkit.base.versions import InvalidVersionError, Version

VARIABLES = {"properties": cel.list_of(cel.map_of(cel.STRING, cel.DYN))}
FUNCTIONS = {"semver_compare": (2, cel.INT)}


def _compare(left: Any, right: Any) -> int:
    try:
        one, other = (
            Version.parse_tolerantly(cel_operators.text_of(value)) for value in (left, right)
        )
    except InvalidVersionError as error:
        raise EvaluationError(error.reason) from None
    return int(other < one) - int(one < other)


def _answer(rule: str, properties: list[Any]) -> str:
    try:
        expr = cel.parse(rule)
        if cel.check(expr, VARIABLES, FUNCTIONS) != cel.BOOL:
            return "invalid"
    except cel.CelError:
        return "invalid"
    try:
        variables = {"properties": properties}
        value = cel_evaluation.evaluate(expr, variables, {"semver_compare": _compare})
    except EvaluationError:
        return "error"
    return "holds" if value is True else "does not hold"


def _expected(answer: dict[str, Any]) -> str:
    for way in ("invalid", "error"):
        if way in answer:
            return way
    return "holds" if answer["holds"] else "does not hold"


def test_rules_mean_what_the_reference_says(cases: Path) -> None:
    lines = (cases / "resolve" / "rules.jsonl").read_text("utf-8").splitlines()
    # The reference reads every number of a property as a double.
    vectors = [json.loads(line, parse_int=float) for line in lines]
    assert vectors

    different = {
        vector["rule"]: (answer, expected)
        for vector in vectors
        if (answer := _answer(vector["rule"], vector["properties"]))
        != (expected := _expected(vector["answer"]))
    }

    assert different == {}
