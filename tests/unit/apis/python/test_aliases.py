"""JSON names of a model's fields, compared with pydantic and msgspec."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from pydantic import ConfigDict, create_model
from pydantic.alias_generators import to_camel, to_pascal

ATTRIBUTES = ("container_port", "field_1a", "s3x_y", "x_1", "a__b", "log2_n", "HTTPPort", "size")
IMPORTS = """
from msgspec import Struct
from pydantic import AliasChoices, ConfigDict
from pydantic.alias_generators import to_camel, to_pascal, to_snake

"""


def _names(projects: Any, before: str) -> tuple[list[str], Any]:
    found, made = projects.spec("inner: Inner", before=IMPORTS + before)
    return sorted(found["properties"]["inner"].get("properties", {})), made


@pytest.mark.parametrize("generator", [to_camel, to_pascal])
def test_an_alias_generator_of_pydantic_names_the_fields(projects: Any, generator: Any) -> None:
    fields: dict[str, Any] = dict.fromkeys(ATTRIBUTES, (int, 1))
    model = create_model("Inner", __config__=ConfigDict(alias_generator=generator), **fields)
    body = "".join(f"    {name}: int = 1\n" for name in ATTRIBUTES)
    config = f"    model_config = ConfigDict(alias_generator={generator.__name__})\n"
    names, made = _names(projects, f"class Inner(BaseModel):\n{config}{body}")
    assert made.codes == []
    assert names == sorted(one.alias for one in model.model_fields.values())


@pytest.mark.parametrize(
    "inner",
    [
        "class Inner(BaseModel, alias_generator=to_pascal):\n    a_b: int\n    c_d: int\n",
        (
            "class Inner(BaseModel):\n    model_config = {'alias_generator': to_pascal}\n"
            "    a_b: int\n    c_d: int\n"
        ),
        (
            "class Inner(BaseModel):\n    class Config:\n        alias_generator = to_pascal\n"
            "    a_b: int\n    c_d: int\n"
        ),
        (
            "CONFIG = ConfigDict(alias_generator=to_pascal)\n"
            "class Inner(BaseModel):\n    model_config = CONFIG\n    a_b: int\n    c_d: int\n"
        ),
        (
            "class Base(BaseModel, alias_generator=to_pascal):\n    a_b: int\n"
            "class Inner(Base):\n    model_config = ConfigDict(extra='forbid')\n    c_d: int\n"
        ),
        "class Base(Struct, rename='pascal'):\n    a_b: int\nclass Inner(Base):\n    c_d: int\n",
    ],
)
def test_an_alias_generator_is_found_in_every_place_that_pydantic_reads(
    projects: Any, inner: str
) -> None:
    names, made = _names(projects, inner)
    assert made.codes == []
    assert names == ["AB", "CD"]


def test_a_msgspec_base_passes_its_naming_on() -> None:
    """Confirms that the case above is the behavior of msgspec."""

    class Base(msgspec.Struct, rename="pascal"):
        a_b: int

    class Inner(Base):
        c_d: int

    assert msgspec.json.encode(Inner(1, 2)) == b'{"AB":1,"CD":2}'


def test_without_a_generator_fields_have_the_names_of_attributes(projects: Any) -> None:
    names, made = _names(projects, "class Inner(Model, alias_generator=None):\n    a_b: int\n")
    assert made.codes == []
    assert names == ["a_b"]


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        ("class Inner(Model, alias_generator=to_snake):\n    a: int\n", "is not supported"),
        ("class Inner(Model, alias_generator=lambda n: n):\n    a: int\n", "is not supported"),
        ("class Inner(Struct, rename=str.upper):\n    a: int\n", "is not supported"),
        (
            (
                "class Base(Model):\n    a_b: int\n"
                "class Inner(Base, alias_generator=to_pascal):\n    c: int\n"
            ),
            "changes the names of inherited fields",
        ),
    ],
)
def test_an_alias_generator_that_cannot_be_evaluated_is_a_finding(
    projects: Any, inner: str, words: str
) -> None:
    _, made = _names(projects, inner)
    (finding,) = made.findings.items
    assert finding.rule == "API006"
    assert re.search(words, finding.message)


@pytest.mark.parametrize(
    ("field", "name"),
    [
        ("a: int = Field(alias='x')", "x"),
        ("a: int = Field(alias='x', serialization_alias='x')", "x"),
        ("a: int = Field(validation_alias=AliasChoices('old', 'a'))", "a"),
        ("a: int = Field(serialization_alias='x', validation_alias=AliasChoices('y', 'x'))", "x"),
    ],
)
def test_a_field_has_the_name_under_which_it_is_serialized(
    projects: Any, field: str, name: str
) -> None:
    names, made = _names(projects, f"class Inner(Model):\n    {field}\n")
    assert made.codes == []
    assert names == [name]


@pytest.mark.parametrize(
    "field",
    [
        "a: int = Field(validation_alias='x')",
        "a: int = Field(serialization_alias='x')",
        "a: int = Field(alias='x', serialization_alias='y')",
        "a: int = Field(alias='x', validation_alias='y')",
    ],
)
def test_a_field_with_another_name_for_validation_is_a_finding(projects: Any, field: str) -> None:
    _, made = _names(projects, f"class Inner(Model):\n    {field}\n")
    assert made.codes == ["API017"]


def test_a_field_that_is_declared_again_with_another_name_is_a_finding(projects: Any) -> None:
    """The schema would otherwise have the field under both names."""
    _, made = _names(
        projects,
        "class Root(Model):\n    a: str = Field('x', alias='b')\n"
        "class Base(Root):\n    c: int = 1\n"
        "class Inner(Base):\n    a: str = 'y'\n",
    )
    (finding,) = made.findings.items
    assert (finding.rule, finding.message) == ("API017", "`a` is `a` here and `b` in a base class")
