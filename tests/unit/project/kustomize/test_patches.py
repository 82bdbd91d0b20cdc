"""The resources that patches select, and the result."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import Diagnostic, InputError
from olmkit.project.kustomize import patches as kustomize_patches
from olmkit.project.kustomize.resources import Resource

A = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1', w: '2'}\n"


def resources(*texts: str) -> list[Resource]:
    loaded = [documents.load(text.encode(), "a.yaml") for text in texts]
    return [Resource(document.value, document) for document in loaded]


def patched(entry: dict[str, Any], found: list[Resource]) -> list[Diagnostic]:
    text = documents.dump({"patches": [entry]})
    overlay = documents.load(text, "k.yaml")
    findings: list[Diagnostic] = []
    for patch in kustomize_patches.parse(overlay, ("patches", 0), entry, None):
        kustomize_patches.apply(found, patch, findings)
    return findings


def test_a_patch_without_a_target_names_its_resource() -> None:
    found = resources(A, A.replace("name: a", "name: b"))
    patch = A.replace("{x: '1', w: '2'}", "{x: null, z: '3'}")
    assert patched({"patch": patch}, found) == []
    assert [one.value["data"] for one in found] == [
        {"w": "2", "z": "3"},
        {"x": "1", "w": "2"},
    ]


def test_a_target_selects_several_resources() -> None:
    found = resources(A, A.replace("name: a", "name: b"))
    entry = {
        "target": {"kind": "ConfigMap"},
        "patch": "[{op: replace, path: /data/x, value: '5'}]",
    }
    assert patched(entry, found) == []
    assert [one.value["data"]["x"] for one in found] == ["5", "5"]


def test_a_target_that_matches_nothing_is_reported() -> None:
    entry = {"target": {"kind": "Secret"}, "patch": "[{op: remove, path: /data}]"}
    [finding] = patched(entry, resources(A))
    assert finding.rule == "PRJ121"
    assert str(finding.at) == "k.yaml:2:3"


def test_a_resource_can_be_deleted() -> None:
    found = resources(A)
    patched({"patch": A + "$patch: delete\n"}, found)
    assert found == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"patch": A, "path": "b.yaml"}, "needs one of `path` and `patch`"),
        ({"target": {"kind": "ConfigMap"}}, "needs one of `path` and `patch`"),
        ({"patch": A.replace("name: a", "name: c")}, "no resource matches"),
        ({"patch": "[{op: remove, path: /data}]"}, "needs a `target`"),
        ({"patch": "text"}, "a mapping or a list"),
        ({"patch": "a: {"}, "the patch is not YAML"),
        ({"patch": f"{A}---\n{A}", "target": {"kind": "ConfigMap"}}, "one document"),
        ({"patch": A, "options": {"allowNameChange": True}}, "`options`"),
        (
            {"patch": "[{op: remove, path: /no}]", "target": {"kind": "ConfigMap"}},
            "the patch does not apply",
        ),
    ],
)
def test_an_invalid_patch_is_refused_at_its_place(entry: dict[str, Any], message: str) -> None:
    found = resources(A)
    with pytest.raises(InputError, match=message) as caught:
        patched(entry, found)
    assert str(caught.value.diagnostics[0].at).startswith("k.yaml:")
    assert found[0].value["data"] == {"x": "1", "w": "2"}


def test_disabled_options_have_no_effect() -> None:
    entry = {"patch": A, "options": {"allowNameChange": False}}
    assert patched(entry, resources(A)) == []
