"""Overlays: order of operations, places of errors, refused overlays."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.project.kustomize import build as kustomize

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {k: v}\n"


def build(files: dict[str, str], folder: str = "o") -> list[Any]:
    contents = {path: text.encode() for path, text in files.items()}
    return [document.value for document in kustomize.render(contents.get, folder)]


def overlay(text: str, **files: str) -> dict[str, str]:
    others = {f"o/{name.replace('_', '.')}": content for name, content in files.items()}
    return {"o/kustomization.yaml": text, **others}


def test_resources_keep_the_places_of_their_files() -> None:
    files = overlay("namePrefix: my-\nresources: [a.yaml]\n", a_yaml="---\n" + CONFIG)
    contents = {path: text.encode() for path, text in files.items()}
    (document,) = kustomize.render(contents.get, "o", shown=lambda path: f"shown/{path}")
    assert document.get("metadata", "name") == "my-one"
    assert str(document.at("data", "k")) == "shown/o/a.yaml:5:11"


@pytest.mark.parametrize("name", kustomize.FILE_NAMES)
def test_every_field_of_a_kustomization_file_is_known(name: str) -> None:
    assert build({f"o/{name}": "resources: [a.yaml]\n", "o/a.yaml": CONFIG})


def test_null_sections_are_empty() -> None:
    assert build(overlay("resources:\n- a.yaml\npatches:\nimages: null\n", a_yaml=CONFIG))


def test_parent_directories_can_be_named_and_files_cannot() -> None:
    files = {
        "o/kustomization.yaml": "resources: [../base]\n",
        "base/kustomization.yaml": "resources: [a.yaml]\n",
        "base/a.yaml": CONFIG,
    }
    assert build(files)
    files["o/kustomization.yaml"] = "resources: [../base/a.yaml]\n"
    with pytest.raises(InputError, match="is not in or below `o`"):
        build(files)


@pytest.mark.parametrize("kind", ["List", "SecretList"])
def test_lists_in_resources_are_expanded(kind: str) -> None:
    text = f"apiVersion: v1\nkind: {kind}\nitems:\n- {{kind: Secret, metadata: {{name: a}}}}\n"
    assert build(overlay("resources: [a.yaml]", a_yaml=text))[0]["metadata"]["name"] == "a"


def test_local_configuration_is_not_an_object() -> None:
    local = CONFIG.replace(
        "{name: one}", '{name: x, annotations: {config.kubernetes.io/local-config: "true"}}'
    )
    assert len(build(overlay("resources: [a.yaml]", a_yaml=local + "---\n" + CONFIG))) == 1


def test_one_directory_can_be_used_by_two_overlays() -> None:
    files = {
        "o/kustomization.yaml": "resources: [../a, ../b]\n",
        "a/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\n",
        "b/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\n",
        "base/kustomization.yaml": "resources: [all.yaml]\n",
        "base/all.yaml": CONFIG + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        "spec: {volumes: [{name: v, configMap: {name: one}}], containers: []}\n",
    }
    pods = [item for item in build(files) if item["kind"] == "Pod"]
    assert [pod["spec"]["volumes"][0]["configMap"]["name"] for pod in pods] == ["a-one", "b-one"]


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("resources:\n- https://example.com/x\n", "is not a local path", 2),
        ("resources:\n- github.com/a/b?ref=v1\n", "is not a local path", 2),
        ("resources:\n- ../../x\n", "is outside the project", 2),
        ("resources:\n- none.yaml\n", "there is no file or overlay `none.yaml`", 2),
        ("resources: {}\n", "`resources` must be a list", 1),
        ("resources: [3]\n", "a resource must be a path", 1),
        ("a: 1\n", 'unknown field "a"', 1),
        ("\nhelmCharts: [{}]\n", "`helmCharts` of kustomize is not supported here", 2),
        ("[a]\n", "a kustomization must be a mapping", 1),
        ("namespace: 3\n", "`namespace` must be a string", 1),
        ("commonLabels: {a: 1}\n", "must be a mapping of strings", 1),
        ("images: [{newTag: x}]\n", "needs a `name`", 1),
        ('images: [{name: "["}]\nresources: [a.yaml]\n', "is not an image name", 1),
        ("replicas: [{name: x}]\n", "has `name` and `count`", 1),
        ("replicas: [{name: x, count: 1}]\n", "no resource `x` has replicas", 1),
        ("patches: [{}]\n", "needs one of `path` and `patch`", 1),
        ("patches: [{patch: a, paths: b}]\n", 'unknown field "paths"', 1),
        ("patches: [{patch: '[]'}]\n", "a JSON patch needs a `target`", 1),
        ("patches: [{patch: 'x'}]\n", "a patch is a mapping or a list", 1),
        ("patches: [{patch: '['}]\n", "the patch is not YAML", 1),
        ("patches: [{patch: 'a: 1'}]\n", "needs `kind` and `metadata.name`", 1),
        ("patches: [{patch: '[]', target: {kin: x}}]\n", "`kin` does not select", 1),
        ("patches: [{patch: '[]', target: {kind: '['}}]\n", "is not a regular expression", 1),
        ("labels: [{pairs: {a: b}, fields: [x]}]\n", "`fields` of kustomize is not supported", 1),
        ("vars: [{name: X}]\n", "a variable needs", 1),
        ("configMapGenerator: [{}]\n", "a generator needs a `name`", 1),
        ("configMapGenerator: [{name: a, behavior: merge}]\n", "nothing to merge", 1),
        ("configurations: [c.yaml]\n", "is not a list of fields", 1),
    ],
)
def test_an_invalid_overlay_is_refused_at_its_line(text: str, message: str, line: int) -> None:
    with pytest.raises(InputError) as refused:
        build(overlay(text, a_yaml=CONFIG, c_yaml="odd: []\n"))
    assert message in refused.value.message
    at = refused.value.diagnostics[0].at
    assert at is not None
    assert at.line == line


def test_unsupported_features_have_a_hint() -> None:
    with pytest.raises(InputError) as refused:
        build(overlay("transformers: [a]\n"))
    assert "--input -" in refused.value.hint


def test_two_kustomization_files_are_refused() -> None:
    with pytest.raises(InputError, match="several kustomization files"):
        build({"o/kustomization.yaml": "{}", "o/Kustomization": "{}"})


def test_a_directory_without_a_kustomization_file_is_not_an_overlay() -> None:
    assert not kustomize.is_overlay({}.get, "o")
    with pytest.raises(InputError, match="has no kustomization file"):
        build({})


@pytest.mark.parametrize(
    "patch",
    [
        "[{op: add, path: '', value: 5}]",
        "[{op: replace, path: /metadata, value: x}]",
        "[{op: remove, path: /metadata/name}]",
        "[{op: remove, path: /kind}]",
        "{metadata: 5}",
    ],
)
def test_a_patch_keeps_kind_and_name_of_a_resource(patch: str) -> None:
    text = f'resources: [a.yaml]\nnamePrefix: x-\npatches:\n- {{patch: "{patch}", target: {{}}}}\n'
    text = text.replace("target: {}", "target: {kind: ConfigMap}")
    with pytest.raises(InputError, match="without kind or name") as refused:
        build(overlay(text, a_yaml=CONFIG))
    assert [one.at.line for one in refused.value.diagnostics if one.at] == [4]


def test_patches_can_rename_and_references_follow() -> None:
    text = """
resources: [a.yaml]
patches:
- target: {kind: ConfigMap}
  patch: '[{"op": "replace", "path": "/metadata/name", "value": "new"}]'
"""
    pod = (
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        "spec: {volumes: [{configMap: {name: one}}]}\n"
    )
    config, found = build(overlay(text, a_yaml=CONFIG + pod))
    assert config["metadata"]["name"] == "new"
    assert found["spec"]["volumes"][0]["configMap"]["name"] == "new"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("On", "On"),
        ("y", "y"),
        ("True", True),
        ("null", None),
        ("010", 8),
        ("1_000", 1000),
        ("12:30", "12:30"),
        ("2024-01-15", "2024-01-15T00:00:00Z"),
        ("2024-1-5T1:2:3.50+02:00", "2024-01-05T01:02:03.5+02:00"),
        ("2024-01-15 10:00:00.5", "2024-01-15T10:00:00.5Z"),
        ("2024-01-15 10:00:00.5 +02:00", "2024-01-15 10:00:00.5 +02:00"),
        ("2024-13-15", "2024-13-15"),
        ("'2024-01-15'", "2024-01-15"),
    ],
)
def test_scalars_are_read_as_in_kustomize(text: str, value: Any) -> None:
    config = CONFIG.replace("k: v", f"k: {text}")
    (found,) = build(overlay("resources: [a.yaml]", a_yaml=config))
    assert found["data"]["k"] == value


@pytest.mark.parametrize("remote", ["https://a.b/c", "git@a.b:c", "github.com/a/b", "../c?ref=v1"])
def test_remote_resources_are_refused_with_a_hint(remote: str) -> None:
    with pytest.raises(InputError, match="is not a local path") as refused:
        build(overlay(f"resources: ['{remote}']\n"))
    assert "--input -" in refused.value.hint


def test_a_key_that_occurs_twice_in_a_resource_is_refused_at_the_second() -> None:
    twice = CONFIG.replace("{k: v}", "\n  k: v\n  k: w")
    with pytest.raises(InputError, match=r"`data\.k` occurs twice") as refused:
        build(overlay("resources: [a.yaml]\n", a_yaml=twice))
    assert refused.value.diagnostics[0].at is not None
    assert refused.value.diagnostics[0].at.line == twice.count("\n")
