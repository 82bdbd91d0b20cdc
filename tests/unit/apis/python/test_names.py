"""Names in Python modules: imports, star imports, re-exports, branches."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "# +groupName=toys.example.com\n"
KIND = "\nclass Toy(CustomResource):\n    spec: Spec\n"
BASES = "from olmkit.runtime.kinds import CustomResource, Model\n"


def spec(made: Any) -> dict[str, Any]:
    found: dict[str, Any] = made.schema("toys.example.com_toys.yaml")["properties"]["spec"]
    return found


def module(projects: Any, text: str, **others: str) -> Any:
    files = {f"api/v1/{name}.py": content for name, content in others.items()}
    return projects.make({"api/v1/__init__.py": GROUP, "api/v1/toy.py": text + KIND, **files})


@pytest.mark.parametrize(
    "stars",
    [
        "from olmkit.runtime.kinds import *\nfrom pydantic import *\nfrom typing import *\n",
        "from typing import *\nfrom pydantic import *\nfrom olmkit.runtime.kinds import *\n",
        "from .common import *\n",
    ],
)
def test_a_star_import_has_the_known_names_of_third_party_libraries(
    projects: Any, stars: str
) -> None:
    made = module(
        projects,
        stars + "class Spec(Model):\n    a: Optional[PositiveInt] = Field(default=None, le=3)\n",
        common="from pydantic import *\nfrom .more import *\nfrom olmkit.runtime.kinds import *\n",
        more="from typing import *\n",
    )
    assert made.codes == []
    a = {"type": "integer", "minimum": 0, "exclusiveMinimum": True, "maximum": 3}
    assert spec(made) == {"type": "object", "properties": {"a": a}}


def test_a_star_import_has_enumerations_and_dataclasses(projects: Any) -> None:
    made = module(
        projects,
        "from enum import *\nfrom dataclasses import *\n"
        "from olmkit.runtime.kinds import CustomResource\n"
        'class Color(StrEnum):\n    RED = auto()\n    BLUE = "b"\n'
        "@dataclass\nclass Spec:\n    a: Color = field(default=Color.BLUE)\n",
    )
    assert made.codes == []
    assert spec(made)["properties"]["a"] == {
        "type": "string",
        "enum": ["red", "b"],
        "default": "b",
    }


def test_a_name_is_found_through_any_of_several_star_imports(projects: Any) -> None:
    made = module(
        projects,
        BASES + "from . import common\nfrom .common import Second\n"
        "class Spec(Model):\n    a: Second\n    b: common.First\n    c: common.Third\n",
        common="from .first import *\nfrom .second import *\nfrom .third import Inner as Third\n",
        first=BASES + "class First(Model):\n    x: int\n",
        second="from .deep import *\n",
        deep=BASES + "class Second(Model):\n    y: int\n",
        third=BASES + "class Inner(Model):\n    z: int\n",
    )
    assert made.codes == []
    found = spec(made)["properties"]
    assert {key: list(value["properties"]) for key, value in found.items()} == {
        "a": ["y"],
        "b": ["x"],
        "c": ["z"],
    }


def test_the_last_star_import_takes_precedence(projects: Any) -> None:
    made = module(
        projects,
        BASES + "from .one import *\nfrom .two import *\nclass Spec(Model):\n    a: Part\n",
        one=BASES + "class Part(Model):\n    x: int\n",
        two=BASES + "class Part(Model):\n    y: int\n",
    )
    assert list(spec(made)["properties"]["a"]["properties"]) == ["y"]


def test_modules_that_star_import_each_other_end_the_search(projects: Any) -> None:
    made = module(
        projects,
        BASES + "from .one import *\nclass Spec(Model):\n    a: Nowhere\n",
        one="from .two import *\n",
        two="from .one import *\n",
    )
    assert "API007" in made.codes


BACKPORT = """
try:
    from enum import StrEnum
except ImportError:
    from enum import Enum

    class StrEnum(str, Enum):
        pass
if sys.version_info >= (3, 11):
    from enum import IntEnum
    Size = Annotated[int, Ge(1)]
else:
    from backport import IntEnum
    Size = Annotated[int, Ge(2)]
with suppress(ImportError):
    from pydantic import Field


class Color(StrEnum):
    RED = "red"


class Number(IntEnum):
    ONE = 1


class Spec(Model):
    a: Color
    b: Number
    c: Size = Field(le=5)
"""


def test_a_name_in_another_branch_is_only_a_fallback(projects: Any) -> None:
    head = "import sys\nfrom typing import Annotated\nfrom annotated_types import Ge\n"
    made = module(projects, head + BASES + BACKPORT)
    assert made.codes == []
    assert spec(made)["properties"] == {
        "a": {"type": "string", "enum": ["red"]},
        "b": {"type": "integer", "enum": [1]},
        "c": {"type": "integer", "minimum": 1, "maximum": 5},
    }


def test_a_class_in_an_else_branch_is_read_with_its_docstring(projects: Any) -> None:
    made = module(
        projects,
        BASES + "import sys\nif sys.platform == 'win32':\n    pass\nelse:\n"
        "    # +kubebuilder:validation:MinProperties=1\n"
        '    class Part(Model):\n        """A part."""\n        x: int = 1\n'
        "class Spec(Model):\n    a: Part\n",
    )
    assert made.codes == []
    assert spec(made)["properties"]["a"] == {
        "type": "object",
        "description": "A part.",
        "minProperties": 1,
        "properties": {"x": {"type": "integer", "default": 1}},
    }
