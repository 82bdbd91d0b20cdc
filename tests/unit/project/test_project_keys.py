"""Unknown keys of the PROJECT file."""

from __future__ import annotations

from olmkit.base import documents
from olmkit.project import project_keys

# All keys that a version of kubebuilder writes, and the configuration of plugins.
ALL = b"""
cliVersion: 4.16.0
componentConfig: true
domain: example.com
layout: [go.kubebuilder.io/v4]
multigroup: true
namespaced: true
plugins:
  deploy-image.go.kubebuilder.io/v1-alpha:
    resources: [{kind: A, options: {containerPort: "1", runAsUser: "2"}}]
projectName: a
repo: example.com/a
resources:
- api: {crdVersion: v1, namespaced: true, ssa: true}
  controller: true
  controllers: [{name: a}]
  core: true
  domain: example.com
  external: true
  group: b
  kind: A
  module: example.com/m@v1
  path: example.com/a/api/v1
  plural: as
  version: v1
  webhooks:
    conversion: true
    defaulting: true
    defaultingPath: /d
    spoke: [v2]
    validation: true
    validationPath: /v
    webhookVersion: v1
- {crdVersion: v1, webhookVersion: v1, group: b, kind: B, version: v1}
version: "3"
"""


def found(data: bytes) -> list[tuple[str, str, str, int | None]]:
    document = documents.load(data, "PROJECT")
    return [
        (one.rule, one.message, one.hint, one.at.line if one.at else None)
        for one in project_keys.check(document)
    ]


def test_all_keys_of_kubebuilder_and_of_plugins_are_known() -> None:
    assert found(ALL) == []


def test_a_misspelled_key_is_an_error_with_its_place() -> None:
    assert found(
        b"lyout: a\nresources:\n- kind: A\n  api:\n    namespced: true\nresourses: []\nDomain: d\n"
    ) == [
        ("PRJ014", "unknown key `lyout`", "did you mean `layout`?", 1),
        ("PRJ014", "unknown key `resources[0].api.namespced`", "did you mean `namespaced`?", 5),
        ("PRJ014", "unknown key `resourses`", "did you mean `resources`?", 6),
        ("PRJ014", "unknown key `Domain`", "did you mean `domain`?", 7),
    ]


def test_another_unknown_key_may_be_of_a_newer_kubebuilder() -> None:
    [(rule, message, hint, line)] = found(b"version: '3'\nzone: x\n")
    assert (rule, message, line) == ("PRJ015", "unknown key `zone`", 2)
    assert hint.startswith("known keys are `cliVersion`, ")


def test_values_of_other_types_have_no_keys() -> None:
    assert found(b"- 1") == []
    assert found(b"resources: {a: 1}\nlayout: {b: 1}\n") == []
