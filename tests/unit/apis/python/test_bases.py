"""The sort of a class, which its direct and indirect bases determine."""

from __future__ import annotations

from typing import Any

import pytest


def test_an_enumeration_can_have_a_custom_base(projects: Any) -> None:
    spec, made = projects.spec(
        "a: Color = Color.RED\nb: Number",
        """
        class Words(StrEnum):
            @classmethod
            def all(cls): ...

        class Color(Words):
            RED = enum.auto()

        class Numbers(int, enum.Enum):
            pass

        class Number(Numbers):
            ONE = 1
        """,
    )
    assert made.codes == []
    assert spec["properties"]["a"]["enum"] == ["red"]
    assert spec["properties"]["b"] == {"type": "integer", "enum": [1]}


@pytest.mark.parametrize(
    "declared",
    [
        "class Other:\n    x: int",
        "from typing import TypedDict\nclass Other(TypedDict):\n    x: int",
        "from typing import NamedTuple\nclass Other(NamedTuple):\n    x: int",
        "class Other(enum.Flag):\n    A = 1",
    ],
)
def test_a_class_of_another_sort_is_a_finding_at_its_use(projects: Any, declared: str) -> None:
    _, made = projects.spec("a: int\nb: Other", declared)
    (found,) = made.findings.items
    assert (found.rule, found.message) == (
        "API006",
        "`Other` is neither a model nor an enumeration",
    )
    assert found.at.column == len("    b: ") + 1


def test_a_base_class_with_fields_that_is_not_a_model_is_a_finding(projects: Any) -> None:
    _, made = projects.spec(
        "a: Part",
        """
        class Mixin:
            x: int

        class Part(Model, Mixin):
            y: int
        """,
    )
    (found,) = made.findings.items
    assert found.rule == "API006"
    assert found.message == "the base class `Mixin` has fields and is not a model"
