"""Reading Python sources: the targets of comments, packages, names, invalid files."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.apis.findings import Findings
from olmkit.apis.model import Struct
from olmkit.apis.python import source
from olmkit.base.tree import Tree

KIND = """\
class Thing(CustomResource):
    x: int
"""


def names_of(struct: Any) -> list[str]:
    return [marker.name for marker in struct.markers]


def field_markers(projects: Any, body: str) -> dict[str, list[str]]:
    """Return the markers of each attribute, for a model with this body."""
    indented = "".join(f"    {line}\n" if line else "\n" for line in body.splitlines())
    made = projects.module(f"class M(Model):\n{indented}")
    (model,) = [d for d in made.sources.declarations.values() if d.name.name == "M"]
    assert isinstance(model, Struct)
    return {field.name: names_of(field) for field in model.fields}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("# +nullable\nx: int", {"x": ["nullable"]}),
        ("#+nullable\nx: int", {"x": ["nullable"]}),
        ("# +nullable\n\nx: int", {"x": ["nullable"]}),
        ("# +nullable\n\n# Words.\nx: int", {"x": ["nullable"]}),
        ("# +optional\n\n# +nullable\nx: int", {"x": ["optional", "nullable"]}),
        ("# +required\n\n# +optional\n\n# +nullable\nx: int", {"x": ["optional", "nullable"]}),
        ("x: int\n# +nullable\ny: int", {"x": [], "y": ["nullable"]}),
        ("x: int\n'''Words.'''\n\n# +nullable\n\ny: int", {"x": [], "y": ["nullable"]}),
        ("'''Words.'''\n# +nullable\nx: int", {"x": ["nullable"]}),
        ("x: int  # +nullable", {"x": []}),
        ("x: int\n# +nullable", {"x": []}),
        ("x: str = '''\n# +nullable\n'''\ny: int", {"x": [], "y": []}),
        ("# + nullable\nx: int", {"x": []}),
        ("# ++nullable\nx: int", {"x": []}),
        ("# + [ ] a list item\nx: int", {"x": []}),
    ],
)
def test_markers_of_a_field_are_in_the_group_above_it_and_its_documentation(
    projects: Any, body: str, expected: dict[str, list[str]]
) -> None:
    assert field_markers(projects, body) == expected


@pytest.mark.parametrize(
    ("text", "on_type", "on_package"),
    [
        ("# +k8s:deepcopy-gen=x\n{}", ["k8s:deepcopy-gen"], []),
        ("# +kubebuilder:subresource:status\n{}", ["kubebuilder:subresource:status"], []),
        ("# +kubebuilder:skipversion\n\n# Words.\n{}", ["kubebuilder:skipversion"], []),
        ("# +kubebuilder:skip\n\n{}", [], ["kubebuilder:skip"]),
        (
            "# +kubebuilder:skip\n\n# +kubebuilder:unservedversion\n\n{}",
            ["kubebuilder:unservedversion"],
            ["kubebuilder:skip"],
        ),
        ("{}\n\n# +kubebuilder:skip\n", [], ["kubebuilder:skip"]),
        ("{}\n\ndef f():\n    # +kubebuilder:skip\n    pass\n    # +kubebuilder:skip\n", [], []),
        ("{}\n\n# +kubebuilder:skip\ndef f():\n    pass\n", [], ["kubebuilder:skip"]),
        ("{}\n\n# +kubebuilder:skip\nclass Handler:\n    pass\n", [], ["kubebuilder:skip"]),
        (
            "{}\n\nclass Handler:\n    # +kubebuilder:skip\n    async def f(self):\n        pass\n",
            [],
            ["kubebuilder:skip"],
        ),
    ],
)
def test_markers_belong_to_types_and_packages(
    projects: Any, text: str, on_type: list[str], on_package: list[str]
) -> None:
    made = projects.module(text.format(KIND))
    (package,) = made.sources.packages
    (thing,) = [d for d in made.sources.declarations.values() if d.name.name == "Thing"]
    assert names_of(thing) == on_type
    assert names_of(package) == ["groupName", *on_package]


def test_markers_can_be_between_decorators_and_at_the_start_of_a_class(projects: Any) -> None:
    made = projects.module(
        '''
        # +kubebuilder:storageversion
        @dataclass
        # +kubebuilder:deprecatedversion
        class Thing(CustomResource):
            # +kubebuilder:subresource:status
            """Words."""

            x: int
        '''
    )
    (thing,) = [d for d in made.sources.declarations.values() if d.name.name == "Thing"]
    assert names_of(thing) == [
        "kubebuilder:storageversion",
        "kubebuilder:deprecatedversion",
        "kubebuilder:subresource:status",
    ]
    assert made.codes == []


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        (
            "# +kubebuilder:validation:maximum=1\nx: int",
            "API004",
            "did you mean `+kubebuilder:validation:Maximum`?",
        ),
        (
            "# +k8s:minLength=1\nx: str",
            "API004",
            "did you mean `+kubebuilder:validation:MinLength`?",
        ),
        ("# +nullabel\nx: str", "API004", "did you mean `+nullable`?"),
        ("# + nullable\nx: str", "API004", "write `+nullable`, without a space"),
        (
            "# kubebuilder:validation:Maximum=3\nx: int",
            "API004",
            "write `+kubebuilder:validation:Maximum`, with a plus sign",
        ),
        ("# +kubebuilder:something\nx: str", "API004", ""),
        ("# +kubebuilder:skip\nx: str", "API005", "it belongs on a package"),
        ("x: str  # +nullable", "API005", "put it on a separate line above"),
        ("x: str\n# +nullable", "API005", "put it directly above what it belongs to"),
        ('x: str\n"""Words.\n\n+nullable\n"""', "API022", "write it as a comment: `# +nullable`"),
        ("x = 1\ny: str", "API021", "write `x: <type> = …`, or `ClassVar` if this is intended"),
    ],
)
def test_an_ambiguous_marker_is_reported_and_has_no_effect(
    projects: Any, text: str, code: str, hint: str
) -> None:
    schema, made = projects.spec(text)
    assert made.codes == [code]
    (found,) = made.findings
    assert found.hint == hint
    assert found.severity == "warning"
    assert "nullable" not in str(schema)


@pytest.mark.parametrize(
    "text",
    ["# +kubebuilder:scaffold:imports", "# +genclient:noStatus", "# +foo", "# +1 for this", "# +"],
)
def test_a_marker_of_another_tool_is_ignored(projects: Any, text: str) -> None:
    assert projects.module(f"{text}\n\n\n{KIND}").codes == []


def test_an_invalid_marker_is_a_finding_with_its_column(projects: Any) -> None:
    _, made = projects.spec("# +kubebuilder:validation:MaxLength=1.5\nx: str")
    assert made.codes == ["API003"]
    (found,) = made.findings
    line = "    # +kubebuilder:validation:MaxLength=1.5"
    assert found.at is not None
    assert found.at.column == line.index("1.5") + 1


def test_columns_count_characters(projects: Any) -> None:
    _, made = projects.spec("é_é: \"Literal[1.5, 'ä']\"\nß: Nowhere")
    (first, second) = made.findings.sorted()
    assert (first.at.column, second.at.column) == (10, 8)


@pytest.mark.parametrize(
    ("files", "packages"),
    [
        ({"api/v1/__init__.py": "# +groupName=a", "api/v1/types.py": ""}, [("api.v1", "a", "v1")]),
        (
            {"api/v1.py": "# +groupName=a", "api/v2.py": "# +groupName=a"},
            [("api.v1", "a", "v1"), ("api.v2", "a", "v2")],
        ),
        ({"src/api/v1/types.py": "# +groupName=a"}, [("api.v1.types", "a", "v1")]),
        (
            {"api/types.py": "# +groupName=a\n# +versionName=v1beta1"},
            [("api.types", "a", "v1beta1")],
        ),
        ({"api/v1/__init__.py": "", "api/v1/types.py": ""}, [("api.v1", None, "v1")]),
        ({"api/v1/__init__.py": "# +groupName="}, [("api.v1", "", "v1")]),
    ],
)
def test_packages_have_groups_and_versions(
    projects: Any, files: dict[str, str], packages: list[tuple[str, str | None, str]]
) -> None:
    made = projects.make(files)
    assert [(p.module, p.group, p.version) for p in made.sources.packages] == packages


def test_types_are_resolved_through_imports_of_the_project(projects: Any) -> None:
    made = projects.make(
        {
            "op/api/v1/__init__.py": ("# +groupName=a.b\nfrom .parts import *"),
            "op/api/v1/parts.py": (
                "from __future__ import annotations\nfrom pydantic import BaseModel as B\n"
                "class Part(B):\n    x: int\n"
            ),
            "op/shared/__init__.py": "from op.shared.inner import Shared",
            "op/shared/inner.py": (
                "import dataclasses as d\n@d.dataclass\nclass Shared:\n    y: str\n"
            ),
            "op/api/v1/things.py": (
                "import typing as t\nif t.TYPE_CHECKING:\n"
                "    from ...shared import Shared\n"
                "import olmkit.runtime.kinds as k\nfrom . import parts\n"
                "from op.api.v1 import Part\n"
                "class Thing(k.CustomResource):\n    a: Part\n    b: 't.Optional[Shared]' = None\n"
                "    c: list[parts.Part]\n"
            ),
        }
    )
    assert made.codes == []
    properties = made.schema("a.b_things.yaml")["properties"]
    assert properties["a"]["properties"] == {"x": {"type": "integer"}}
    assert properties["b"]["properties"] == {"y": {"type": "string"}}
    assert properties["c"]["items"]["required"] == ["x"]


def test_a_kind_is_also_recognized_by_its_fields(projects: Any) -> None:
    made = projects.module(
        """
        @dataclass
        class Thing:
            api_version: str
            kind: str
            metadata: ObjectMeta
            x: int

        @dataclass
        class ThingList:
            api_version: str
            kind: str
            metadata: Quantity
            items: list[Thing]
        """
    )
    assert list(made.crds) == ["example.com_things.yaml"]
    assert sorted(made.schema()["properties"]) == ["apiVersion", "kind", "metadata", "x"]
    assert made.schema()["properties"]["metadata"] == {"type": "object"}


@pytest.mark.parametrize(
    ("base", "code"),
    [("Mixin", "API007"), ("elsewhere.Base", "API007"), ("Generic[T]", "API006")],
)
def test_a_base_class_that_hides_fields_is_a_finding(projects: Any, base: str, code: str) -> None:
    made = projects.module(
        f"from typing import Generic\n\n\nclass Thing({base}, CustomResource):\n    x: int\n"
    )
    assert made.codes == [code]


UNRELATED = """
from collections.abc import Callable
from dataclasses import dataclass

from elsewhere import Client


@dataclass
class Settings:
    now: Callable[[], str]
    client: Client
    pair: tuple[int, str]
"""


def test_a_dataclass_next_to_a_reconciler_is_not_an_api_and_can_have_any_field(
    projects: Any,
) -> None:
    assert projects.make({"controllers/thing.py": UNRELATED}).codes == []


def test_a_dataclass_that_a_kind_uses_is_checked_wherever_it_is(projects: Any) -> None:
    api = """
    # +groupName=example.com
    from controllers.thing import Settings
    from olmkit.runtime.kinds import CustomResource


    class Thing(CustomResource):
        spec: list[Settings]
    """
    made = projects.make({"controllers/thing.py": UNRELATED, "api/v1.py": api})
    assert set(made.codes) == {"API006", "API007"}


def test_classes_that_derive_from_each_other_end_the_search(projects: Any) -> None:
    made = projects.module("class A(B):\n    x: int\n\n\nclass B(A):\n    y: int\n")
    assert made.crds == {}


@pytest.mark.parametrize(
    ("name", "data", "code", "line"),
    [
        ("syntax", b"x = 1\ny = (\n", "API001", 2),
        ("indent", b"class A:\nx = 1\n", "API001", 2),
        ("null", b"x = 1\0", "API001", None),
        ("binary", bytes(range(256)), "API002", None),
        ("latin", "x = 'é'".encode("latin-1"), "API002", None),
        ("coding", b"# -*- coding: nonsense -*-\n", "API002", None),
        ("deep", b"x = " + b"(" * 5000, "API001", None),
        ("minus", b"x = " + b"-" * 200_000 + b"1", "API001", None),
        ("large", b"#" * (source.MAX_SOURCE_SIZE + 1), "API002", None),
    ],
)
def test_an_unreadable_file_is_a_finding_and_the_others_are_read(
    name: str, data: bytes, code: str, line: int | None
) -> None:
    findings = Findings()
    read = source.read(Tree({f"api/{name}.py": data, "api/v1.py": SMALL}), findings)
    (found,) = findings
    assert found.rule == code
    assert found.at is not None
    assert found.at.path == f"api/{name}.py"
    if line:
        assert found.at.line == line
    assert [k.name.name for p in read.packages for k in p.kinds()] == ["Thing"]


BOM = b"\xef\xbb\xbf"
SMALL = b"# +groupName=a.b\nfrom olmkit import CustomResource\nclass Thing(CustomResource): ...\n"


@pytest.mark.parametrize(
    "data",
    [BOM + SMALL.replace(b"\n", b"\r\n"), b"# -*- coding: latin-1 -*-\n# \xe9\n\n" + SMALL],
    ids=["bom and crlf", "latin-1"],
)
def test_other_encodings_and_line_endings_are_read(data: bytes) -> None:
    findings = Findings()
    read = source.read(Tree({"api/v1.py": data}), findings)
    assert not findings.items
    assert [k.name.name for p in read.packages for k in p.kinds()] == ["Thing"]


def test_invalid_escapes_in_the_source_are_not_reported() -> None:
    findings = Findings()
    source.read(Tree({"a.py": b"x = '\\d'\n"}), findings)
    assert not findings.items


@pytest.mark.parametrize(
    ("annotation", "message", "hint"),
    [
        ("Literal['a']", "`Literal`", "add `from typing import Literal`"),
        ("Any", "`Any`", "add `from typing import Any`"),
        ("datetime", "`datetime`", "add `from datetime import datetime`"),
        ("Storage", "`Storage`", "import it, or declare it in the package"),
        ("typing.Optional[str]", "`typing.Optional`", "add `import typing`"),
    ],
)
def test_a_name_that_is_not_imported_is_reported_with_its_import(
    projects: Any, annotation: str, message: str, hint: str
) -> None:
    made = projects.make(
        {
            "api/v1.py": f"""
            # +groupName=example.com
            from olmkit.runtime.kinds import CustomResource, Model


            class Spec(Model):
                x: {annotation}


            class Thing(CustomResource):
                spec: Spec
            """
        }
    )

    (found,) = made.findings
    assert found.rule == "API007"
    assert found.message == f"{message} is neither declared nor imported in this module"
    assert found.hint == hint


def test_a_base_class_that_is_not_imported_is_the_only_finding(projects: Any) -> None:
    made = projects.make(
        {
            "api/v1.py": """
            # +groupName=example.com
            from olmkit.runtime.kinds import CustomResource


            class Spec(BaseModel):
                # +kubebuilder:validation:Maximum=3
                x: int


            class Thing(CustomResource):
                spec: Spec
            """
        }
    )

    (found,) = made.findings
    assert (found.rule, found.hint) == ("API007", "add `from pydantic import BaseModel`")


@pytest.mark.parametrize(
    ("gvk", "messages"),
    [
        ('GVK(group="example.com", version="v1", kind="Thing")', []),
        ('GVK("example.com", "v1", "Thing")', []),
        ('GVK(group=GROUP, version="v1", kind="Thing")', []),
        (
            'GVK(group="x.com", version="v2", kind="Things")',
            [
                "the `gvk` of `Thing` has the group `x.com`, but its package has `example.com`",
                "the `gvk` of `Thing` has the version `v2`, but its package has `v1`",
                "the `gvk` of `Thing` has the kind `Things`, but its class has `Thing`",
            ],
        ),
    ],
)
def test_a_kind_whose_gvk_differs_from_its_crd_is_reported(
    projects: Any, gvk: str, messages: list[str]
) -> None:
    made = projects.make(
        {
            "api/v1.py": f"""
            # +groupName=example.com
            from typing import ClassVar
            from olmkit.runtime.kinds import GVK, CustomResource, Model


            class Spec(Model):
                x: int


            class Thing(CustomResource):
                gvk: ClassVar[GVK] = {gvk}
                spec: Spec
            """
        }
    )

    said = [one.message for one in made.findings if one.rule == "API037"]
    assert said == messages


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ('Field(1, ge=0, json_schema_extra={"maximum": 3})', ["API033"]),
        ("Field(1, json_schema_extra=None, deprecated=False)", []),
        ("Field(1, strict=True, frozen=True, repr=False)", []),
        ('Field(1, deprecated="use y")', ["API033"]),
        ('field(default=1, metadata={"maximum": 3})', ["API033"]),
    ],
)
def test_metadata_that_does_not_reach_the_crd_is_reported(
    projects: Any, call: str, codes: list[str]
) -> None:
    made = projects.make(
        {
            "api/v1.py": f"""
            # +groupName=example.com
            from dataclasses import field
            from pydantic import Field
            from olmkit.runtime.kinds import CustomResource, Model


            class Spec(Model):
                x: int = {call}


            class Thing(CustomResource):
                spec: Spec
            """
        }
    )

    assert made.codes == codes
