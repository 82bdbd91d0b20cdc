"""The optional validators of operator-sdk 1.42.3, one selector at a time.

A selector runs the default rules and those of its suites. The multi-platform vectors were
recorded with a container engine that has the platforms of an image in its tag.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from olmkit.base.diagnostics import ConfigurationError, Diagnostic, OlmkitError, Severity
from olmkit.bundle import layout
from olmkit.bundle.model import Bundle
from olmkit.edges import disk
from olmkit.jobs.bundle import facts as facts_of
from olmkit.rules import engine
from olmkit.rules.engine import DEFAULT_SUITE, SOUND_SUITE, Facts
from olmkit.rules.publishing import multiarch
from tests.conformance.bundle_validate.answers import DIFFERENCES, unanswered
from tests.conformance.bundle_validate.vectors import Vector, read

SUITES: dict[str, tuple[str, ...]] = {
    "operatorframework": (
        "operatorhub",
        "capabilities",
        "categories",
        "removed-apis",
        "good-practices",
    ),
    "operatorhub": ("operatorhub", "capabilities", "categories", "removed-apis"),
    "operatorhubv2": ("operatorhub", "removed-apis"),
    "alpha-deprecated-apis": ("removed-apis",),
    "deprecated": ("removed-apis",),
    "k8s": ("removed-apis",),
    "categories-file": ("categories",),
    "community-index": ("community",),
}
_VERSION = re.compile(r"(operatorframework|k8s|deprecated)-(.*)")


class Answer(NamedTuple):
    """The findings for one selector: those of its rules, and other refused or lost ones."""

    alone: tuple[Diagnostic, ...]
    whole: tuple[Diagnostic, ...]

    @property
    def fails(self) -> bool:
        return any(found.severity is Severity.ERROR for found in self.alone)


def _answer(bundle: Bundle, selector: str, facts: Facts) -> Answer:
    versioned = _VERSION.fullmatch(selector)
    name = versioned[1] if versioned else selector
    name = "multiarch" if name.startswith("multiarch") else name
    if versioned:
        facts = facts._replace(kube_version=facts_of.kube_version(versioned[2]))
    suites = {DEFAULT_SUITE, *SUITES.get(name, (name,))}
    alone = [rule for rule in engine.rules() if rule.suites & suites]
    whole = [rule for rule in engine.rules() if rule.suites & (suites | {SOUND_SUITE})]
    return Answer(engine.run(bundle, alone, facts=facts), engine.run(bundle, whole, facts=facts))


def _facts(bundle: Bundle, selector: str) -> Facts:
    """Return the input of the reference for a selector; `ConfigurationError` if it is invalid."""
    if selector == "categories-file":
        return Facts(categories=frozenset({"Gardening", "Weaving"}))
    if selector == "community-index":
        if "bundle.Dockerfile" not in bundle.tree:
            raise ConfigurationError("there is no such file")
        return Facts(containerfile=bundle.tree.data("bundle.Dockerfile"))
    if selector == "multiarch-bad-tool":
        facts_of.optional_values(("container-tools=nerdctl",))
    if selector.startswith("multiarch"):
        without = selector == "multiarch-no-tool"
        images = multiarch.image_references(bundle)
        return Facts(platforms={image: () if without else _platforms(image) for image in images})
    return Facts()


def _platforms(image: str) -> tuple[str, ...]:
    tag, *platforms = image.rpartition(":")[2].split("--")
    if tag == "absent":
        return ()
    named = tuple(word.replace("-", "/") for word in platforms if not word.startswith("unknown"))
    return named or ("linux/amd64",)


class Comparison(NamedTuple):
    """A vector, a selector, the findings of the reference and of olmkit (None: values refused)."""

    vector: Vector
    selector: str
    theirs: dict[str, Any]
    ours: Answer | None


@pytest.fixture(scope="module")
def comparisons(vectors: Path) -> list[Comparison]:
    return [
        Comparison(vector, selector, theirs, _of_vector(vector, selector))
        for vector in read(vectors).values()
        for selector, theirs in vector.answers.items()
        if selector != "default"
    ]


def _of_vector(vector: Vector, selector: str) -> Answer | None:
    if vector.bundle is None:
        return None
    try:
        return _answer(vector.bundle, selector, _facts(vector.bundle, selector))
    except ConfigurationError:
        return None


def _inspected(vector: Vector, selector: str) -> bool:
    return selector != "multiarch-no-tool" and vector.case != "multiarch-absent-image"


def _expected(case: str, selector: str) -> str | None:
    entry = DIFFERENCES["optional"].get(case)
    if entry and re.fullmatch(entry["selectors"], selector):
        return str(entry["ours"])
    entry = DIFFERENCES["verdict"].get(case)
    return str(entry["ours"]) if entry else None


def test_every_selector_has_the_result_of_the_reference_for_every_vector(
    comparisons: list[Comparison],
) -> None:
    different = []
    needed: set[str] = set()
    for vector, selector, theirs, ours in comparisons:
        verdict = "fail" if ours is None or ours.fails else "pass"
        wanted = "fail" if theirs["exit"] else "pass"
        if verdict != wanted:
            needed.add(vector.case)
        if verdict not in (wanted, _expected(vector.case, selector)):
            different.append((vector.case, selector, verdict))

    assert len(comparisons) == 4766
    assert different == []
    assert set(DIFFERENCES["optional"]) <= needed


def test_every_finding_of_every_selector_has_a_counterpart(
    comparisons: list[Comparison],
) -> None:
    excused = {*DIFFERENCES["verdict"], *DIFFERENCES["unsaid"], *DIFFERENCES["silent"]}
    missing = [
        (vector.case, selector, words)
        for vector, selector, theirs, ours in comparisons
        if ours is not None and vector.case not in excused
        if _expected(vector.case, selector) is None
        for words in unanswered(theirs, ours.whole, inspected=_inspected(vector, selector))
    ]

    assert missing == []


@pytest.mark.parametrize(
    "selector",
    [
        "community",
        "deprecated-1.25",
        "deprecated-1.32",
        "good-practices",
        "multiarch",
        "operatorframework",
        "operatorframework-1.22",
        "operatorframework-1.26",
        "operatorhub",
    ],
)
def test_every_finding_about_a_published_bundle_has_a_counterpart(
    cases: Path, selector: str
) -> None:
    lines = (cases / f"expected/bundle-validate/{selector}.jsonl").read_text().splitlines()
    missing = []
    different = []
    for answer in map(json.loads, lines):
        bundle = _published(cases / answer["case"], answer["case"])
        if bundle is None:
            continue
        images = multiarch.image_references(bundle)
        facts = Facts(platforms=dict.fromkeys(images, ())) if selector == "multiarch" else Facts()
        ours = _answer(bundle, selector, facts)
        if ours.fails != (answer["exit"] != 0):
            errors = {found.rule for found in ours.alone if found.severity is Severity.ERROR}
            different.append((answer["case"], frozenset(errors)))
        missing += [
            (answer["case"], words) for words in unanswered(answer, ours.whole, inspected=False)
        ]

    assert len(lines) == 76
    assert missing == []
    # Icons that are not base64: operator-sdk does not check them, and the pipelines refuse them.
    assert all(errors == {"HUB011"} for _, errors in different), different
    assert len(different) == (4 if selector.startswith("operator") else 0)


@cache
def _published(folder: Path, shown: str) -> Bundle | None:
    try:
        return layout.read(disk.read_tree(folder), shown)
    except OlmkitError:
        return None


def _correct_severity(right: str) -> str:
    for severity in ("error", "warning"):
        if f"; right: {severity}" in right:
            return severity
    return ""


def test_if_an_optional_validator_is_silent_olmkit_reports_the_correct_finding(
    comparisons: list[Comparison],
) -> None:
    found: dict[str, set[Severity]] = defaultdict(set)
    for vector, _, _, ours in comparisons:
        if vector.section.startswith("5.6") and _correct_severity(vector.right):
            found[vector.case] |= {finding.severity for finding in ours.whole} if ours else set()
    vectors = {vector.case: vector for vector, *_ in comparisons}
    silent = [
        case
        for case, severities in found.items()
        if not {Severity(_correct_severity(vectors[case].right)), Severity.ERROR} & severities
    ]

    assert len(found) == 14
    assert silent == []
