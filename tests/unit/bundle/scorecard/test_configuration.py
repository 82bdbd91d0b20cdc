"""The scorecard's configuration: read as in operator-sdk, wrong types with a place."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.bundle.scorecard import configuration
from olmkit.bundle.scorecard.configuration import Configuration, ScorecardTest, Stage
from olmkit.kube.labels import LabelSelector

FULL = b"""apiVersion: anything
kind: Other
serviceAccount: checker
storage: {spec: {mountPath: {path: /all}}}
stages:
- tests:
  - image: one
    entrypoint: [run, 1]
    labels: {suite: a, number: 7, flag: true}
    uniqueID: u
    unknown: {}
- Parallel: true
  tests:
  - {image: two, storage: {spec: {mountPath: {path: /own}}}}
  - {}
---
stages: broken
"""


def test_unknown_keys_are_warnings_with_a_place() -> None:
    found = configuration.load(FULL, "config.yaml").findings
    typo = configuration.load(
        b"stages:\n- paralel: true\n  tests: [{imag: a}]\nstage: []", "c"
    ).findings
    assert [(one.rule, one.message, one.at and one.at.line) for one in found] == [
        ("SCD003", "unknown key `stages[0].tests[0].unknown`", 11)
    ]
    assert [(one.severity, one.message, one.hint) for one in typo] == [
        ("warning", "unknown key `stages[0].paralel`", "did you mean `parallel`?"),
        ("warning", "unknown key `stages[0].tests[0].imag`", "did you mean `image`?"),
        ("warning", "unknown key `stage`", "did you mean `stages`?"),
    ]


def test_a_configuration_is_read_completely() -> None:
    assert configuration.load(FULL, "config.yaml") == Configuration(
        stages=(
            Stage(
                (
                    ScorecardTest(
                        image="one",
                        entrypoint=("run", "1"),
                        labels={"suite": "a", "number": "7", "flag": "true"},
                        unique_id="u",
                    ),
                )
            ),
            Stage((ScorecardTest("two", storage="/own"), ScorecardTest("")), parallel=True),
        ),
        service_account="checker",
        storage="/all",
        findings=configuration.load(FULL, "config.yaml").findings,
    )


@pytest.mark.parametrize("data", [b"", b"# nothing\n", b"{}", b"stages:\n", b"stages: [{}]\n"])
def test_an_empty_configuration_has_no_tests(data: bytes) -> None:
    found = configuration.load(data, "config.yaml")
    assert found.selected(LabelSelector()) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "`the document` is not a mapping"),
        ("stages: {}", "config.yaml:1:9: `stages` is not a list"),
        ("stages: [x]", "`stages.0` is not a mapping"),
        ("stages:\n- parallel: yes please\n", "config.yaml:2:13: `stages.0.parallel` is not"),
        ("stages: [{tests: x}]", "`stages.0.tests` is not a list"),
        ("stages: [{tests: [{image: [a]}]}]", "`stages.0.tests.0.image` is not a string"),
        ("stages: [{tests: [{labels: [a]}]}]", "`stages.0.tests.0.labels` is not a mapping"),
        ("stages: [{tests: [{labels: {a: {}}}]}]", "labels.a` is not a string"),
        ("stages: [{tests: [{entrypoint: [{}]}]}]", "entrypoint.0` is not a string"),
        ("storage: {spec: x}", "`storage.spec` is not a mapping"),
        ("a: [", "config.yaml"),
    ],
)
def test_a_wrong_type_has_its_place(text: str, words: str) -> None:
    with pytest.raises(InputError) as raised:
        configuration.load(text.encode(), "config.yaml")
    assert words in str(raised.value)


PREFIX = "operators.operatorframework.io.test"


@pytest.mark.parametrize(
    ("annotations", "path"),
    [
        ({}, "tests/scorecard/config.yaml"),
        ({"config.v1": "other/"}, "tests/scorecard/config.yaml"),
        ({"config.v1": "other/", "mediatype.v1": "kuttl"}, "tests/scorecard/config.yaml"),
        ({"config.v1": "other/", "mediatype.v1": "scorecard+v1"}, "other/config.yaml"),
        ({"config.v1": ".", "mediatype.v1": "scorecard+v1"}, "config.yaml"),
    ],
)
def test_the_annotations_name_the_directory(annotations: dict[str, str], path: str) -> None:
    assert configuration.path_of(layout.read(_tree(annotations))) == path


def test_a_directory_outside_of_the_bundle_is_refused() -> None:
    annotations = {"config.v1": "../x", "mediatype.v1": "scorecard+v1"}
    with pytest.raises(InputError, match="outside of the bundle"):
        configuration.path_of(layout.read(_tree(annotations)))


def _tree(annotations: dict[str, str]) -> Tree:
    lines = "".join(f"  {PREFIX}.{key}: {value}\n" for key, value in annotations.items())
    data = f"annotations:\n  a: b\n{lines}".encode()
    return Tree({"metadata/annotations.yaml": data})
