"""CSV markers: descriptors and their paths, resources, and what a base CSV keeps."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.apis import csv_markers
from olmkit.apis.csv_markers import OwnedApi
from olmkit.apis.findings import Findings
from olmkit.kube.objects import GVK

CSV = "operator-sdk:csv:customresourcedefinitions"
KEY = GVK("example.com", "v1", "Thing")


def describe(projects: Any, text: str) -> tuple[dict[str, Any], list[str], int]:
    made = projects.module(text)
    findings = Findings()
    (owned,) = csv_markers.describe_apis(made.sources, {KEY: None}, findings)
    return owned.description, [found.rule for found in findings], owned.order


def paths(projects: Any, text: str) -> list[str]:
    description, _, _ = describe(projects, text)
    return [descriptor["path"] for descriptor in description["specDescriptors"]]


def test_a_kind_is_described(projects: Any) -> None:
    description, codes, order = describe(
        projects,
        f'''
        # +{CSV}:displayName="First",order=7
        # +{CSV}:resources={{{{Pod,v1,p}},{{Deployment,v1}},{{"Deployment",v1beta1,""}}}}
        # +{CSV}:displayName="Second",resources={{{{Service,v1,a,ignored}}}}
        # +kubebuilder:resource:path=stuff
        class Thing(CustomResource):
            """Words.

            More of them.
            """
        ''',
    )
    assert codes == ["API026"]
    assert order == 7
    assert description == {
        "name": "stuff.example.com",
        "kind": "Thing",
        "version": "v1",
        "displayName": "Second",
        "description": "Words.\n\nMore of them.",
        "resources": [
            {"kind": "Deployment", "name": "", "version": "v1"},
            {"kind": "Deployment", "name": "", "version": "v1beta1"},
            {"kind": "Service", "name": "", "version": "v1"},
            {"kind": "Pod", "name": "p", "version": "v1"},
        ],
    }


def test_a_field_is_described_for_spec_and_status(projects: Any) -> None:
    description, codes, _ = describe(
        projects,
        f'''
        class Spec(Model):
            # +{CSV}:type=spec,displayName="First",xDescriptors={{"a","b"}},order=2
            # +{CSV}:type=spec,displayName="Second",xDescriptors="c,d"
            # +{CSV}:type=status,displayName="Other"
            container_port: int
            """Words."""

            # +{CSV}:type=spec,order=1
            late: int

            # +{CSV}:type=other
            # +{CSV}
            nothing: int

        class Thing(CustomResource):
            # +{CSV}:type=spec
            spec: Spec
            status: Spec
        ''',
    )
    assert codes == []
    assert description["specDescriptors"] == [
        {"displayName": "Late", "path": "late"},
        {
            "description": "Words.",
            "displayName": "First",
            "path": "containerPort",
            "x-descriptors": ["a", "b", "c,d"],
        },
    ]
    assert description["statusDescriptors"] == [
        {"description": "Words.", "displayName": "Other", "path": "containerPort"}
    ]


def test_paths_go_through_models_lists_maps_and_bases(projects: Any) -> None:
    mark = f"# +{CSV}:type=spec"
    assert paths(
        projects,
        f"""
        class Leaf(Model):
            {mark}
            name: str

        class Base(Model):
            {mark}
            based: str
            {mark}
            leaf: Leaf

        class Spec(Base):
            {mark}
            leaves: list[Leaf]
            by_name: dict[str, list[Leaf]]
            optional: Annotated[list[Leaf], MaxLen(3)] | None = None
            {mark}
            plain: list[str]

        class Thing(CustomResource):
            spec: Spec
        """,
    ) == [
        "based",
        "byName.name",
        "leaf",
        "leaf.name",
        "leaves",
        "leaves[0].name",
        "optional[0].name",
        "plain",
    ]


def test_a_recursive_type_ends(projects: Any) -> None:
    mark = f"# +{CSV}:type=spec"
    assert paths(
        projects,
        f"""
        class Node(Model):
            {mark}
            name: str
            children: list["Node"]

        class Thing(CustomResource):
            spec: Node
        """,
    ) == ["name"]


def test_a_kind_without_spec_and_status_is_described_without_descriptors(projects: Any) -> None:
    description, codes, _ = describe(projects, "class Thing(CustomResource):\n    x: int\n")
    assert codes == ["API026"]
    assert sorted(description) == ["displayName", "kind", "name", "version"]


def test_spec_and_status_of_a_base_class_count(projects: Any) -> None:
    text = """
    class Base(CustomResource):
        status: str | None = None


    class Thing(Base):
        x: int
    """
    assert describe(projects, text)[1] == []


def test_an_incomplete_resource_is_a_finding(projects: Any) -> None:
    _, codes, _ = describe(
        projects, f"# +{CSV}:resources={{Pod,v1}}\nclass Thing(CustomResource):\n    x: int\n"
    )
    assert sorted(codes) == ["API019", "API019", "API026"]


def test_an_api_without_a_type_is_a_finding(projects: Any) -> None:
    made = projects.module("")
    findings = Findings()
    assert csv_markers.describe_apis(made.sources, {KEY: None}, findings) == ()
    assert [found.rule for found in findings] == ["API020"]


def entry(kind: str, version: str = "v1", **more: Any) -> dict[str, Any]:
    return {"name": f"{kind.lower()}s.example.com", "kind": kind, "version": version, **more}


def owned(kind: str, version: str = "v1", order: int = csv_markers.LAST) -> OwnedApi:
    return OwnedApi(GVK("example.com", version, kind), order, entry(kind, version, new=True))


@pytest.mark.parametrize(
    ("base", "generated", "expected"),
    [
        ([], [owned("B"), owned("A")], [("A", "v1"), ("B", "v1")]),
        ([], [owned("A", "v1alpha1"), owned("A", "v1")], [("A", "v1"), ("A", "v1alpha1")]),
        ([], [owned("A"), owned("B", order=1)], [("B", "v1"), ("A", "v1")]),
        ([entry("Hand")], [owned("A")], [("Hand", "v1"), ("A", "v1")]),
        ([entry("Hand")], [owned("A", order=0)], [("A", "v1"), ("Hand", "v1")]),
        ([entry("A", old=True), entry("Hand")], [owned("A")], [("Hand", "v1"), ("A", "v1")]),
        ([entry("A", "v2")], [owned("A")], [("A", "v2"), ("A", "v1")]),
    ],
)
def test_generated_entries_are_inserted_among_entries_of_the_user(
    base: list[Any], generated: list[OwnedApi], expected: list[tuple[str, str]]
) -> None:
    merged = csv_markers.merge(base, generated)
    assert [(one["kind"], one["version"]) for one in merged] == expected
    assert all("old" not in one for one in merged)


def test_values_that_no_marker_can_express_are_kept() -> None:
    base = [entry("A", actionDescriptors=[{"path": "open"}]), "odd", None, {"name": 1}]
    (odd, nothing, number, mine) = csv_markers.merge(base, [owned("A")])
    assert (odd, nothing, number) == ("odd", None, {"name": 1})
    assert mine["actionDescriptors"] == [{"path": "open"}]
    assert mine["new"] is True


def test_a_go_field_without_a_tag_is_described_by_its_own_name(go_projects: Any) -> None:
    body = f"// +{CSV}:type=spec\nNoTag string\n// +{CSV}:type=spec\nhidden string\n"
    _, made = go_projects.spec(body)

    (owned,) = csv_markers.describe_apis(made.sources, {KEY: None}, Findings())

    assert [one["path"] for one in owned.description["specDescriptors"]] == ["NoTag"]
