"""CustomResourceDefinitions: names, versions, columns, errors."""

from __future__ import annotations

from typing import Any

import pytest

BODY = "(CustomResource):\n    x: int\n"
HEAD = "from olmkit.runtime.kinds import CustomResource\n\n\n"


def version(name: str, markers: str = "", kind: str = "Thing") -> dict[str, str]:
    lines = "".join(f"# +{line}\n" for line in markers.splitlines())
    text = f"# +groupName=example.com\n{HEAD}{lines}class {kind}(CustomResource):\n    x: int\n"
    return {f"api/{name}.py": text}


def test_everything_about_a_kind_is_in_its_crd(projects: Any) -> None:
    markers = """\
kubebuilder:resource:path=stuff,shortName=st;s,categories=all,singular=thingy,scope=Cluster
kubebuilder:subresource:status
kubebuilder:subresource:scale:specpath=.spec.a,statuspath=.status.a,selectorpath=.status.s
kubebuilder:printcolumn:name=A,type=string,JSONPath=.spec.a,priority=1,description=d,format=byte
kubebuilder:printcolumn:name=B,type=date,JSONPath=.b
kubebuilder:selectablefield:JSONPath=.x
kubebuilder:deprecatedversion:warning="use v2"
kubebuilder:metadata:annotations=a=b=c;d=e,labels=l=m"""
    made = projects.make(version("v1", markers))
    assert made.codes == ["API035"] * 5
    crd = made.crds["example.com_stuff.yaml"]
    assert crd["metadata"] == {
        "name": "stuff.example.com",
        "annotations": {"a": "b=c", "d": "e"},
        "labels": {"l": "m"},
    }
    assert crd["spec"]["scope"] == "Cluster"
    assert crd["spec"]["names"] == {
        "kind": "Thing",
        "listKind": "ThingList",
        "plural": "stuff",
        "singular": "thingy",
        "shortNames": ["st", "s"],
        "categories": ["all"],
    }
    (only,) = crd["spec"]["versions"]
    del only["schema"]
    assert only == {
        "name": "v1",
        "served": True,
        "storage": True,
        "deprecated": True,
        "deprecationWarning": "use v2",
        "additionalPrinterColumns": [
            {
                "name": "A",
                "type": "string",
                "jsonPath": ".spec.a",
                "priority": 1,
                "description": "d",
                "format": "byte",
            },
            {"name": "B", "type": "date", "jsonPath": ".b"},
        ],
        "selectableFields": [{"jsonPath": ".x"}],
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.a",
                "statusReplicasPath": ".status.a",
                "labelSelectorPath": ".status.s",
            },
        },
    }


def test_a_selectable_field_must_be_in_the_schema(projects: Any) -> None:
    markers = "".join(
        f"kubebuilder:selectablefield:JSONPath={path}\n" for path in (".x", ".y", ".x.z", "x", ".")
    )
    made = projects.make(version("v1", markers))
    assert made.codes == ["API028"] * 4


@pytest.mark.parametrize(
    ("path", "absent"),
    [
        (".x", ""),
        (".metadata.creationTimestamp", ""),
        (".metadata.labels['a']", ""),
        (".kind", ""),
        (".status.conditions[?(@.type=='Ready')].status", ".status"),
        (".y.z", ".y"),
        (".x.z", ".x.z"),
    ],
)
def test_a_column_of_a_missing_field_is_reported(projects: Any, path: str, absent: str) -> None:
    marker = f'kubebuilder:printcolumn:name=A,type=string,JSONPath="{path}"'
    made = projects.make(version("v1", marker))
    assert made.codes == (["API035"] if absent else [])
    assert all(found.message.endswith(f"no field `{absent}`") for found in made.findings)


def test_an_empty_string_that_is_set_is_written_as_in_controller_gen(projects: Any) -> None:
    markers = """\
kubebuilder:subresource:scale:specpath=.spec.a,statuspath=.status.a,selectorpath=""
kubebuilder:deprecatedversion:warning=\"\""""
    made = projects.make(version("v1", markers))

    (only,) = made.crds["example.com_things.yaml"]["spec"]["versions"]
    assert only["deprecationWarning"] == ""
    assert only["subresources"]["scale"]["labelSelectorPath"] == ""


def test_versions_are_sorted_by_name_and_one_is_stored(projects: Any) -> None:
    made = projects.make(
        version("v2")
        | version("v1", "kubebuilder:storageversion")
        | version("v1alpha1", "kubebuilder:unservedversion")
        | version("v3", "kubebuilder:skipversion")
    )
    assert made.codes == []
    versions = made.crds["example.com_things.yaml"]["spec"]["versions"]
    assert [(v["name"], v["served"], v["storage"]) for v in versions] == [
        ("v1", True, True),
        ("v1alpha1", False, False),
        ("v2", True, False),
    ]


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (version("v1") | version("v2"), "API012"),
        (
            version("v1", "kubebuilder:storageversion")
            | version("v2", "kubebuilder:storageversion"),
            "API012",
        ),
        (version("v1", "kubebuilder:unservedversion"), "API013"),
        ({"api/v1.py": HEAD + "class Thing(CustomResource):\n    x: int\n"}, "API014"),
        (
            version("v1", "kubebuilder:storageversion\nkubebuilder:resource:path=a")
            | version("v2", "kubebuilder:resource:path=b"),
            "API015",
        ),
        (version("v1", "kubebuilder:metadata:labels=abc"), "API016"),
        (version("v1", "kubebuilder:resource:scope=World"), "API009"),
        (version("v1", "kubebuilder:resource:path=No_Name"), "API023"),
        (version("v1", kind="thing"), "API023"),
        (version("v1", kind="Thing_"), "API023"),
        (
            {
                "api/v1/__init__.py": "# +groupName=example.com\n",
                "api/v1/a.py": HEAD + "class Thing(CustomResource):\n    x: int\n",
                "api/v1/b.py": HEAD + "class Thing(CustomResource):\n    y: int\n",
            },
            "API008",
        ),
        (
            {"api/v1.py": f"# +groupName=Not_A_Group\n{HEAD}class T{BODY}"},
            "API023",
        ),
        (
            {"api/V_1/__init__.py": f"# +groupName=a.b\n{HEAD}class T{BODY}"},
            "API023",
        ),
    ],
)
def test_a_kind_that_the_api_server_would_reject_is_a_finding(
    projects: Any, files: dict[str, str], code: str
) -> None:
    assert projects.make(files).codes == [code]


@pytest.mark.parametrize(("priority", "codes"), [(2**31 - 1, []), (2**31, ["API028"])])
def test_the_priority_of_a_column_has_32_bits(
    projects: Any, priority: int, codes: list[str]
) -> None:
    column = f"kubebuilder:printcolumn:name=A,type=string,JSONPath=.x,priority={priority}"

    assert projects.make(version("v1", column)).codes == codes


def test_skipped_kinds_and_packages_generate_nothing(projects: Any) -> None:
    made = projects.make(version("v1", "kubebuilder:skipversion"))
    assert (made.crds, made.codes) == ({}, [])
    files = version("v1")
    files["api/v1.py"] = "# +kubebuilder:skip\n" + files["api/v1.py"]
    made = projects.make(files)
    assert (made.crds, made.codes) == ({}, [])


def test_a_kind_in_two_groups_has_two_crds(projects: Any) -> None:
    made = projects.make(
        {
            f"api/{group}/v1.py": f"# +groupName={group}.io\n{HEAD}class Thing{BODY}"
            for group in ("a", "b")
        }
    )
    assert sorted(made.crds) == ["a.io_things.yaml", "b.io_things.yaml"]
    assert made.codes == []


def test_two_kinds_with_the_same_crd_name_are_refused(projects: Any) -> None:
    first = version("v1", kind="Box")["api/v1.py"]
    second = "\n\n# +kubebuilder:resource:path=boxes\nclass Crate" + BODY
    made = projects.make({"api/v1.py": first + second})
    assert made.codes == ["API008"]
    assert list(made.crds) == ["example.com_boxes.yaml"]


@pytest.mark.parametrize(
    ("marker", "name"),
    [
        ("kubebuilder:resource:shortName=things", "things"),
        ("kubebuilder:resource:singular=thing", "thing"),
        ("kubebuilder:resource:shortName=t", "t"),
    ],
)
def test_kinds_of_one_group_have_different_names(projects: Any, marker: str, name: str) -> None:
    text = (
        f"# +groupName=example.com\n{HEAD}# +kubebuilder:resource:shortName=t\n"
        f"class Thing{BODY}\n\n# +{marker}\nclass Other{BODY}"
    )
    made = projects.make({"api/v1.py": text})
    (found,) = made.findings
    assert found.rule == "API031"
    assert found.message == f"`Thing` and `Other` are both served as `{name}`"


def test_a_kind_cannot_have_the_name_of_another_kinds_list(projects: Any) -> None:
    text = f"# +groupName=example.com\n{HEAD}class Thing{BODY}\n\nclass ThingList{BODY}"
    made = projects.make({"api/v1.py": text})
    assert made.codes == ["API031"]
