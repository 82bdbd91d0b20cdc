"""Roles from RBAC markers: merging as the reference does it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from olmkit.apis import marker_reading, roles
from olmkit.apis.findings import Findings
from olmkit.apis.markers import Comment, Level
from olmkit.apis.model import Package, Sources
from olmkit.base import documents
from olmkit.base.diagnostics import Location


def sources_of(*packages: list[str]) -> Sources:
    """Packages that hold nothing but the given markers."""
    findings = Findings()
    found = []
    for index, texts in enumerate(packages):
        at = Location(path=f"p{index}.py", line=1, column=1)
        comments = [Comment(text=text, at=at) for text in texts]
        markers = [
            marker_reading.read_marker(comment, Level.PACKAGE, findings) for comment in comments
        ]
        found.append(
            Package(
                module=f"p{index}",
                at=at,
                group=None,
                version="",
                markers=tuple(marker for marker in markers if marker),
            )
        )
    assert not findings.items
    return Sources(packages=tuple(found), declarations={}, package_of={})


def rules(*texts: str) -> list[dict[str, list[str]]]:
    found = roles.roles(sources_of([f"kubebuilder:rbac:{t}" for t in texts]), role_name="r")
    assert len(found) == 1
    wanted: list[dict[str, list[str]]] = found[0]["rules"]
    return wanted


def test_verbs_resources_and_groups_are_merged() -> None:
    assert rules(
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


def test_core_is_the_empty_group_and_absent_groups_join_it() -> None:
    assert rules(
        "groups=core,resources=pods,verbs=get",
        "groups=,resources=pods,verbs=list",
    ) == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]


def test_star_swallows_other_verbs_after_merging() -> None:
    assert rules("groups=a,resources=x,verbs=*;get", "groups=b,resources=x,verbs=*") == [
        {"apiGroups": ["a"], "resources": ["x"], "verbs": ["*"]},
        {"apiGroups": ["b"], "resources": ["x"], "verbs": ["*"]},
    ]


def test_urls_and_resource_names_are_kept_apart() -> None:
    assert rules(
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


def test_roles_stand_in_their_namespaces_after_cluster_roles() -> None:
    found = roles.roles(
        sources_of(
            [
                "kubebuilder:rbac:groups=a,resources=x,verbs=get,namespace=zoo",
                "kubebuilder:rbac:groups=a,resources=x,verbs=get,roleName=other",
                "kubebuilder:rbac:groups=a,resources=x,verbs=get",
            ]
        ),
        role_name="manager-role",
    )
    assert [(r["kind"], r["metadata"]) for r in found] == [
        ("ClusterRole", {"name": "manager-role"}),
        ("ClusterRole", {"name": "other"}),
        ("Role", {"name": "manager-role", "namespace": "zoo"}),
    ]


def test_nothing_is_made_without_markers() -> None:
    assert roles.roles(sources_of([]), role_name="r") == []


MARKER = re.compile(r"^\s*//\s*\+(kubebuilder:rbac.*)$", re.MULTILINE)


@pytest.mark.parametrize("case", ["rbac-merge", "rbac-names", "bundle-basic", "bundle-rbac"])
def test_roles_of_the_reference_generator(cases: Path, case: str) -> None:
    folder = cases / "go" / case
    files = sorted((folder / "project").rglob("*.go"))
    # The marker for `lost.example.com` stands in the doc of a function, where Go does not look.
    markers = [
        [text for text in MARKER.findall(file.read_text()) if "lost.example.com" not in text]
        for file in files
    ]
    expected = next((folder / "expected").rglob("role.yaml")).read_bytes()
    wanted = [document.value for document in documents.load_all(expected, "role.yaml")]
    assert roles.roles(sources_of(*markers), role_name="manager-role") == [w for w in wanted if w]
