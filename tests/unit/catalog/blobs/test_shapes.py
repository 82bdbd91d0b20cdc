import base64
from typing import Any

import pytest

from olmkit.catalog.blobs import shapes
from olmkit.catalog.blobs.shapes import (
    ABSENT,
    AnyValue,
    Bytes,
    Field,
    ListOf,
    Object,
    ShapeError,
    Text,
)

INNER = Object(go="pkg.Inner", fields=(Field("name", Text()), Field("data", Bytes())))
SHAPE = Object(
    go="pkg.Outer",
    fields=(
        Field("kind", Text()),
        Field("note", Text(), omit=True),
        Field("inner", INNER),
        Field(
            "icon", Object(go="pkg.Icon", fields=(Field("x", Text()),), optional=True), omit=True
        ),
        Field("list", ListOf(INNER, "[]pkg.Inner")),
        Field("words", ListOf(Text(), "[]string"), omit=True),
        Field("any", AnyValue(), omit=True),
    ),
)
EMPTY = {
    "kind": "",
    "note": "",
    "inner": {"name": "", "data": None},
    "icon": None,
    "list": None,
    "words": None,
    "any": ABSENT,
}


@pytest.mark.parametrize(
    ("value", "changed"),
    [
        ({}, {}),
        ({"Kind": "a"}, {"kind": "a"}),
        ({"Kind": "a", "kind": "b"}, {"kind": "b"}),
        ({"kind": None, "words": None, "icon": None}, {}),
        ({"\u212aind": "a"}, {"kind": "a"}),
        (
            {"inner": {"name": "a"}, "Inner": {"data": "aGk="}},
            {"inner": {"name": "a", "data": "aGk="}},
        ),
        ({"inner": {"data": "aG\nk="}}, {"inner": {"name": "", "data": "aGk="}}),
        (
            {"list": [None, {"name": "a"}]},
            {"list": [{"name": "", "data": None}, {"name": "a", "data": None}]},
        ),
        ({"words": ["a", None]}, {"words": ["a", ""]}),
        ({"icon": {}}, {"icon": {"x": ""}}),
        ({"any": None}, {"any": None}),
        ({"other": 1}, {}),
    ],
)  # fmt: skip
def test_objects_are_read_as_in_go(value: dict[str, Any], changed: dict[str, Any]) -> None:
    assert shapes.read(SHAPE, value) == {**EMPTY, **changed}


@pytest.mark.parametrize(
    ("value", "message", "keys"),
    [
        ({"kind": 1}, "number into Go struct field Outer.kind of type string", ("kind",)),
        ({"kind": [], "note": 1}, "array into Go struct field Outer.kind of type", ("kind",)),
        ({"list": {}}, "object into Go struct field Outer.list of type []pkg.Inner", ("list",)),
        ({"list": ["a"]}, "string into Go struct field Outer.list of type pkg.Inner", ("list", 0)),
        (
            {"List": [{}, {"Name": True}]},
            "bool into Go struct field Inner.list.name of type string",
            ("List", 1, "Name"),
        ),
        ({"inner": {"data": 1}}, "number into Go struct field Inner.inner.data of type []uint8",
         ("inner", "data")),
    ],
)  # fmt: skip
def test_a_wrong_type_is_an_error_with_the_message_of_go(
    value: dict[str, Any], message: str, keys: tuple[str | int, ...]
) -> None:
    with pytest.raises(ShapeError) as caught:
        shapes.read(SHAPE, value)

    assert caught.value.message.startswith("json: cannot unmarshal " + message)
    assert caught.value.keys == keys


def test_a_value_that_is_not_an_object_is_an_error() -> None:
    with pytest.raises(
        ShapeError, match=r"cannot unmarshal array into Go value of type pkg\.Outer"
    ):
        shapes.read(SHAPE, [])


def test_empty_optional_fields_are_omitted() -> None:
    state = shapes.read(SHAPE, {"kind": "a", "words": [], "icon": {}})

    assert list(shapes.dump(SHAPE, state).items()) == [
        ("kind", "a"),
        ("inner", {"name": "", "data": None}),
        ("icon", {"x": ""}),
        ("list", None),
        ("any", None),
    ]


@pytest.mark.parametrize("length", range(6))
def test_base64_is_decoded(length: int) -> None:
    data = bytes(range(250, 250 + length))
    text = base64.b64encode(data).decode()

    assert shapes.decode_base64(text) == data
    assert shapes.decode_base64("\r\n".join(text)) == data


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("!", 0),
        ("aG!=", 2),
        ("aG\nV!", 4),
        ("aGk", 0),
        ("aGk=aGk=", 4),
        ("aGkä", 3),
        ("====", 0),
        ("aGVsbG8", 4),
    ],
)
def test_invalid_base64_has_a_place(text: str, offset: int) -> None:
    assert shapes.decode_base64(text) == offset


def test_unknown_fields_are_found_and_restored() -> None:
    value = {"b": 1, "kind": "a", "List": [{"x": 1}, {"name": "n"}], "any": {"free": 1}, "a": 2}
    written = shapes.dump(SHAPE, shapes.read(SHAPE, value))

    assert list(shapes.unknown(SHAPE, value)) == [("b",), ("List", 0, "x"), ("a",)]
    restored = shapes.restore(SHAPE, value, written)
    assert list(restored)[-2:] == ["a", "b"]
    assert restored["list"][0] == {"name": "", "data": None, "x": 1}
