"""Reading Go files: the targets of comments, imports, and text that is not Go."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from olmkit.apis.findings import Findings
from olmkit.apis.go import expressions as go_expressions
from olmkit.apis.go import parser as go_parser
from olmkit.apis.go import source as go_source
from olmkit.apis.go.file import GoFile
from olmkit.apis.go.model import Name, StructBody
from olmkit.apis.markers.language import Comment
from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree
from tests.fixtures.no_modules import NoModules


def parse(text: str, findings: Findings | None = None) -> GoFile:
    def keeps(comment: Comment) -> bool:
        return comment.text.startswith("package-only")

    return go_parser.parse(text.encode(), "x.go", findings or Findings(), keeps)


def field_markers(body: str) -> dict[str, list[str]]:
    file = parse(f"package x\n\ntype S struct {{\n{body}\n}}\n")
    kind = go_expressions.declaration(file, "S").type
    assert isinstance(kind, StructBody)
    return {field.names[0]: [c.text for c in field.comments] for field in kind.fields}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("// +a\nX int", {"X": ["a"]}),
        ("//+a\nX int", {"X": ["a"]}),
        ("//\t +a\nX int", {"X": ["a"]}),
        ("// +a\n\nX int", {"X": ["a"]}),
        ("// +a\n\n// Words.\n// +b\nX int", {"X": ["a", "b"]}),
        ("// +a\n\n// +b\n\n// +c\nX int", {"X": ["b", "c"]}),
        ("X int // +a\nY int", {"X": [], "Y": []}),
        ("X int\n// +a\nY int\n// +b", {"X": [], "Y": ["a"]}),
        ("/* +a */\nX int", {"X": []}),
        ("// +a\n/* between */\nX int", {"X": ["a"]}),
        ("// words +a\nX int", {"X": []}),
        ("// +ä=ö\nX int", {"X": ["ä=ö"]}),
    ],
)
def test_markers_of_a_field_are_in_the_group_above_it_and_its_documentation(
    body: str, expected: dict[str, list[str]]
) -> None:
    assert field_markers(body) == expected


def test_the_position_of_a_marker_is_in_characters() -> None:
    file = parse("package x\n\ntype S struct {\n\tÄ int // ü\n\t// +a=b\n\tX int\n}\n")
    kind = go_expressions.declaration(file, "S").type
    assert isinstance(kind, StructBody)
    (marker,) = kind.fields[1].comments
    assert (marker.at.line, marker.at.column, marker.at.end_column) == (5, 5, 9)


@pytest.mark.parametrize("opening", ["type S struct { // +a", "type (\n\tS struct { // +a"])
def test_a_comment_after_an_opening_brace_documents_nothing(opening: str) -> None:
    file = parse(f"package x\n\n{opening}\n\tA int\n}}{')' if '(' in opening else ''}\n")
    kind = go_expressions.declaration(file, "S").type
    assert isinstance(kind, StructBody)

    (field,) = kind.fields
    assert field.doc == ""
    assert [comment.text for comment in field.comments] == ["a"]


@pytest.mark.parametrize(
    ("text", "on_type", "on_package"),
    [
        ("// +a\ntype S int", ["a"], []),
        ("// +a\n\ntype S int", ["a"], []),
        ("// +a\n\n// +b\n\ntype S int", ["b"], ["a"]),
        ("// +package-only\n\ntype S int", [], ["package-only"]),
        ("// +package-only\ntype S int", ["package-only"], []),
        ("type S int // +a", [], []),
        ("type S int\n\n// +a", [], ["a"]),
        ("// +a\ntype (\n\t// +b\n\tS int\n)", ["b"], []),
        ("// +a\n\ntype (\n\tS int\n\t// +b\n)", [], ["a"]),
        ("// +a\n\n// Doc.\n// +b\nfunc f() {\n\t// +c\n}\n\ntype S int", [], ["a"]),
        ("// +a\nvar x = 1\n\n// +b\n\nconst y = 2\n\ntype S int", [], ["b"]),
        ('import (\n\t// +a\n\t"fmt"\n)\n\ntype S int', [], []),
    ],
)
def test_markers_at_file_scope_belong_to_the_type_or_the_package(
    text: str, on_type: list[str], on_package: list[str]
) -> None:
    file = parse(f"package x\n\n{text}\n")

    assert [c.text for c in go_expressions.declaration(file, "S").comments] == on_type
    assert [c.text for c in file.package_comments] == on_package


def test_markers_around_the_package_clause_belong_to_the_package() -> None:
    file = parse("// +a\n\n// Package x.\n// +b\npackage x // +c\n\n// +d\n")

    assert [c.text for c in file.package_comments] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("comment", "doc"),
    [
        ("// Words.", "Words."),
        ("//No space.", "No space."),
        ("//  Indented.", " Indented."),
        ("// Words.  \n//\n//\n// More.", "Words.\n\nMore."),
        ("// Words.\n// +marker\n// More.", "Words.\nMore."),
        ("// Words.\n// TODO: later\n// More.", "Words.\nMore."),
        ("// Words.\n// ---\n// Hidden.", "Words."),
        ("// ```\n// TODO\n// ```", "```\nTODO\n```"),
        ("// Words.\n//go:generate x\n//nolint:all\n//line x.go:1", "Words."),
        ("/* Words. */", "Words."),
        ("/*\n\tWords.\n\t  More.\n*/", "Words.\nMore."),
        ("//  Words.\n/*\n\tMore. */\n//\tLast.", "Words.\n\nMore.\nLast."),
        ("/* Words. */\n//  --- Hidden.", "Words."),
        ("// Words.\u00a0\n// More.\u2028", "Words.\u00a0\nMore.\u2028"),
        ("// Other group.\n\n// Words.", "Words."),
        ("// Other group.\n", ""),
    ],
)
def test_documentation_is_the_group_directly_above(comment: str, doc: str) -> None:
    assert (
        go_expressions.declaration(parse(f"package x\n\n{comment}\ntype S int\n"), "S").doc == doc
    )


def test_import_names_are_resolved_to_package_paths() -> None:
    text = """package x

import (
    "k8s.io/api/core/v1"
    "gopkg.in/yaml.v3"
    "example.com/go-toys/v2"
    named "example.com/other"
    . "example.com/dots"
    _ "example.com/effects"
)

type S struct {
    A v1.Pod
    B yaml.Node
    C toys.Toy
    D named.Thing
    E unknown.Thing
}
"""
    file = parse(text)
    kind = go_expressions.declaration(file, "S").type
    assert isinstance(kind, StructBody)

    assert [field.type for field in kind.fields] == [
        Name("Pod", "k8s.io/api/core/v1"),
        Name("Node", "gopkg.in/yaml.v3"),
        Name("Toy", "example.com/go-toys/v2"),
        Name("Thing", "example.com/other"),
        Name("Thing", "unknown"),
    ]
    assert file.dots == ["example.com/dots"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('package x\n\ntype S struct {\n\tA\tstring `json:"a"\n}\n', 3),
        ("package x\n\ntype struct {\n}\n", 3),
        ("package x\n\nfunc {\n", 3),
    ],
)
def test_text_that_is_not_go_is_reported_at_its_position(text: str, line: int) -> None:
    findings = Findings()
    parse(text, findings)

    found = findings.sorted()[0]
    assert (found.rule, found.at and found.at.line) == ("API001", line)


def test_a_pointer_to_a_new_value_is_read() -> None:
    findings = Findings()
    text = "package x\n\n// S is new(1).\ntype S int\n\nvar x = f(new(1), new(int32(2)))\n"

    assert go_expressions.declaration(parse(text, findings), "S").doc == "S is new(1)."
    assert list(findings) == []


def test_function_bodies_are_ignored() -> None:
    findings = Findings()
    parse("package x\n\nfunc f() {\n\tx := = 5\n}\n\ntype S int\n", findings)

    assert list(findings) == []


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name == "tree_sitter":
            raise ImportError(name=name)
        return original(name, *rest)

    go_parser._parser.cache_clear()  # noqa: SLF001 - what an earlier test imported
    monkeypatch.setattr(builtins, "__import__", refuse)

    with pytest.raises(ConfigurationError) as refused:
        go_source.read(Tree({}), "example.com/x", NoModules(), Findings())

    assert refused.value.hint == 'install it: `pip install "olmkit[go]"`'
    go_parser._parser.cache_clear()  # noqa: SLF001


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00", b"package", b"/*", b"package x\ntype S ["])
def test_arbitrary_bytes_never_raise_an_exception(data: bytes) -> None:
    file = go_parser.parse(data, "x.go", Findings(), lambda _: False)

    assert [go_expressions.declaration(file, name).name for name in file.types] == list(file.types)


@pytest.mark.parametrize(
    ("shape", "marshals"),
    [
        ("MarshalText() ([]byte, error)", True),
        ("MarshalText() (text []byte, err error)", True),
        ("MarshalText() ([]uint8, error)", True),
        ("MarshalText(more int) ([]byte, error)", False),
        ("MarshalText() (a, b []byte, err error)", False),
        ("MarshalText() []byte", False),
        ("MarshalText()", False),
    ],
)
def test_a_method_is_a_marshaler_if_it_has_the_signature(shape: str, marshals: bool) -> None:
    file = parse(f"package x\n\ntype S int\n\nfunc (s *S) {shape} {{ panic(1) }}\n")

    assert file.methods == ([("S", "MarshalText")] if marshals else [])


def test_constants_in_parentheses_also_have_their_type() -> None:
    file = parse('package x\n\nconst (\n\ta ((S)) = "x"\n\tb, c S = "y", `z`\n\td = "w"\n)\n')

    assert file.constants == [("S", "x"), ("S", "y"), ("S", "z")]
