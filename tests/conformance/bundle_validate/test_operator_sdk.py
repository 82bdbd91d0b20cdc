"""Bundles judged side by side with operator-sdk 1.42.3.

Published bundles get its verdict, each of its findings an answer. Rule vectors,
one fault each, get its verdict too, and where it errs, what would be right.
`differences.toml` holds every difference with its reason; one that is not there
fails, and so does an entry that is no difference any more. `meanings.toml` says
which of our rules answers which of its messages.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import Diagnostic, OlmkitError, Severity
from olmkit.bundle import layout
from olmkit.edges import disk
from olmkit.rules import engine

HERE = Path(__file__).parent
DIFFERENCES: dict[str, Any] = tomllib.loads((HERE / "differences.toml").read_text())
MEANINGS = [
    (re.compile(entry["pattern"], re.DOTALL), entry["rules"])
    for entry in tomllib.loads((HERE / "meanings.toml").read_text())["meaning"]
]
# Sections of the specification whose rules come in suites of their own.
_LATER = re.compile(r"5\.6|5\.7|^6\.1")
# operator-sdk joins what it finds about the annotations into one message.
_JOINED = "Bundle validation errors: "
_SPLIT = re.compile(
    r",(?=Missing annotation|Expecting annotation|Unable to locate|The directory |API |Package |"
    r"Invalid |Label |The CEL |couldn't parse)"
)


@cache
def _found(folder: Path, shown: str) -> tuple[Diagnostic, ...] | None:
    """All findings; `None` when there is no bundle."""
    try:
        bundle = layout.read(disk.read_tree(folder), shown)
    except OlmkitError:
        return None
    return engine.run(bundle, engine.choose(engine.profile("default")))


@cache
def _codes(profile: str) -> frozenset[str]:
    return frozenset(rule.code for rule in engine.choose(engine.profile(profile)))


def _fails(folder: Path, shown: str, profile: str) -> bool:
    found = _found(folder, shown)
    return found is None or any(
        ours.severity is Severity.ERROR and ours.rule in _codes(profile) for ours in found
    )


def _unanswered(answer: dict[str, Any], found: Sequence[Diagnostic]) -> Iterator[str]:
    """What the reference says and we do not."""
    said = [(output["type"], output["message"]) for output in answer["outputs"] or []]
    if answer["passed"] is None:
        said.append(("error", answer["stderr"]))
    for kind, message in said:
        _, joined, rest = message.partition(_JOINED)
        for part in _SPLIT.split(rest) if joined else (message,):
            rules, words = _meaning(part)
            if not any(
                ours.rule in rules
                and ours.severity is Severity(kind)
                and all(word in ours.message for word in words)
                for ours in found
            ):
                yield f"{answer['case']}: {kind}: {part[:200]}"


def _meaning(message: str) -> tuple[list[str], list[str]]:
    for pattern, rules in MEANINGS:
        match = pattern.search(message)
        if match is not None:
            return rules, [word for word in match.groups() if word]
    raise AssertionError(f"no rule is said to mean: {message[:200]}")


@pytest.fixture(scope="module")
def published(cases: Path) -> list[dict[str, Any]]:
    lines = (cases / "expected/bundle-validate/default.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize("profile", ["operator-sdk", "default"])
def test_every_published_bundle_gets_the_verdict_of_the_reference(
    cases: Path, published: list[dict[str, Any]], profile: str
) -> None:
    different = [
        answer["case"]
        for answer in published
        if _fails(cases / answer["case"], answer["case"], profile) == (answer["exit"] == 0)
    ]

    assert len(published) == 76
    assert sum(answer["exit"] != 0 for answer in published) == 11
    assert different == []


def test_every_finding_about_a_published_bundle_has_an_answer_of_the_same_meaning(
    cases: Path, published: list[dict[str, Any]]
) -> None:
    unanswered = [
        words
        for answer in published
        for words in _unanswered(answer, _found(cases / answer["case"], answer["case"]) or ())
    ]

    assert unanswered == []


@pytest.fixture(scope="module")
def answers(vectors: Path) -> list[dict[str, Any]]:
    lines = (vectors / "rules/bundles.jsonl").read_text().splitlines()
    return [found for found in map(json.loads, lines) if found["selector"] == "default"]


@pytest.fixture(scope="module")
def folder(vectors: Path) -> Path:
    return vectors / "rules" / "bundles"


def test_the_verdict_on_every_vector_is_that_of_the_reference(
    answers: list[dict[str, Any]], folder: Path
) -> None:
    different = {}
    for vector in answers:
        case = vector["case"]
        failed = _fails(folder / case, f"bundles/{case}", "operator-sdk")
        if failed != (vector["exit"] != 0):
            different[case] = "fail" if failed else "pass"

    assert len(answers) == 757
    assert different == {case: entry["ours"] for case, entry in DIFFERENCES["verdict"].items()}


def test_no_rule_stops_with_a_fault_of_ours(answers: list[dict[str, Any]], folder: Path) -> None:
    for vector in answers:
        found = _found(folder / vector["case"], f"bundles/{vector['case']}")
        assert not engine.crashed(found or ()), vector["case"]


def test_every_finding_about_a_vector_has_an_answer_of_the_same_meaning(
    answers: list[dict[str, Any]], folder: Path
) -> None:
    unanswered = {}
    for vector in answers:
        case = vector["case"]
        found = _found(folder / case, f"bundles/{case}")
        if found is not None and case not in DIFFERENCES["verdict"]:
            unanswered[case] = list(_unanswered(vector, found))

    assert [case for case, words in unanswered.items() if words] == list(DIFFERENCES["unsaid"])


def _advice(vectors: Path) -> dict[str, tuple[str, str]]:
    """Case → what would be right where the reference is silent or wrong, and the section."""
    advice = {}
    for line in (vectors / "rules/bundles.md").read_text().splitlines():
        match = re.match(r"\| (\S+) \| ([^|]*) \|.*\| ([^|]*) \|$", line)
        if match is None or match[1] == "case":
            continue
        case, section, verdict = match[1], match[2].strip(), match[3]
        if _LATER.search(section) or case.startswith(("multiarch-", "hub-")):
            continue
        if "; right: error" in verdict:
            advice[case] = ("error", section)
        elif "; right: warning" in verdict:
            advice[case] = ("warning", section)
        elif "; right: the API server refuses it" in verdict:
            advice[case] = ("error", section)
    return advice


def test_where_the_reference_is_silent_we_say_what_is_right(vectors: Path, folder: Path) -> None:
    advice = _advice(vectors)
    different = {}
    for case, (wanted, _) in advice.items():
        found = _found(folder / case, f"bundles/{case}")
        severities = {ours.severity for ours in found} if found is not None else {Severity.ERROR}
        ours = next((str(weight) for weight in Severity if weight in severities), "nothing")
        if ours != wanted:
            different[case] = ours

    assert len(advice) > 100
    assert different == {case: entry["ours"] for case, entry in DIFFERENCES["advice"].items()}


def test_every_difference_has_a_reason() -> None:
    for section in DIFFERENCES.values():
        for case, entry in section.items():
            assert len(entry["why"]) > 20, case
