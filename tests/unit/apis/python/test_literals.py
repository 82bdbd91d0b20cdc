"""Values in the source: constants, members, values that JSON cannot represent."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.apis.crds.schema_options import Options

GROUP = "# +groupName=toys.example.com\n"


def test_a_constant_is_resolved_in_its_own_module(projects: Any) -> None:
    made = projects.make(
        {
            "op/consts.py": "from annotated_types import Ge\nBASE = 5\nPORT = BASE\n"
            "AT_LEAST = Ge(BASE)\n",
            "op/api/v1/__init__.py": GROUP,
            "op/api/v1/toy.py": (
                "from typing import Annotated\n"
                "from olmkit.runtime.kinds import CustomResource\n"
                "from op import consts\nfrom op.consts import AT_LEAST, PORT\nBASE = 7\n"
                "class Toy(CustomResource):\n    spec: int = BASE\n    a: int = PORT\n"
                "    b: Annotated[int, AT_LEAST] = consts.PORT\n"
            ),
        }
    )
    assert made.codes == []
    properties = made.schema("toys.example.com_toys.yaml")["properties"]
    assert properties["spec"]["default"] == 7
    assert properties["a"]["default"] == 5
    assert properties["b"] == {"type": "integer", "minimum": 5, "default": 5}


def test_a_named_constant_can_be_a_limit(projects: Any) -> None:
    spec, made = projects.spec(
        "a: Annotated[int, EVEN, SMALL] = 2",
        "EVEN = MultipleOf(2)\nSMALL = Field(le=MOST)\nMOST = 8\n",
    )
    assert made.codes == []
    assert spec["properties"]["a"] == {
        "type": "integer",
        "multipleOf": 2,
        "maximum": 8,
        "default": 2,
    }


def test_names_that_refer_to_each_other_have_no_value(projects: Any) -> None:
    spec, made = projects.spec("a: Annotated[int, A] = A", "A = B\nB = C\nC = A\n")
    assert made.codes == ["API034"]
    assert spec["properties"]["a"] == {"type": "integer"}


CONSTANTS = """
class Color(StrEnum):
    RED = enum.auto()
    DARK_BLUE = "blue"

class Consts:
    PORT: ClassVar[int] = 80
    NAME = "x"

class Part(Model):
    size: str = "1Gi"

def compute():
    return 1

DEFAULT = Color.DARK_BLUE
ROUND = OTHER
OTHER = ROUND
"""


@pytest.mark.parametrize(
    ("field", "default"),
    [
        ("Color = Color.RED", "red"),
        ("Color = DEFAULT", "blue"),
        ("list[Color] = [Color.RED, Color.DARK_BLUE.value]", ["red", "blue"]),
        ("int = Consts.PORT", 80),
        ("str = Consts.NAME", "x"),
        ("int = 60 * 60", 3600),
        ("int = Consts.PORT + 8000", 8080),
        ("str = Field(default_factory=lambda: 'a')", "a"),
        ("int = Field(default_factory=int)", 0),
        ("list[int] = Field(default_factory=lambda: [1])", [1]),
        ("list[int] = list()", None),
        ("dict[str, int] = field(default_factory=dict)", None),
        ("Part = Part()", {}),
        ("Part = Field(default_factory=Part)", {}),
        ("Part = Field(default_factory=lambda: Part())", {}),
        ("Part | None = Part()", {}),
    ],
)
def test_a_default_is_the_value_in_the_source(projects: Any, field: str, default: object) -> None:
    options = Options(allow_dangerous_types=True)
    spec, made = projects.spec(f"a: {field}", CONSTANTS, options=options)
    assert made.codes == []
    assert spec["properties"]["a"].get("default") == default
    assert "required" not in spec


@pytest.mark.parametrize(
    "value",
    [
        "compute()",
        "Part(size='2Gi')",
        "Field(default_factory=compute)",
        "Field(default_factory=lambda: Part(size='2Gi'))",
        "Field(compute())",
        "[Part()]",
        "Consts.NOWHERE",
        "ROUND",
        "2**3",
        "2 * 9223372036854775807",
        "1e400",
        "-1e400",
        "'\\ud800'",
    ],
)
def test_a_default_that_the_source_does_not_show_is_reported(projects: Any, value: str) -> None:
    options = Options(allow_dangerous_types=True)
    spec, made = projects.spec(f"a: int = {value}", CONSTANTS, options=options)
    assert made.codes == ["API034"]
    assert "default" not in spec["properties"]["a"]
    assert "required" not in spec


@pytest.mark.parametrize("marker", ["kubebuilder:default=1", "default=1", "olmkit:nodefault"])
def test_a_computed_default_with_a_marker_is_accepted(projects: Any, marker: str) -> None:
    _, made = projects.spec(f"# +{marker}\n    a: int = max(1, 2)")
    assert made.codes == []


def test_the_default_of_a_nested_field_must_satisfy_its_schema(projects: Any) -> None:
    _, made = projects.spec("a: Part = Part()", "class Part(Model):\n    must: int\n")
    assert made.codes == ["API028"]


def test_a_status_has_no_default(projects: Any) -> None:
    made = projects.module(
        "class Status(Model):\n    ready: int = 0\n\n\n"
        "class Thing(CustomResource):\n    status: Status = Field(default_factory=Status)\n"
    )
    assert made.codes == []
    assert "default" not in made.schema()["properties"]["status"]


@pytest.mark.parametrize("field", ["int = ...", "int = Field(...)", "Annotated[int, Ge(1)] = ..."])
def test_an_ellipsis_makes_a_field_required(projects: Any, field: str) -> None:
    spec, made = projects.spec(f"a: {field}")
    assert made.codes == []
    assert spec["required"] == ["a"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('a: int\n"""Half \\ud800."""', "API002"),
        ('a: Literal["\\udfff"]', "API006"),
        ('a: int = Field(title="\\ud800")', "API006"),
        ('a: str = Field(pattern="\\ud800")', "API006"),
        ("a: int = Field(le=1e400)", "API006"),
    ],
)
def test_a_value_that_no_file_can_represent_is_a_finding(
    projects: Any, body: str, code: str
) -> None:
    _, made = projects.spec(body)
    assert made.codes == [code]
