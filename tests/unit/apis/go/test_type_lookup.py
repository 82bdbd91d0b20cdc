"""Go type expressions: the schema of each form, the refused forms and their positions."""

from __future__ import annotations

from typing import Any

import pytest

CORE = 'corev1 "k8s.io/api/core/v1"'
INTEGER = {"type": "integer"}
STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("bool", {"type": "boolean"}),
        ("string", STRING),
        ("*string", STRING),
        ("int", INTEGER),
        ("int8", INTEGER),
        ("uint16", INTEGER),
        ("int32", {"type": "integer", "format": "int32"}),
        ("rune", {"type": "integer", "format": "int32"}),
        ("uint64", {"type": "integer", "format": "int64"}),
        ("byte", INTEGER),
        ("[]byte", {"type": "string", "format": "byte"}),
        ("[]uint8", {"type": "array", "items": INTEGER}),
        ("[4]byte", {"type": "array", "items": INTEGER}),
        ("[]string", {"type": "array", "items": STRING}),
        ("[3][]*string", {"type": "array", "items": {"type": "array", "items": STRING}}),
        ("map[string]int", {"type": "object", "additionalProperties": INTEGER}),
        ("map[Key][]bool", {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "boolean"}},
        }),
        ("map[Texted]string", {"type": "object", "additionalProperties": STRING}),
        ("Key", STRING),
        ("Keys", {"type": "array", "items": STRING}),
        ("Texted", STRING),
        ("Alias", STRING),
        ("metav1.Time", {"type": "string", "format": "date-time"}),
        ("*metav1.Duration", STRING),
        ("metav1.ObjectMeta", {"type": "object"}),
        ("corev1.PullPolicy", STRING | {"description": "PullPolicy describes a policy for if/when "
                                        "to pull a container image"}),
    ],
)  # fmt: skip
def test_each_type_has_its_schema(go_projects: Any, kind: str, expected: dict[str, Any]) -> None:
    before = """
        type Key string
        type Keys []Key
        type Alias = string
        type Texted int
        func (t Texted) MarshalText() ([]byte, error) { return nil, nil }
    """
    schema, made = go_projects.spec(f'X {kind} `json:"x"`', before, CORE)

    assert made.codes == []
    assert schema["properties"]["x"] == expected


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("float64", "API006", "float"),
        ("complex64", "API006", "complex"),
        ("chan int", "API006", "a channel"),
        ("func()", "API006", "a function"),
        ("interface{}", "API006", "an interface"),
        ("any", "API006", "an interface"),
        ("error", "API006", "an interface"),
        ("[]any", "API006", "an interface"),
        ("map[string]any", "API006", "an interface"),
        ("map[int]string", "API006", "keys of a map"),
        ("map[string]struct{}", "API006", "values"),
        ("struct{ A string }", "API006", "a struct inside"),
        ("(string)", "API006", "parentheses"),
        ("Box[string]", "API006", "generic"),
        ("Box", "API006", "generic"),
        ("ListAlias", "API006", "alias"),
        ("Nowhere", "API007", "`Nowhere` is not declared"),
        ("corev1.Nowhere", "API007", "declares no type `Nowhere`"),
        ("lost.Type", "API007", "cannot be found"),
        ("time.Time", "API006", "standard library"),
        ("json.RawMessage", "API006", "standard library"),
        ("intstr.IntOrString", "API007", "does not import `intstr`"),
    ],
)
def test_a_type_without_a_schema_is_reported_at_its_field(
    go_projects: Any, kind: str, code: str, words: str
) -> None:
    before = 'type Box[T any] struct {\n    A T `json:"a"`\n}\n\ntype ListAlias = []string\n'
    imports = f'{CORE}; "time"; "encoding/json"; lost "example.org/lost/v2"'

    _, made = go_projects.spec(f'X {kind} `json:"x"`', before, imports)

    (found,) = made.findings
    assert (found.rule, found.at.line) == (code, go_projects.header_lines + 9)
    assert words in found.message


def test_a_generic_type_that_no_kind_uses_does_not_matter(go_projects: Any) -> None:
    _, made = go_projects.spec('X int `json:"x"`', "type Box[T any] struct {\n    A T\n}\n")

    assert made.codes == []


@pytest.mark.parametrize(
    ("field", "names", "required"),
    [
        ('X int `json:"x"`', ["x"], ["x"]),
        ('X int `json:"x,omitempty"`', ["x"], None),
        ('X int `json:"x,omitzero"`', ["x"], None),
        ('X *int `yaml:"y" json:"x"`', ["x"], ["x"]),
        ('X int `json:"-"`', None, None),
        ('X int `json:"-,"`', ["-"], ["-"]),
        ('A, B int `json:"both"`', ["both"], ["both"]),
        ('x int `json:"x"`', ["x"], ["x"]),
        ('// +optional\nX int `json:"x"`', ["x"], None),
        ('// +required\nX int `json:"x,omitempty"`', ["x"], ["x"]),
        ('X int "json:\\"x\\""', ["x"], ["x"]),
    ],
)
def test_a_tag_has_the_name_and_whether_the_field_is_required(
    go_projects: Any, field: str, names: list[str] | None, required: list[str] | None
) -> None:
    schema, made = go_projects.spec(field)

    assert made.codes == []
    assert (list(schema["properties"]) if "properties" in schema else None) == names
    assert schema.get("required") == required


def test_a_field_without_a_tag_is_reported(go_projects: Any) -> None:
    _, made = go_projects.spec("X int")

    (found,) = made.findings
    assert found.message == "the field `X` of `Spec` has no JSON tag"


def test_fields_of_an_embedded_struct_come_after_the_own_fields(go_projects: Any) -> None:
    before = """
        type Base struct {
            // Words of Base.
            // +kubebuilder:validation:MaxLength=5
            A string `json:"a"`
            B string `json:"b,omitempty"`
        }
    """
    schema, _ = go_projects.spec(
        'Base `json:",inline"`\n// Own words.\nA string `json:"a"`', before
    )

    assert schema == {
        "type": "object",
        "properties": {
            "a": {"type": "string", "description": "Words of Base.", "maxLength": 5},
            "b": {"type": "string"},
        },
        "required": ["a"],
    }


def test_markers_of_a_list_see_the_items_but_not_the_markers_of_their_type(
    go_projects: Any,
) -> None:
    before = "// +kubebuilder:validation:Enum=a;b\ntype Key string\n"
    schema, made = go_projects.spec(
        '// +kubebuilder:validation:items:MaxLength=1\nX []Key `json:"x"`', before
    )

    assert made.codes == []
    assert schema["properties"]["x"]["items"] == {
        "type": "string",
        "enum": ["a", "b"],
        "maxLength": 1,
    }


def test_constants_are_the_members_of_an_enumeration(go_projects: Any) -> None:
    before = """
        // +k8s:enum
        type Colour string

        const (
            Red Colour = "red"
            Blue Colour = "blue"
            Other string = "no member"
        )
    """
    schema, made = go_projects.spec('X Colour `json:"x"`', before)

    assert made.codes == []
    assert schema["properties"]["x"] == {"type": "string", "enum": ["blue", "red"]}


def test_a_type_with_its_own_json_method_declares_its_type(go_projects: Any) -> None:
    before = """
        // Words that are not shown.
        // +kubebuilder:validation:Type=string
        // +kubebuilder:validation:Format=date
        type Day struct{ year int }

        func (d *Day) MarshalJSON() ([]byte, error) { return nil, nil }

        type Today struct {
            Day `json:",inline"`
        }
    """
    schema, made = go_projects.spec('X Day `json:"x"`\nY map[Today]string `json:"y"`', before)

    assert schema["properties"]["x"] == {"type": "string", "format": "date"}
    assert made.codes == ["API006"]  # `Today` has a method for JSON, but none for text.


def test_a_recursive_type_is_refused_with_the_cycle(go_projects: Any) -> None:
    _, made = go_projects.spec(
        'X Node `json:"x"`', 'type Node struct {\n    N []Node `json:"n"`\n}'
    )

    (found,) = made.findings
    assert (found.rule, found.message) == ("API011", "the type contains itself: `Node` → `Node`")


@pytest.mark.parametrize(("text", "value"), [("false", False), ("0", 0), ("{}", {}), ('""', "")])
def test_an_example_can_be_an_empty_value(go_projects: Any, text: str, value: Any) -> None:
    field = f'// +kubebuilder:example={text}\n// +kubebuilder:title=""\nX Key `json:"x"`'
    schema, _ = go_projects.spec(field, "type Key string")

    assert schema["properties"]["x"] == {"type": "string", "example": value}


def test_a_type_that_is_inlined_twice_keeps_its_default(go_projects: Any) -> None:
    before = """
        // +kubebuilder:validation:Minimum=1
        type Count int

        type Part struct {
            // +kubebuilder:default=5
            C Count `json:"c"`
        }

        type Other struct {
            Part `json:",inline"`
        }
    """
    schema, _ = go_projects.spec('Part `json:",inline"`\nOther `json:",inline"`', before)

    assert schema["properties"]["c"] == {
        "type": "integer",
        "default": 5,
        "allOf": [{"minimum": 1}, {"minimum": 1}],
    }
