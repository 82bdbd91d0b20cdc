"""Schemas of Python types: each form of annotation, default, constraint and marker."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.apis.crds.schema_options import Options
from olmkit.apis.crds.well_known import QUANTITY_PATTERN

INT_OR_STRING = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}

TYPES: list[tuple[str, Any]] = [
    ("bool", {"type": "boolean"}),
    ("str", {"type": "string"}),
    ("bytes", {"type": "string", "format": "byte"}),
    ("int", {"type": "integer"}),
    ("Int32", {"type": "integer", "format": "int32"}),
    ("Int64", {"type": "integer", "format": "int64"}),
    ("datetime.datetime", {"type": "string", "format": "date-time"}),
    ("datetime.timedelta", {"type": "string"}),
    ("Duration", {"type": "string"}),
    ("Quantity", {**INT_OR_STRING, "pattern": QUANTITY_PATTERN}),
    ("IntOrString", INT_OR_STRING),
    ("int | str", INT_OR_STRING),
    ("Union[str, int]", INT_OR_STRING),
    ("RawExtension", {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    ("JSON", {"x-kubernetes-preserve-unknown-fields": True}),
    ("ObjectMeta", {"type": "object"}),
    ("list[str]", {"type": "array", "items": {"type": "string"}}),
    ("tuple[int, ...]", {"type": "array", "items": {"type": "integer"}}),
    (
        "set[str]",
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    ),
    ("dict[str, int]", {"type": "object", "additionalProperties": {"type": "integer"}}),
    (
        "dict[str, list[Int32]]",
        {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "items": {"type": "integer", "format": "int32"},
            },
        },
    ),
    ('Literal["b", "a"]', {"type": "string", "enum": ["b", "a"]}),
    ("Literal[1, 2]", {"type": "integer", "enum": [1, 2]}),
    ("Optional[int]", {"type": "integer"}),
    ("None | int", {"type": "integer"}),
    ('"int"', {"type": "integer"}),
    ("Annotated[int, Ge(1), Le(5)]", {"type": "integer", "minimum": 1, "maximum": 5}),
    (
        "Annotated[int, Gt(1), Lt(LIMIT)]",
        {
            "type": "integer",
            "minimum": 1,
            "exclusiveMinimum": True,
            "maximum": 9,
            "exclusiveMaximum": True,
        },
    ),
    ("Annotated[int, Interval(ge=1, le=2)]", {"type": "integer", "minimum": 1, "maximum": 2}),
    ("Annotated[int, MultipleOf(2)]", {"type": "integer", "multipleOf": 2}),
    ("Annotated[str, MinLen(1), MaxLen(3)]", {"type": "string", "minLength": 1, "maxLength": 3}),
    (
        "Annotated[list[str], Len(1, 3)]",
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
    ),
    (
        "Annotated[dict[str, str], MaxLen(3)]",
        {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 3},
    ),
    (
        "list[Annotated[str, MinLen(1)]]",
        {"type": "array", "items": {"type": "string", "minLength": 1}},
    ),
    ('Annotated[str, Field(pattern="^a$")]', {"type": "string", "pattern": "^a$"}),
    ("Annotated[int, Ge(1)] | None", {"type": "integer", "minimum": 1}),
]


@pytest.mark.parametrize(("annotation", "schema"), TYPES, ids=[a for a, _ in TYPES])
def test_each_annotation_has_its_schema(projects: Any, annotation: str, schema: Any) -> None:
    found, made = projects.spec(f"x: {annotation}", before="LIMIT = 9")
    assert found["properties"]["x"] == schema
    assert found["required"] == ["x"]
    assert made.codes == []


REFUSED: list[tuple[str, str]] = [
    ("Any", "API006"),
    ("object", "API006"),
    ("list", "API006"),
    ("dict", "API006"),
    ("float", "API006"),
    ("complex", "API006"),
    ("int | bool", "API006"),
    ("tuple[int, str]", "API006"),
    ("dict[int, str]", "API006"),
    ("set[dict[str, str]]", "API006"),
    ('Literal["a", 1]', "API006"),
    ("Literal[1.5]", "API006"),
    ("Nowhere", "API007"),
    ("somewhere.Thing", "API007"),
    ("lambda: 0", "API006"),
    ('"not a type"', "API006"),
    ("None", "API006"),
    ("list[Any]", "API006"),
    ("Annotated[str, Ge(1)]", "API009"),
    ("Annotated[int, MinLen(1)]", "API009"),
    ("Annotated[int, Ge(1.5)]", "API009"),
    ("Annotated[int, Ge(unknown())]", "API006"),
    ('Annotated[int, Ge("1")]', "API006"),
    ("Annotated[str, annotated_types.Predicate(str.islower)]", "API006"),
    ("Annotated[int, Field(wrong=1)]", "API006"),
]


@pytest.mark.parametrize(("annotation", "code"), REFUSED, ids=[a for a, _ in REFUSED])
def test_a_type_without_a_schema_is_a_finding_at_its_place(
    projects: Any, annotation: str, code: str
) -> None:
    _, made = projects.spec(f"x: {annotation}")
    assert made.codes == [code]
    (found,) = made.findings
    assert found.at is not None
    assert found.at.line == projects.header_lines + 4
    assert found.at.column is not None


DEFAULTS: list[tuple[str, Any]] = [
    ("x: int = 1", 1),
    ("x: int = -1", -1),
    ('x: str = "a"', "a"),
    ("x: bool = False", False),
    ("x: list[int] = [1, 2]", [1, 2]),
    ('x: dict[str, str] = {"a": "b"}', {"a": "b"}),
    ("x: int = LIMIT", 9),
    ("x: Color = Color.RED", "red"),
    ("x: int = Field(default=3, ge=1)", 3),
    ("x: int = Field(3)", 3),
    ("# +kubebuilder:default=7\n    x: int = 1", 7),
    ("# +default=8\n    x: int = 1", 8),
]


@pytest.mark.parametrize(("line", "default"), DEFAULTS, ids=[line for line, _ in DEFAULTS])
def test_a_literal_default_is_the_default_of_the_schema(
    projects: Any, line: str, default: Any
) -> None:
    found, made = projects.spec(
        line, before='LIMIT = 9\n\n\nclass Color(StrEnum):\n    RED = "red"\n    BLUE = "blue"\n'
    )
    assert made.codes == []
    assert found["properties"]["x"]["default"] == default
    assert "required" not in found


@pytest.mark.parametrize(
    "line",
    [
        "x: int | None = None",
        "x: list[int] = []",
        "x: dict[str, int] = {}",
        "x: list[int] = Field(default_factory=list)",
        "x: list[int] = field(default_factory=list)",
        "# +olmkit:nodefault\n    x: int = 1",
    ],
)
def test_a_field_can_be_optional_without_a_default_in_the_schema(projects: Any, line: str) -> None:
    found, made = projects.spec(line)
    assert made.codes == []
    assert "default" not in found["properties"]["x"]
    assert "required" not in found


@pytest.mark.parametrize(
    "line", ['x: int = "a"', "x: str = 1", "x: bool = 1", "x: int = True", 'x: Literal["a"] = "b"']
)
def test_a_default_of_another_type_is_a_finding(projects: Any, line: str) -> None:
    assert projects.spec(line)[1].codes == ["API018"]


@pytest.mark.parametrize(
    ("line", "is_required"),
    [
        ("x: int", True),
        ("x: int | None", True),
        ("x: int = Field(ge=1)", True),
        ("x: int = Field(...)", True),
        ("x: int = 1", False),
        ("# +optional\n    x: int", False),
        ("# +required\n    x: int = 1", True),
        ("# +k8s:required\n    x: int = 1", True),
        ("# +required\n    # +kubebuilder:validation:Optional\n    x: int", False),
        ("# +optional\n    # +kubebuilder:validation:Required\n    x: int", True),
        ("# +optional\n    # +required\n    x: int", False),
    ],
)
def test_a_field_is_required_without_a_default_or_with_a_marker(
    projects: Any, line: str, is_required: bool
) -> None:
    found, _ = projects.spec(line)
    assert found.get("required", []) == (["x"] if is_required else [])


def test_a_package_can_make_fields_optional(projects: Any) -> None:
    made = projects.module(
        """
        # +kubebuilder:validation:Optional

        class Thing(CustomResource):
            a: int

            # +required
            b: int
        """
    )
    assert made.schema()["required"] == ["b"]


def test_required_in_the_kubernetes_sense_excludes_empty_values(projects: Any) -> None:
    found, _ = projects.spec(
        """
        # +k8s:required
        a: str
        # +k8s:required
        b: list[str]
        # +k8s:required
        # +kubebuilder:validation:MinLength=3
        c: str
        # +k8s:required
        d: int
        """
    )
    properties = found["properties"]
    assert properties["a"]["minLength"] == 1
    assert properties["b"]["minItems"] == 1
    assert properties["c"]["minLength"] == 3
    assert properties["d"] == {"type": "integer"}


def test_the_keyword_of_a_documentation_comment_ends_with_a_colon(projects: Any) -> None:
    spec, made = projects.spec("#: How many:\n#: a number.\n#:\n#: +optional\na: int\n")
    assert made.codes == []
    assert spec["properties"]["a"]["description"] == "How many:\na number."
    assert "required" not in spec


def test_descriptions_come_from_docstrings_comments_and_fields(projects: Any) -> None:
    found, made = projects.spec(
        '''
        """Words of the spec.

        TODO: nothing to see
        And more.
        ---
        Private.
        """

        a: int
        """After the field."""

        # Above the field.
        # +optional
        b: int

        c: Annotated[int, Field(description="In the field.", title="C", examples=[3])]

        d: Inner

        e: Inner
        """Own words."""

        f: list[Inner]
        ''',
        before='class Inner(Model):\n    """Words of inner."""\n\n    x: int = 0\n',
    )
    assert made.codes == []
    assert found["description"] == "Words of the spec.\n\nAnd more."
    properties = found["properties"]
    assert properties["a"]["description"] == "After the field."
    assert properties["b"]["description"] == "Above the field."
    assert properties["c"] == {
        "type": "integer",
        "description": "In the field.",
        "title": "C",
        "example": 3,
    }
    assert properties["d"]["description"] == "Words of inner."
    assert properties["e"]["description"] == "Own words."
    assert "description" not in properties["f"]
    assert properties["f"]["items"]["description"] == "Words of inner."


def test_json_names_are_camel_case_or_aliases(projects: Any) -> None:
    found, _ = projects.spec(
        """
        container_port: int
        other: Annotated[int, Field(alias="else")]
        third: int = Field(1, serialization_alias="3rd", validation_alias="3rd")
        hidden: int = Field(1, exclude=True)
        _private: int = 1
        shared: ClassVar[int] = 1
        model_config = {}
        """
    )
    assert sorted(found["properties"]) == ["3rd", "containerPort", "else"]


def test_fields_of_base_classes_are_merged_and_overridden(projects: Any) -> None:
    made = projects.module(
        """
        class Root(Model):
            a: int

        class Base(Root):
            b: int = 1

        class Spec(Base):
            b: str
            c: int

        class Thing(CustomResource):
            spec: Spec
        """
    )
    found = made.schema()["properties"]["spec"]
    assert found["properties"] == {
        "a": {"type": "integer"},
        "b": {"type": "string"},
        "c": {"type": "integer"},
    }
    assert found["required"] == ["a", "b", "c"]


def test_enumerations_keep_the_order_of_their_members(projects: Any) -> None:
    found, made = projects.spec(
        "a: Color\nb: Level\nc: Old\nd: Sorted",
        before="""
class Color(StrEnum):
    '''Words of colours.'''
    RED = "red"
    BLUE = enum.auto()
    _x = "no"

class Level(IntEnum):
    LOW = 1
    HIGH = 2

class Old(str, enum.Enum):
    B = "b"
    A = "a"

# +k8s:enum
class Sorted(StrEnum):
    B = "b"
    A = "a"

""",
    )
    assert made.codes == []
    properties = found["properties"]
    assert properties["a"] == {
        "type": "string",
        "enum": ["red", "blue"],
        "description": "Words of colours.",
    }
    assert properties["b"] == {"type": "integer", "enum": [1, 2]}
    assert properties["c"] == {"type": "string", "enum": ["b", "a"]}
    assert properties["d"] == {"type": "string", "enum": ["a", "b"]}


def test_markers_of_named_types_are_applied_and_both_limits_are_checked(projects: Any) -> None:
    found, made = projects.spec(
        """
        a: Name

        # +kubebuilder:validation:MinLength=2
        b: Name

        c: list[Name]
        d: Short
        """,
        before="""
# +kubebuilder:validation:MinLength=4
Name = NewType("Name", str)

Short = Annotated[str, MaxLen(3)]
""",
    )
    assert made.codes == []
    properties = found["properties"]
    assert properties["a"] == {"type": "string", "minLength": 4}
    assert properties["b"] == {"type": "string", "allOf": [{"minLength": 4}, {"minLength": 2}]}
    assert properties["c"]["items"] == {"type": "string", "minLength": 4}
    assert properties["d"] == {"type": "string", "maxLength": 3}


@pytest.mark.parametrize(
    ("markers", "expected"),
    [
        (["kubebuilder:validation:Enum=a;b"], {"enum": ["a", "b"]}),
        (["kubebuilder:validation:Format=uri"], {"format": "uri"}),
        (["kubebuilder:validation:Pattern=`^a`"], {"pattern": "^a"}),
        (["nullable"], {"nullable": True}),
        (["kubebuilder:title=T"], {"title": "T"}),
        (["kubebuilder:example=x"], {"example": "x"}),
        (
            ["kubebuilder:externalDocs:url=https://example.com,description=more"],
            {"externalDocs": {"url": "https://example.com", "description": "more"}},
        ),
        (
            [
                (
                    'kubebuilder:validation:XValidation:rule="self != oldSelf",message="b",'
                    "optionalOldSelf=true"
                )
            ],
            {
                "x-kubernetes-validations": [
                    {"rule": "self != oldSelf", "message": "b", "optionalOldSelf": True}
                ]
            },
        ),
        (
            ["k8s:immutable"],
            {
                "x-kubernetes-validations": [
                    {"rule": "self == oldSelf", "message": "field is immutable"}
                ]
            },
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_marker_on_a_string_field_has_its_schema(
    projects: Any, markers: list[str], expected: dict[str, Any]
) -> None:
    lines = "\n".join(f"# +{marker}" for marker in markers)
    found, made = projects.spec(f"{lines}\nx: str")
    assert made.codes == []
    assert found["properties"]["x"] == {"type": "string", **expected}


def test_markers_apply_to_lists_maps_and_their_items(projects: Any) -> None:
    found, made = projects.spec(
        """
        # +listType=map
        # +listMapKey=name
        # +listMapKey=name
        # +kubebuilder:validation:MaxItems=3
        a: list[Inner]

        # +kubebuilder:validation:items:MaxLength=3
        # +kubebuilder:default={}
        b: list[str]

        # +mapType=atomic
        # +kubebuilder:validation:MinProperties=1
        c: dict[str, str]

        # +structType=atomic
        d: Inner

        # +kubebuilder:validation:Schemaless
        # +kubebuilder:pruning:PreserveUnknownFields
        e: nowhere.Type

        # +kubebuilder:pruning:PreserveUnknownFields
        f: Any
        """,
        before="class Inner(Model):\n    name: str\n",
    )
    assert made.codes == []
    properties = found["properties"]
    assert properties["a"]["x-kubernetes-list-type"] == "map"
    assert properties["a"]["x-kubernetes-list-map-keys"] == ["name"]
    assert properties["a"]["maxItems"] == 3
    assert properties["b"] == {
        "type": "array",
        "items": {"type": "string", "maxLength": 3},
        "default": [],
    }
    assert properties["c"]["x-kubernetes-map-type"] == "atomic"
    assert properties["c"]["minProperties"] == 1
    assert properties["d"]["x-kubernetes-map-type"] == "atomic"
    assert properties["e"] == {"x-kubernetes-preserve-unknown-fields": True}
    assert properties["f"] == {"x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    ("marker", "annotation"),
    [
        ("kubebuilder:validation:Maximum=1", "str"),
        ("kubebuilder:validation:Maximum=1.5", "int"),
        ("kubebuilder:validation:Maximum=Inf", "int"),
        ("kubebuilder:validation:ExclusiveMaximum=true", "str"),
        ("kubebuilder:validation:MaxLength=1", "int"),
        ("kubebuilder:validation:MinItems=1", "str"),
        ("kubebuilder:validation:MinProperties=1", "str"),
        ("kubebuilder:validation:items:MaxLength=1", "str"),
        ("kubebuilder:title=12", "str"),
        ("kubebuilder:externalDocs:url=example", "str"),
        ('kubebuilder:externalDocs:url="http://two words/"', "str"),
        ("kubebuilder:externalDocs:url=/%zz", "str"),
        ("kubebuilder:externalDocs:url=http://host:port/", "str"),
        ('kubebuilder:validation:XValidation:rule="a",reason=Because', "str"),
        ("listType=odd", "list[str]"),
        ("listType=set", "str"),
        ("listMapKey=name", "list[str]"),
        ("mapType=atomic", "str"),
        ("structType=odd", "dict[str, str]"),
        ("k8s:enum", "str"),
    ],
)
def test_a_marker_that_does_not_match_the_type_is_a_finding_at_the_marker(
    projects: Any, marker: str, annotation: str
) -> None:
    _, made = projects.spec(f"# +{marker}\nx: {annotation}")
    assert made.codes == ["API009"]
    (found,) = made.findings
    assert found.at is not None
    assert (found.at.line, found.at.column) == (projects.header_lines + 4, 7)


def test_equal_constraints_in_two_places_are_accepted_and_different_ones_are_not(
    projects: Any,
) -> None:
    marker = "# +kubebuilder:validation:Minimum=1\n"
    assert projects.spec(marker + "x: Annotated[int, Ge(1)]")[1].codes == []
    assert projects.spec(marker + "x: Annotated[int, Ge(2)]")[1].codes == ["API010"]


def test_a_type_has_rules_over_its_fields(projects: Any) -> None:
    made = projects.module(
        """
        # +kubebuilder:validation:AtLeastOneOf=a;b
        # +kubebuilder:validation:ExactlyOneOf=a;b
        # +kubebuilder:validation:AtMostOneOf=a;b
        # +kubebuilder:validation:XValidation:rule="self.a > 0"
        class Spec(Model):
            a: int | None = None
            b: int | None = None

            # +k8s:immutable
            c: int | None = None

        class Thing(CustomResource):
            spec: Spec
        """
    )
    assert made.codes == []
    rules = made.schema()["properties"]["spec"]["x-kubernetes-validations"]
    assert [rule["rule"] for rule in rules] == [
        "!has(oldSelf.c) || has(self.c)",
        "self.a > 0",
        "(has(self.a)?1:0)+(has(self.b)?1:0) <= 1",
        "(has(self.a)?1:0)+(has(self.b)?1:0) == 1",
        "has(self.a)||has(self.b)",
    ]
    assert rules[2]["message"] == "at most one of the fields in [a b] may be set"


def test_an_empty_pattern_is_not_written(projects: Any) -> None:
    spec, _ = projects.spec('# +kubebuilder:validation:Pattern=""\na: str')

    assert spec["properties"]["a"] == {"type": "string"}


def test_a_rule_that_is_given_twice_is_on_the_type_once(projects: Any) -> None:
    spec, _ = projects.spec("# +k8s:immutable\n# +k8s:immutable\na: int | None = None")

    rules = [rule["rule"] for rule in spec["x-kubernetes-validations"]]
    assert rules == ["!has(oldSelf.a) || has(self.a)"]
    assert len(spec["properties"]["a"]["x-kubernetes-validations"]) == 2


def test_a_required_field_in_a_rule_over_fields_is_a_finding(projects: Any) -> None:
    made = projects.module(
        """
        # +kubebuilder:validation:ExactlyOneOf=a;b
        class Spec(Model):
            a: int
            b: int | None = None

        class Thing(CustomResource):
            spec: Spec
        """
    )
    assert made.codes == ["API009"]


def test_a_recursive_type_is_a_finding_that_names_the_cycle(projects: Any) -> None:
    made = projects.module(
        """
        class Node(Model):
            children: "list[Leaf]"

        class Leaf(Model):
            node: Node

        class Thing(CustomResource):
            spec: Node
        """
    )
    assert made.codes == ["API011"]
    (found,) = made.findings
    assert found.message == "the type contains itself: `Node` → `Leaf` → `Node`"


def test_a_schema_that_becomes_too_large_is_refused(projects: Any) -> None:
    classes = ["class L0(Model):\n    x: int\n"]
    classes += [
        f"class L{i}(Model):\n    a: L{i - 1}\n    b: L{i - 1}\n    c: L{i - 1}\n"
        for i in range(1, 40)
    ]
    made = projects.module("\n".join(classes) + "\nclass Thing(CustomResource):\n    spec: L39\n")
    assert set(made.codes) == {"API006"}


def test_two_fields_with_the_same_json_name_are_a_finding(projects: Any) -> None:
    _, made = projects.spec("container_port: int\ncontainerPort: int")
    assert made.codes == ["API017"]


def test_options_change_what_is_allowed(projects: Any) -> None:
    found, made = projects.spec("x: float = 1.5", options=Options(allow_dangerous_types=True))
    assert found["properties"]["x"] == {"type": "number", "default": 1.5}
    found, made = projects.spec("x: int = 1", options=Options(infer_defaults=False))
    assert "default" not in found["properties"]["x"]
    found, made = projects.spec("x: ObjectMeta", options=Options(embedded_object_meta=True))
    assert "labels" in found["properties"]["x"]["properties"]
    assert made.codes == []


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (None, "One sentence. Another one"),
        (0, None),
        (16, "One sentence."),
        (6, "One..."),
        (2, "On..."),
    ],
)
def test_descriptions_are_cut_after_a_sentence_or_a_word(
    projects: Any, limit: int | None, text: str | None
) -> None:
    found, _ = projects.spec(
        'x: int\n"""One sentence. Another one"""', options=Options(max_description=limit)
    )
    assert found["properties"]["x"].get("description") == text


def test_of_two_classes_with_the_same_name_neither_is_used(projects: Any) -> None:
    """Python uses the first class for `Spec`, and the last one for later code."""
    _, made = projects.spec(
        "a: Inner",
        before="class Inner(Model):\n    x: int\n\nclass Inner(Model):\n    y: int\n",
    )
    (finding,) = made.findings.items
    assert (finding.rule, finding.message) == ("API008", "`Inner` is declared twice in this module")


def test_two_classes_with_the_same_name_only_matter_if_a_kind_uses_them(projects: Any) -> None:
    made = projects.make(
        {"app.py": "from pydantic import BaseModel\n" + "class A(BaseModel):\n    x: int\n\n" * 2}
    )
    assert made.codes == []


def test_a_field_in_an_inner_block_is_reported(projects: Any) -> None:
    found, made = projects.spec("if enum:\n    a: int\nb: int\n")
    assert sorted(found["properties"]) == ["b"]
    assert made.codes == ["API021"]


def test_a_base_class_with_only_methods_adds_nothing(projects: Any) -> None:
    made = projects.module(
        """
        class Root:
            LIMIT = 3

        class Mixin(Root):
            def total(self) -> int:
                return 1

        class Spec(Mixin, Model):
            b: int

        class Thing(CustomResource):
            spec: Spec
        """
    )
    assert made.codes == []
    assert made.schema()["properties"]["spec"]["properties"] == {"b": {"type": "integer"}}


def test_an_annotated_base_class_that_is_not_a_model_is_refused(projects: Any) -> None:
    """Pydantic reads its annotations as fields; dataclasses do not."""
    _, made = projects.spec(
        "a: Inner", before="class Mixin:\n    m: int = 1\nclass Inner(Mixin, Model):\n    x: int\n"
    )
    assert made.codes == ["API006"]


@pytest.mark.parametrize("keyword", ["tag=True", "tag='x'", "tag_field='kind'", "array_like=True"])
def test_a_msgspec_option_that_a_schema_cannot_express_is_refused(
    projects: Any, keyword: str
) -> None:
    _, made = projects.spec(
        "a: Inner",
        before=f"import msgspec\nclass Inner(msgspec.Struct, {keyword}):\n    x: int\n",
    )
    assert made.codes == ["API006"]


def test_a_literal_can_be_negative(projects: Any) -> None:
    found, made = projects.spec("a: Literal[-1, 1]")
    assert made.codes == []
    assert found["properties"]["a"] == {"type": "integer", "enum": [-1, 1]}


DIAMONDS = """
class A(Model):
    v: int = 1
    w: str

class B(A):
    b: int = 0

class C(A):
    v: int = 3
    w: str = "c"

class Other(Model):
    v: str
"""


@pytest.mark.parametrize(
    ("bases", "v", "required"),
    [
        ("B, C", {"type": "integer", "default": 3}, []),
        ("C, B", {"type": "integer", "default": 3}, []),
        ("B", {"type": "integer", "default": 1}, ["w"]),
        ("Other, A", {"type": "string"}, ["v", "w"]),
        ("A, Other", {"type": "integer", "default": 1}, ["w"]),
        ("B, Other", {"type": "integer", "default": 1}, ["w"]),
    ],
)
def test_a_field_comes_from_the_first_class_in_the_method_resolution_order(
    projects: Any, bases: str, v: dict[str, Any], required: list[str]
) -> None:
    spec, made = projects.spec("a: D", DIAMONDS + f"\nclass D({bases}):\n    pass\n")
    assert made.codes == []
    found = spec["properties"]["a"]
    assert (found["properties"]["v"], found.get("required", [])) == (v, required)


def test_bases_without_a_method_resolution_order_are_read_in_some_order(projects: Any) -> None:
    text = "class A(Model):\n    x: int\nclass B(A):\n    y: int\nclass D(A, B):\n    z: int\n"
    spec, made = projects.spec("a: D", text)
    assert made.codes == []
    assert sorted(spec["properties"]["a"]["properties"]) == ["x", "y", "z"]


def test_models_that_contain_each_other_are_a_finding(projects: Any) -> None:
    chain = ["class M0(Model):\n    x: int"]
    chain += [f"class M{n}(Model):\n    x: M{n - 1}" for n in range(1, 120)]
    _, made = projects.spec("a: M119", "\n".join(chain))
    assert [found.rule for found in made.findings.items] == ["API006"]


def test_classes_with_many_repeated_bases_are_read(projects: Any) -> None:
    chain = ["class A0(Model):\n    x: int = 1\nclass B0(Model):\n    y: int = 1"]
    for n in range(1, 30):
        chain += [f"class {one}{n}(A{n - 1}, B{n - 1}):\n    {one}{n}: int = 1" for one in "AB"]
    spec, made = projects.spec("a: A29", "\n".join(chain))
    assert made.codes == []
    assert len(spec["properties"]["a"]["properties"]) == 2 + 28 * 2 + 1
