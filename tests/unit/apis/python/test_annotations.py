"""Annotations of Python as types: the names of pydantic and of the standard library."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.apis.crds import manifests
from olmkit.apis.crds.schema_options import Options
from olmkit.apis.findings import Findings
from olmkit.apis.python import source
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
def test_a_type_of_pydantic_has_its_limits(annotation: str, schema: dict[str, Any]) -> None:
    found, messages = read(annotation)
    assert messages == []
    assert found | schema == found, found


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        ("conlist()", "does not declare its item type"),
        ("constr(curtail_length=3)", "`curtail_length` of `constr` is not supported"),
        ("print(3)", "`print(3)` is not a type"),
        ("pydantic.Json", "is not declared in the sources"),
    ],
)
def test_an_annotation_without_a_schema_is_a_finding(annotation: str, words: str) -> None:
    _, messages = read(annotation)
    assert [message for message in messages if words in message], messages


@pytest.mark.parametrize(
    ("alias", "schema"),
    [
        ("X = int", {"type": "integer"}),
        ("X = str | None", {"type": "string"}),
        ("X = Optional[int]", {"type": "integer"}),
        ("X = PositiveInt", {"type": "integer", "minimum": 0, "exclusiveMinimum": True}),
        ("Y = int\nX = Y", {"type": "integer"}),
        ("# +kubebuilder:validation:Minimum=3\nX = int", {"type": "integer", "minimum": 3}),
        ("X: typing.TypeAlias = 'int'", {"type": "integer"}),
        ("X = typing.NewType('X', int)", {"type": "integer"}),
        ("X = tuple[str, ...]", {"type": "array", "items": {"type": "string"}}),
        ("class Y(Model):\n    a: int = 0\nX = Y", {"properties": {"a": {"type": "integer"}}}),
    ],
)
def test_an_alias_is_replaced_by_its_type(
    projects: Any, alias: str, schema: dict[str, Any]
) -> None:
    head = "import typing\nfrom pydantic import PositiveInt\n"
    spec, made = projects.spec("# +olmkit:nodefault\na: X", head + alias)
    assert made.codes == []
    found = dict(spec["properties"]["a"])
    for part in found.get("properties", {}).values():
        part.pop("default")
    assert found | schema == found


@pytest.mark.parametrize("alias", ["X = 3", "X = 'int'", "X = A | B", "X = list", "X = open('x')"])
def test_a_value_that_is_not_a_type_is_a_finding_at_its_use(projects: Any, alias: str) -> None:
    _, made = projects.spec("a: X", "A = 1\nB = 2\n" + alias)
    (found,) = made.findings.items
    assert (found.rule, found.message) == (
        "API006",
        "`X` is a type that cannot be read from the source",
    )


def test_an_alias_that_no_kind_uses_can_have_any_type(projects: Any) -> None:
    aliases = (
        "from collections.abc import Callable\nfrom typing import NewType, Union\n"
        "Handler = Callable[[int], str]\nNumber = Union[int, float]\nBoth = int | float\n"
        "Table = dict[int, str]\nWide = NewType('Wide', complex)\n"
    )
    _, made = projects.spec("a: int", aliases)
    assert made.codes == []
    assert projects.make({"controllers/thing.py": aliases}).codes == []


@pytest.mark.parametrize(
    ("key", "fits"),
    [
        ("Color", True),
        ("Name", True),
        ("Short", True),
        ("Literal['a', 'b']", True),
        ("Number", False),
        ("Literal[1]", False),
        ("Part", False),
        ("Count", False),
        ("bytes", False),
    ],
)
def test_keys_of_a_map_are_strings(projects: Any, key: str, fits: bool) -> None:
    _, made = projects.spec(
        f"a: dict[{key}, int]",
        """
        class Color(StrEnum):
            RED = "red"
        class Number(IntEnum):
            ONE = 1
        class Part(Model):
            x: int
        Short = Annotated[str, MaxLen(3)]
        Name = NewType("Name", Short)
        Count = NewType("Count", int)
        """,
    )
    assert made.codes == ([] if fits else ["API006"])


@pytest.mark.parametrize("annotation", ["Outer.Inner", "list[Outer.Inner]", "Inner"])
def test_a_nested_class_must_move_to_module_level(annotation: str) -> None:
    outer = "\nclass Outer(Model):\n    class Inner(Model):\n        size: int\n"
    _, messages = read(annotation + outer)

    assert [one for one in messages if "is declared inside a class" in one]


@pytest.mark.parametrize("annotation", ["ClassVar[int]", "'ClassVar[int]'", "ClassVar"])
def test_a_class_variable_is_not_a_field(projects: Any, annotation: str) -> None:
    spec, made = projects.spec(f"a: int\nb: {annotation} = 3")
    assert made.codes == []
    assert list(spec["properties"]) == ["a"]


def test_a_parametrized_generic_model_is_a_finding(projects: Any) -> None:
    _, made = projects.spec("a: Box[int]", "class Box(Model):\n    x: int\n")
    assert [one.message for one in made.findings.items] == [
        "`Box[int]` is generic, and a CRD has no generic types"
    ]
