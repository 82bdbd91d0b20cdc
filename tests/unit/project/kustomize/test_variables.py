"""Variables of older projects."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.project.kustomize import build as kustomize

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {a: $(NAME)}}
spec: {port: 80, containers: [{args: ["--x=$(NAME)/$(OTHER)", $$(NAME), $(PORT)]}]}
"""


def build(variables: str, **more: str) -> dict[str, Any]:
    text = f"resources: [p.yaml]\nnamePrefix: my-\nvars: {variables}\n" + more.get("text", "")
    contents = {
        "o/kustomization.yaml": text.encode(),
        "o/p.yaml": POD.encode(),
        "o/c.yaml": b"varReference: [{path: metadata/annotations}]",
    }
    (document,) = kustomize.render(contents.get, "o")
    value: dict[str, Any] = document.value
    return value


NAME = "{name: NAME, objref: {kind: Pod, name: p, apiVersion: v1}}"
PORT = "{name: PORT, objref: {kind: Pod, name: p}, fieldref: {fieldpath: spec.port}}"


def test_known_variables_are_replaced_where_they_are_allowed() -> None:
    found = build(f"[{NAME}, {PORT}]")
    assert found["spec"]["containers"][0]["args"] == ["--x=my-p/$(OTHER)", "$$(NAME)", 80]
    assert found["metadata"]["annotations"]["a"] == "$(NAME)"


def test_an_index_in_brackets_follows_the_name_of_a_list() -> None:
    field = "fieldref: {fieldPath: 'spec.containers[0].args[1]'}"
    found = build(f"[{NAME}, {{name: OTHER, objref: {{kind: Pod, name: p}}, {field}}}]")
    assert found["spec"]["containers"][0]["args"][0] == "--x=my-p/$$(NAME)"


def test_configurations_add_more_places() -> None:
    found = build(f"[{NAME}]", text="configurations: [c.yaml]\n")
    assert found["metadata"]["annotations"]["a"] == "my-p"


@pytest.mark.parametrize(
    "variable",
    [
        "{name: X, objref: {kind: Pod, name: none}}",
        "{name: X, objref: {kind: Pod, name: p}, fieldref: {fieldpath: none}}",
        "{name: X, objref: {kind: Pod, name: p}, fieldref: {fieldpath: spec}}",
        "{name: X, objref: {name: p}}",
        "{objref: {kind: Pod, name: p}}",
    ],
)
def test_a_variable_must_have_exactly_one_value(variable: str) -> None:
    with pytest.raises(InputError, match="variable"):
        build(f"[{variable}]")
