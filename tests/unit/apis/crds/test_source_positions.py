"""The source position of each part of a schema, in Python and in Go."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.apis.crds import source_positions

SPEC = ("properties", "spec", "properties")


def _line(made: Any, *keys: Any) -> str:
    """Return the source text at the position that is found."""
    (package,) = (one for one in made.sources.packages if one.kinds())
    at = source_positions.find(made.sources, package.kinds()[0], (*SPEC, *keys))
    return "" if at.line is None else f"{at.line}:{at.column}"


BODY = """\
# +kubebuilder:validation:Pattern=a
own: str
# +kubebuilder:validation:items:Pattern=a
items: list[str]
limited: Annotated[int, Ge(1), Le(3)]
sized: Annotated[list[Annotated[str, MinLen(1)]], MaxLen(2)]
part: Part
parts: dict[str, Part]
named: Name
# +kubebuilder:validation:XValidation:rule="a"
# +kubebuilder:validation:XValidation:rule="b"
ruled: int
"""
BEFORE = """\
# +kubebuilder:validation:MaxLength=3
Name = NewType("Name", str)


class Base(Model):
    # +kubebuilder:validation:Minimum=1
    inherited: int


class Part(Base):
    plain: int
"""


@pytest.mark.parametrize(
    ("keys", "line", "column"),
    [
        (("own", "pattern"), 15, 7),
        (("own", "type"), 16, 5),
        (("items", "items", "pattern"), 17, 7),
        (("items", "maxItems"), 18, 5),
        (("limited", "minimum"), 19, 32),
        (("limited", "maximum"), 19, 39),
        (("sized", "maxItems"), 20, 62),
        (("sized", "items", "minLength"), 20, 49),
        (("part", "properties", "plain", "type"), 11, 5),
        (("part", "properties", "inherited", "minimum"), 6, 7),
        (("parts", "additionalProperties", "properties", "plain", "type"), 11, 5),
        (("named", "maxLength"), 1, 3),
        (("named", "allOf", 0, "maxLength"), 1, 3),
        (("ruled", "x-kubernetes-validations", 1, "rule"), 25, 7),
        (("nowhere", "type"), 30, 5),
    ],
    ids=str,
)
def test_a_keyword_has_the_position_of_its_source(
    projects: Any, keys: tuple[Any, ...], line: int, column: int
) -> None:
    _, made = projects.spec(BODY, BEFORE)
    assert _line(made, *keys) == f"{projects.header_lines + line}:{column}"


def test_a_part_of_an_embedded_struct_has_its_position_there(go_projects: Any) -> None:
    before = """\
    type Common struct {
        // +kubebuilder:validation:Maximum=3
        Size int `json:"size"`
    }
    """
    _, made = go_projects.spec('Common `json:",inline"`', before)
    assert _line(made, "size", "maximum") == f"{go_projects.header_lines + 2}:8"


def test_the_contents_of_an_external_type_have_the_position_of_the_field(go_projects: Any) -> None:
    _, made = go_projects.spec(
        'Port corev1.ContainerPort `json:"port"`', imports='corev1 "k8s.io/api/core/v1"'
    )
    assert _line(made, "port", "properties", "name", "type") == f"{go_projects.header_lines + 4}:5"
