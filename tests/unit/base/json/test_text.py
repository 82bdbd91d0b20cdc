from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.json import text as json_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
        ({"a": "<&>"}, r'{"a":"\u003c\u0026\u003e"}'),
        ({"a": "\u2028\u2029é😀"}, r'{"a":"\u2028\u2029é😀"}'),
        ({"a": '\b\f\n\r\t\x00\x1f\x7f"\\/'}, '{"a":"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\\"\\\\/"}'),
        ([1e21, 1e-7, 0.00001, 1.5], "[1e+21,1e-7,0.00001,1.5]"),
        (1e300, "1e+300"),
        ({"a": [0.0, 1.0, -0.0], "b": 2.0}, '{"a":[0,1,-0],"b":2}'),
        (3.0, "3"),
        ({"z": 0.000001, "image:1e5": 2}, '{"image:1e5":2,"z":0.000001}'),
        ({}, "{}"),
    ],
)
def test_a_value_is_written_as_in_go(value: Any, text: str) -> None:
    assert json_text.compact(value).decode() == text


def test_html_is_not_escaped_on_request() -> None:
    assert json_text.compact("<&>\u2028", escape_html=False) == b'"<&>\\u2028"'


def test_keys_keep_their_order_on_request() -> None:
    assert json_text.compact({"b": 1, "a": {"d": 1e21, "c": 2}}, sort=False) == (
        b'{"b":1,"a":{"d":1e+21,"c":2}}'
    )


def test_whitespace_is_removed_and_tokens_stay_as_written() -> None:
    assert json_text.squeeze(b' { "a" : [ 1.0 , "\\u003c\\/" ] } ') == b'{"a":[1.0,"\\u003c\\/"]}'


def test_each_value_has_a_line_and_empty_collections_have_one() -> None:
    assert json_text.indent(b'{"a":[],"b":{"c":[1.0]}}') == (
        b'{\n    "a": [],\n    "b": {\n        "c": [\n            1.0\n        ]\n    }\n}'
    )
