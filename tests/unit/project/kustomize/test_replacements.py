"""Replacements."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError, Location
from olmkit.base.documents import Document
from olmkit.project.kustomize import replacements as kustomize_replacements
from olmkit.project.kustomize.resources import Resource

AT = Location(path="k", line=1)


def resources() -> list[Resource]:
    values: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "n": 80},
        {
            "apiVersion": "a.io/v1",
            "kind": "Thing",
            "metadata": {"name": "t"},
            "names": ["A.B.svc", "A.B"],
            "list": [{"name": "x", "v": 1}, {"name": "y"}],
        },
    ]
    return [Resource(value, Document(value, path="x")) for value in values]


def replaced(path: str, *, source: str = "metadata.name", **options: Any) -> dict[str, Any]:
    found = resources()
    replacement = {
        "source": {"kind": "Service", "fieldPath": source},
        "targets": [{"select": {"kind": "Thing"}, "fieldPaths": [path], "options": options}],
    }
    kustomize_replacements.replace(found, replacement, AT)
    return found[1].value


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a.b", ["a", "b"]),
        (".a.b", ["a", "b"]),
        ("a.[b.c/d]", ["a", "b.c/d"]),
        ("a\\.b.c", ["a.b", "c"]),
        ("a.[name=x].b", ["a", "[name=x]", "b"]),
        ("a.0.*", ["a", "0", "*"]),
    ],
)
def test_a_field_path_has_steps(path: str, steps: list[str]) -> None:
    assert kustomize_replacements.field_steps(path) == steps


def test_a_value_keeps_its_type() -> None:
    assert replaced("list.[name=x].v", source="n")["list"][0]["v"] == 80


def test_a_part_of_a_string_is_replaced() -> None:
    assert replaced("names.*", delimiter=".", index=0)["names"] == ["web.B.svc", "web.B"]
    assert replaced("names.1", delimiter=".", index=2)["names"][1] == "A.B.web"
    assert replaced("names.1", delimiter=".", index=9)["names"][1] == "A.B.web"
    assert replaced("names.1", delimiter=".", index=-1)["names"][1] == "web.A.B"


def test_missing_fields_are_created_on_request() -> None:
    assert replaced("metadata.annotations.[a.b/c]", create=True)["metadata"]["annotations"] == {
        "a.b/c": "web"
    }
    assert replaced("list.[name=z].v", create=True)["list"][2] == {"name": "z", "v": "web"}
    assert replaced("new.[name=z].v", create=True)["new"] == [{"name": "z", "v": "web"}]


@pytest.mark.parametrize("path", ["none", "list.7.v", "list.[name=z].v", "names.x"])
def test_missing_fields_are_otherwise_refused(path: str) -> None:
    with pytest.raises(InputError, match="unable to find field"):
        replaced(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"kind": "None"}, "nothing selected"),
        ({"version": "v1"}, "several resources"),
        ({"kind": "Service", "fieldPath": "none"}, "has no field"),
        ({"kind": "Service", "options": {"delimiter": "-", "index": 4}}, "has no part 4"),
    ],
)
def test_a_source_must_be_exactly_one_value(source: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        kustomize_replacements.replace(resources(), {"source": source, "targets": []}, AT)


def test_rejected_resources_are_unchanged() -> None:
    found = resources()
    target: dict[str, Any] = {
        "select": {"version": "v1"},
        "reject": [{"kind": "Thing"}],
        "fieldPaths": ["x"],
    }
    target["options"] = {"create": True}
    source = {"kind": "Service"}
    kustomize_replacements.replace(found, {"source": source, "targets": [target]}, AT)
    assert found[0].value["x"] == "web"


@pytest.mark.parametrize(
    ("value", "path", "wanted"),
    [
        ("5", "names.0", "5"),
        ("5", "list.0.v", 5),
        ("5", "new", 5),
        ("a: b", "new", "a: b"),
        ("{", "new", "{"),
        ("5", "list", "5"),
    ],
)
def test_a_field_keeps_its_type(value: str, path: str, wanted: object) -> None:
    found = resources()
    target = {"select": {"kind": "Thing"}, "fieldPaths": [path], "options": {"create": True}}
    kustomize_replacements.replace(found, {"sourceValue": value, "targets": [target]}, AT)
    assert kustomize_replacements.find_value(found[1].value, path) == wanted


@pytest.mark.parametrize(
    ("replacement", "message"),
    [
        ({"sourceValue": "five", "path": "list.0.v"}, "cannot replace `1`"),
        ({"source": {"kind": "Thing", "fieldPath": "list"}, "path": "names.0"}, "a mapping or a"),
        ({"source": {"kind": "Service"}, "sourceValue": "x", "path": "n"}, "one of `source`"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused(replacement: dict[str, Any], message: str) -> None:
    target = {"select": {"kind": "Thing"}, "fieldPaths": [replacement.pop("path")]}
    with pytest.raises(InputError, match=message):
        kustomize_replacements.replace(resources(), replacement | {"targets": [target]}, AT)
