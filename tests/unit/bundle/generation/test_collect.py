"""The sorting of objects by their purpose."""

from __future__ import annotations

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.bundle.generation import collect
from olmkit.bundle.generation.collect import CollectedObjects


def collected(text: str) -> CollectedObjects:
    return collect.collect(documents.load_all(text.encode(), "in.yaml"))


def test_objects_are_sorted_by_their_purpose() -> None:
    found = collected("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r}
---
apiVersion: v1
kind: Service
metadata: {name: s}
---
apiVersion: example.com/v1
kind: Role
metadata: {name: not-rbac}
---
apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
metadata: {name: config}
""")
    assert [item.name for item in found.deployments] == ["d"]
    assert [item.name for item in found.cluster_roles] == ["r"]
    assert [item.name for item in found.services] == ["s"]
    assert [item.name for item in found.others] == ["not-rbac"]
    assert [item.name for item in found.scorecards] == ["config"]


def test_custom_resources_must_have_a_served_version() -> None:
    found = collected("""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  versions: [{name: v1, served: true}, {name: v2, served: false}]
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: one}
---
apiVersion: example.com/v2
kind: Thing
metadata: {name: two}
""")
    assert [item.name for item in found.custom_resources] == ["one"]
    assert [item.name for item in found.others] == ["two"]


def test_equal_objects_count_once_but_each_binding_counts() -> None:
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: {}\nmetadata: {{name: x}}\n---\n"
    found = collected(role.format("Role") * 2 + role.format("RoleBinding") * 2)
    assert len(found.roles) == 1
    assert len(found.role_bindings) == 2


def test_webhooks_are_taken_from_their_configurations() -> None:
    found = collected("""
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: a}
webhooks: [{name: one}, {name: two}, {name: two}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: b}
webhooks: [{name: two}]
""")
    assert [(hook.value["name"], hook.mutating) for hook in found.webhooks] == [
        ("one", True),
        ("two", True),
        ("two", False),
    ]


def test_lists_are_expanded_with_the_positions_of_their_items() -> None:
    found = collected("""apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: one}
---
apiVersion: v1
kind: ConfigMapList
items:
- metadata: {name: two}
""")
    assert [(item.kind, item.name) for item in found.others] == [
        ("Secret", "one"),
        ("ConfigMap", "two"),
    ]
    assert found.others[0].at("metadata", "name").line == 6


def test_a_value_that_is_not_an_object_is_reported_and_omitted() -> None:
    found = collected("a: b\n---\n[1]\n---\nkind: Secret\nmetadata: {name: x}\n---\n\n")
    assert [note.rule for note in found.findings] == ["PRJ104"] * 3
    assert [note.at.line for note in found.findings if note.at] == [1, 3, 5]
    assert not found.others


def test_all_unusable_objects_are_reported_at_once() -> None:
    with pytest.raises(InputError) as refused:
        collected("""apiVersion: v1
kind: Secret
---
apiVersion: apiextensions.k8s.io/v2
kind: CustomResourceDefinition
metadata: {name: a.b}
---
apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
metadata: {name: a}
---
apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
metadata: {name: b}
""")
    assert refused.value.message == "the `Secret` has no name (and 2 more)"
    assert [found.at.line for found in refused.value.diagnostics if found.at] == [1, 4, 14]
