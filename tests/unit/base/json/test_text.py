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
def test_a_value_is_written_as_go_writes_it(value: Any, text: str) -> None:
    assert json_text.compact(value).decode() == text


def test_html_stays_plain_when_asked() -> None:
    assert json_text.compact("<&>\u2028", escape_html=False) == b'"<&>\\u2028"'


def test_keys_keep_their_order_when_asked() -> None:
    assert json_text.compact({"b": 1, "a": {"d": 1e21, "c": 2}}, sort=False) == (
        b'{"b":1,"a":{"d":1e+21,"c":2}}'
    )


def test_spaces_go_and_tokens_stay_as_written() -> None:
    assert json_text.squeeze(b' { "a" : [ 1.0 , "\\u003c\\/" ] } ') == b'{"a":[1.0,"\\u003c\\/"]}'


def test_a_line_for_each_value_and_none_for_empty_ones() -> None:
    assert json_text.indent(b'{"a":[],"b":{"c":[1.0]}}') == (
        b'{\n    "a": [],\n    "b": {\n        "c": [\n            1.0\n        ]\n    }\n}'
    )
