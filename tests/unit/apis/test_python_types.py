"""Annotations of Python as types: pydantic's own names beside the plain ones."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.apis import manifests, source
from olmkit.apis.findings import Findings
from olmkit.apis.schema import Options
from olmkit.base.tree import Tree

HEAD = """\
# +groupName=toys.example.com
import datetime
from typing import Annotated, Optional
import pydantic
from pydantic import PositiveInt, conint, conlist, conset, constr, Field
from pydantic.types import NonNegativeInt, StrictStr
from olmkit.runtime.kinds import CustomResource, Model

class Toy(CustomResource):
    value: """


def read(annotation: str) -> tuple[dict[str, Any], list[str]]:
    findings = Findings()
    tree = Tree({"api/v1.py": (HEAD + annotation + "\n").encode()})
    crds = manifests.crds(
        source.read(tree, findings), findings, Options(allow_dangerous_types=True)
    )
    messages = [found.message for found in findings.items]
    if not crds:
        return {}, messages
    (crd,) = crds.values()
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema["properties"]["value"], messages


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("PositiveInt", {"type": "integer", "minimum": 0, "exclusiveMinimum": True}),
        ("NonNegativeInt | None", {"type": "integer", "minimum": 0}),
        ("pydantic.NegativeInt", {"type": "integer", "maximum": 0, "exclusiveMaximum": True}),
        ("pydantic.NonPositiveFloat", {"type": "number", "maximum": 0}),
        ("StrictStr", {"type": "string"}),
        ("pydantic.HttpUrl", {"type": "string", "format": "uri"}),
        ("pydantic.UUID4", {"type": "string", "format": "uuid"}),
        ("pydantic.AwareDatetime", {"type": "string", "format": "date-time"}),
        (
            "conint(ge=1, lt=9)",
            {"type": "integer", "minimum": 1, "maximum": 9, "exclusiveMaximum": True},
        ),
        ('constr(min_length=2, pattern="^a")', {"type": "string", "minLength": 2, "pattern": "^a"}),
        (
            "conlist(conint(le=3), max_length=2)",
            {"type": "array", "items": {"type": "integer", "maximum": 3}, "maxItems": 2},
        ),
        (
            "conset(str, min_length=1)",
            {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "x-kubernetes-list-type": "set",
            },
        ),
        ("Annotated[PositiveInt, Field(le=7)]", {"type": "integer", "minimum": 0, "maximum": 7}),
    ],
)
def test_a_name_of_pydantic_is_a_type_with_limits(annotation: str, schema: dict[str, Any]) -> None:
    found, messages = read(annotation)
    assert messages == []
    assert found | schema == found, found


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        ("conlist()", "does not say what it holds"),
        ("constr(curtail_length=3)", "`curtail_length` of `constr` is not understood"),
        ("print(3)", "`print(3)` is no type"),
        ("pydantic.Json", "is not declared in the sources"),
    ],
)
def test_what_has_no_form_is_a_finding(annotation: str, words: str) -> None:
    _, messages = read(annotation)
    assert [message for message in messages if words in message], messages
