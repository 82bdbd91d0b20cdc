"""Go projects as a whole: packages, groups, kinds, external markers, invalid sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from olmkit.apis.go import source as go_source
from olmkit.apis.go.source import GoOptions

META = 'import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"\n'
KIND = """
type Thing struct {
    metav1.TypeMeta `json:",inline"`
    metav1.ObjectMeta `json:"metadata,omitempty"`
}
"""


class External:
    """A port that provides one external package."""

    def __init__(self, text: str) -> None:
        self.text = text

    def files(self, package: str) -> Mapping[str, bytes] | None:
        return {"/cache/x.go": self.text.encode()} if package == "example.org/x" else None

    def version(self, module: str) -> str:  # noqa: ARG002 - the port's shape
        return ""


def test_group_and_version_come_from_the_package(go_projects: Any) -> None:
    made = go_projects.make(
        {
            "api/a/doc.go": "// +groupName=a.example.com\npackage v1\n",
            "api/a/types.go": "package v1\n" + META + KIND,
            "api/b/types.go": "// +groupName=b.example.com\n// +versionName=v2\npackage x\n"
            + META
            + KIND,
            "api/c/types.go": "// +groupName=c.example.com\n// +kubebuilder:skip\npackage v1\n"
            + META
            + KIND,
        }
    )

    versions = {name: crd["spec"]["versions"][0]["name"] for name, crd in made.crds.items()}
    assert versions == {"a.example.com_things.yaml": "v1", "b.example.com_things.yaml": "v2"}


def test_a_kind_without_a_group_is_reported(go_projects: Any) -> None:
    made = go_projects.make({"api/types.go": "package v1\n" + META + KIND})

    assert made.codes == ["API014"]
    assert made.crds == {}


def test_a_struct_is_not_a_kind_unless_it_embeds_both(go_projects: Any) -> None:
    text = "type List struct {\n    metav1.TypeMeta\n    metav1.ListMeta\n    Float float64\n}\n"
    text += "type Named struct {\n    A metav1.TypeMeta\n    B metav1.ObjectMeta\n}\n"

    made = go_projects.module(text)

    assert (made.crds, made.codes) == ({}, [])


def test_a_type_that_is_defined_by_a_kind_of_another_package_is_a_kind(go_projects: Any) -> None:
    spec = 'type Spec struct {\n    // Size.\n    Size int `json:"size"`\n}\n'
    rule = '// +kubebuilder:validation:XValidation:rule="{}"\n'
    older = "package v1\n" + META + spec
    older += "\n// Thing has words.\n// +kubebuilder:storageversion\n" + rule.format(
        "has(self.spec)"
    )
    older += KIND.strip("\n").replace("}", '    Spec Spec `json:"spec"`\n}')
    newer = 'package v2\nimport v1 "example.com/toys/api/v1"\n\n' + rule.format(
        "self.spec.size > 0"
    )
    newer += "type Thing v1.Thing\n\ntype Other = v1.Thing\n"
    head = "// +groupName=example.com\n"
    made = go_projects.make({"api/v1/t.go": head + older, "api/v2/t.go": head + newer})

    assert made.codes == []
    assert list(made.crds) == ["example.com_things.yaml"]
    first, second = made.schema(), made.schema(version=1)
    assert second.pop("x-kubernetes-validations") == [
        {"rule": "self.spec.size > 0"},
        {"rule": "has(self.spec)"},
    ]
    assert first.pop("x-kubernetes-validations") == [{"rule": "has(self.spec)"}]
    assert second == first


def test_aliases_of_kinds_in_controllers_are_not_apis(go_projects: Any) -> None:
    text = 'package c\nimport appsv1 "k8s.io/api/apps/v1"\n\ntype Deployment appsv1.Deployment\n'

    made = go_projects.make({"internal/c.go": text})

    assert (made.crds, made.codes) == ({}, [])


def test_a_missing_type_is_reported_once(go_projects: Any) -> None:
    body = "".join(f'X{n} lost.T `json:"x{n}"`\n' for n in range(5))
    _, made = go_projects.spec(body, imports='lost "example.org/lost"')

    assert made.codes == ["API007"]


def test_a_typing_error_is_found_in_every_place(go_projects: Any) -> None:
    text = "type Unused struct {\n    // +kubebuilder:validation:minLength=1\n    A float64\n}\n"

    made = go_projects.module(text)

    (found,) = made.findings
    assert found.rule == "API004"
    assert found.hint == "did you mean `+kubebuilder:validation:MinLength`?"
    assert (found.at.line, found.at.column) == (go_projects.header_lines + 2, 8)


def test_unknown_markers_of_external_packages_are_not_reported(
    go_projects: Any,
) -> None:
    external = External(
        """package x

// X is theirs.
// +kubebuilder:validation:minLength=1
// +kubebuilder:validation:Pattern=`[
type X struct {
    // +kubebuilder:validation:MaxLength=3
    A string `json:"a"`
}
"""
    )
    head = "// +groupName=example.com\npackage v1\n" + META + 'import "example.org/x"\n'
    body = KIND.replace("}", '    X x.X `json:"x"`\n}')

    made = go_projects.make({"api/types.go": head + body}, modules=external)

    assert made.codes == []
    assert made.schema()["properties"]["x"]["properties"]["a"]["maxLength"] == 3


class Old:
    """A project with a Kubernetes release that is not in the table."""

    def files(self, package: str) -> Mapping[str, bytes] | None:  # noqa: ARG002
        return None

    def version(self, module: str) -> str:
        return "v0.20.5" if module.startswith("k8s.io/") else ""


def test_a_release_that_is_not_in_the_table_is_reported(go_projects: Any) -> None:
    text = "// +groupName=example.com\npackage v1\n" + META + KIND
    made = go_projects.make({"api/types.go": text}, modules=Old())

    (found,) = made.findings
    assert (found.rule, found.at.path) == ("API025", "go.mod")
    assert "v0.20.5" in found.message
    assert "v0.28" in found.message


def test_text_that_yaml_cannot_represent_is_reported_at_its_line(go_projects: Any) -> None:
    made = go_projects.module(
        """
        // +kubebuilder:rbac:groups="a\x7f",resources=pods,verbs=get

        type Spec struct {
            // Words\x7f.
            A string `json:"a"`
            // +kubebuilder:default="\\x7f"
            B string `json:"b"`
        }

        type Thing struct {
            metav1.TypeMeta `json:",inline"`
            metav1.ObjectMeta `json:"metadata,omitempty"`
            Spec Spec `json:"spec"`
        }
        """
    )
    found = [(one.rule, one.at.line - go_projects.header_lines) for one in made.findings.sorted()]

    assert found == [("API032", 2), ("API032", 6), ("API032", 7)]
    assert made.crds == {}


def test_the_default_of_the_package_is_that_of_the_struct_in_it(go_projects: Any) -> None:
    files = {
        "api/types.go": "// +groupName=example.com\n// +kubebuilder:validation:Optional\n"
        "package v1\n" + META + 'import "example.com/toys/other"\n'
        'type A struct {\n    F int `json:"f"`\n}\n'
        + KIND.replace("}", '    A A `json:"a"`\n    O other.O `json:"o"`\n}'),
        "other/o.go": 'package other\n\ntype O struct {\n    F int `json:"f"`\n}\n',
    }
    schema = go_projects.make(files).schema()

    assert "required" not in schema["properties"]["a"]
    assert schema["properties"]["o"]["required"] == ["f"]


def test_hidden_fields_can_be_omitted(go_projects: Any) -> None:
    text = KIND.replace("}", "    hidden int\n}")

    assert go_projects.module(text).codes == ["API006"]
    made = go_projects.module(text, go_options=GoOptions(ignore_unexported=True))
    assert made.codes == []


def test_a_very_large_file_is_not_read(go_projects: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(go_source, "MAX_SOURCE_SIZE", 10)

    made = go_projects.make({"api/types.go": "package v1\n// long\n"})

    assert made.codes == ["API002"]


def test_kinds_are_found_if_apimachinery_is_imported_with_a_dot(go_projects: Any) -> None:
    made = go_projects.make(
        {
            "api/v1/types.go": """\
            // +groupName=example.com
            package v1

            import . "k8s.io/apimachinery/pkg/apis/meta/v1"

            type Thing struct {
                TypeMeta   `json:",inline"`
                ObjectMeta `json:"metadata,omitempty"`
                At         Time `json:"at"`
            }
            """
        }
    )
    assert made.codes == []
    properties = made.schema()["properties"]
    assert properties["at"] == {"type": "string", "format": "date-time"}


def test_a_package_of_the_project_is_known_by_its_name_and_not_by_its_directory(
    go_projects: Any,
) -> None:
    """An import without a name uses the package's own name, as in Go."""
    made = go_projects.make(
        {
            "api/v1/types.go": """\
            // +groupName=example.com
            package v1

            import (
                metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

                "example.com/toys/api/other"
                "example.com/toys/api/v2"
            )

            type Spec struct {
                A v2.Inner    `json:"a"`
                B other.Inner `json:"b"`
            }

            type Thing struct {
                metav1.TypeMeta   `json:",inline"`
                metav1.ObjectMeta `json:"metadata,omitempty"`
                Spec              Spec `json:"spec"`
            }
            """,
            "api/other/x.go": 'package v2\n\ntype Inner struct {\n\tX string `json:"x"`\n}\n',
            "api/v2/x.go": 'package other\n\ntype Inner struct {\n\tY bool `json:"y"`\n}\n',
        }
    )
    assert made.codes == []
    properties = made.schema()["properties"]["spec"]["properties"]
    assert list(properties["a"]["properties"]) == ["x"]
    assert list(properties["b"]["properties"]) == ["y"]


def test_an_unknown_marker_is_reported_without_its_arguments(go_projects: Any) -> None:
    marker = "// +kubebuilder:printcolumm:name=A,type=string,JSONPath=.spec.foo"
    made = go_projects.module(f"{marker}\ntype Unused struct {{\n    A string\n}}\n")
    (found,) = made.findings
    assert found.message == "`+kubebuilder:printcolumm` is not a known marker"
    assert found.hint == "did you mean `+kubebuilder:printcolumn`?"
