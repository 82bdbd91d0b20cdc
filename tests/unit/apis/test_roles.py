"""Roles from RBAC markers, merged as in the reference."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from olmkit.apis import roles
from olmkit.apis.findings import Findings
from olmkit.base import documents


def rules(projects: Any, *texts: str) -> list[dict[str, list[str]]]:
    found = roles.roles(projects.marked([f"kubebuilder:rbac:{t}" for t in texts])[0], role_name="r")
    assert len(found) == 1
    wanted: list[dict[str, list[str]]] = found[0]["rules"]
    return wanted


def test_verbs_resources_and_groups_are_merged(projects: Any) -> None:
    assert rules(
        projects,
        "groups=apps,resources=deployments,verbs=get",
        "groups=apps,resources=deployments;statefulsets,verbs=list;get",
        "groups=extensions,resources=deployments;statefulsets,verbs=get;list",
    ) == [
        {
            "apiGroups": ["apps", "extensions"],
            "resources": ["deployments", "statefulsets"],
            "verbs": ["get", "list"],
        }
    ]


def test_core_is_the_empty_group_and_markers_without_a_group_are_merged_with_it(
    projects: Any,
) -> None:
    assert rules(
        projects,
        "groups=core,resources=pods,verbs=get",
        "groups=,resources=pods,verbs=list",
    ) == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]


def test_a_star_replaces_the_other_verbs_after_merging(projects: Any) -> None:
    assert rules(projects, "groups=a,resources=x,verbs=*;get", "groups=b,resources=x,verbs=*") == [
        {"apiGroups": ["a"], "resources": ["x"], "verbs": ["*"]},
        {"apiGroups": ["b"], "resources": ["x"], "verbs": ["*"]},
    ]


def test_urls_and_resource_names_are_separate_rules(projects: Any) -> None:
    assert rules(
        projects,
        "urls=/metrics,verbs=get",
        "urls=/healthz,verbs=get",
        'groups="",resources=secrets,resourceNames=b;a,verbs=get',
    ) == [
        {"nonResourceURLs": ["/healthz", "/metrics"], "verbs": ["get"]},
        {
            "apiGroups": [""],
            "resourceNames": ["a", "b"],
            "resources": ["secrets"],
            "verbs": ["get"],
        },
    ]


def test_roles_of_namespaces_come_after_cluster_roles(projects: Any) -> None:
    found = roles.roles(
        projects.marked(
            [
                "kubebuilder:rbac:groups=a,resources=x,verbs=get,namespace=zoo",
                "kubebuilder:rbac:groups=a,resources=x,verbs=get,roleName=other",
                "kubebuilder:rbac:groups=a,resources=x,verbs=get",
            ]
        )[0],
        role_name="manager-role",
    )
    assert [(r["kind"], r["metadata"]) for r in found] == [
        ("ClusterRole", {"name": "manager-role"}),
        ("ClusterRole", {"name": "other"}),
        ("Role", {"name": "manager-role", "namespace": "zoo"}),
    ]


def test_nothing_is_generated_without_markers(projects: Any) -> None:
    assert roles.roles(projects.marked([])[0], role_name="r") == []


MARKER = re.compile(r"^\s*//\s*\+(kubebuilder:rbac.*)$", re.MULTILINE)


@pytest.mark.parametrize("case", ["rbac-merge", "rbac-names", "bundle-basic", "bundle-rbac"])
def test_roles_are_those_of_controller_gen(projects: Any, vectors: Path, case: str) -> None:
    folder = vectors / "go" / case
    files = sorted((folder / "project").rglob("*.go"))
    # The marker for `lost.example.com` is in a function's documentation: the reference ignores it.
    markers = [
        [text for text in MARKER.findall(file.read_text()) if "lost.example.com" not in text]
        for file in files
    ]
    expected = next((folder / "expected").rglob("role.yaml")).read_bytes()
    wanted = [document.value for document in documents.load_all(expected, "role.yaml")]
    found = roles.roles(projects.marked(*markers)[0], role_name="manager-role")
    assert found == [one for one in wanted if one]
    assert b"".join(b"---\n" + documents.dump(one) for one in found) == expected


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("groups=a,resources=x,verbs=get;list;deletecollection;*;bind", []),
        ("groups=a,resources=x,verbs=gte;Get", ["did you mean `get`?"] * 2),
        ("groups=a,resources=x,verbs=post", ["the verbs are `get`, `list`"]),
        ("urls=/metrics,verbs=get;post", []),
        ("urls=/metrics,verbs=lst", ["the verbs are `get`, `post`"]),
    ],
)
def test_a_verb_that_does_not_exist_is_reported(projects: Any, text: str, hints: list[str]) -> None:
    sources, _ = projects.marked([f"kubebuilder:rbac:{text}"])
    findings = Findings()

    roles.check(sources, findings)

    assert [found.rule for found in findings] == ["API036"] * len(hints)
    for found, hint in zip(findings, hints, strict=True):
        assert found.hint.startswith(hint)
