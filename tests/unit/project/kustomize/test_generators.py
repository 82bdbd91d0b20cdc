"""Generated ConfigMaps and Secrets."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.project.kustomize import build as kustomize


def build(text: str, **files: bytes) -> dict[str, Any]:
    contents = {"o/kustomization.yaml": text.encode()}
    contents |= {f"o/{name}": data for name, data in files.items()}
    (document,) = kustomize.render(contents.get, "o")
    value: dict[str, Any] = document.value
    return value


def test_names_end_with_the_hash_of_kustomize() -> None:
    # Recorded from kustomize 5.8.1.
    found = build(
        "configMapGenerator: [{name: config, files: [controller.yaml]}]",
        **{"controller.yaml": b"leaderElection: true\n"},
    )
    assert found["metadata"]["name"] == "config-mmh7759tgh"
    found = build("secretGenerator: [{name: words, literals: [secret=open], type: Opaque}]")
    assert found["metadata"]["name"] == "words-mtt87b2697"
    assert found["data"] == {"secret": "b3Blbg=="}


def test_options_are_combined() -> None:
    found = build("""
generatorOptions: {labels: {a: b}, disableNameSuffixHash: true}
configMapGenerator:
- name: c
  literals: ["x='quoted'", y=z]
  options: {labels: {c: d}, annotations: {e: f}, immutable: true}
""")
    assert found == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "labels": {"a": "b", "c": "d"}, "annotations": {"e": "f"}},
        "data": {"x": "quoted", "y": "z"},
        "immutable": True,
    }


def test_files_that_are_not_text_are_binary_data() -> None:
    found = build(
        "configMapGenerator: [{name: c, files: [k=b], envs: [e]}]", b=b"\xff", e=b"# x\nA=1\n"
    )
    assert found["data"] == {"A": "1"}
    assert found["binaryData"] == {"k": "/w=="}


def test_generated_data_can_be_merged_into_an_existing_object() -> None:
    text = """
generatorOptions: {disableNameSuffixHash: true}
configMapGenerator:
- {name: c, literals: [a=1, b=1]}
- {name: c, literals: [b=2], behavior: %s, options: {labels: {x: "y"}}}
"""
    assert build(text % "merge")["data"] == {"a": "1", "b": "2"}
    assert build(text % "replace")["data"] == {"b": "2"}
    assert build(text % "merge")["metadata"]["labels"] == {"x": "y"}


@pytest.mark.parametrize(
    "entry", ["{name: c, literals: [x]}", "{name: c, odd: 1}", "{name: c, options: {odd: 1}}"]
)
def test_invalid_entries_are_refused(entry: str) -> None:
    with pytest.raises(InputError):
        build(f"configMapGenerator: [{entry}]")
