from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.kube.labels import LabelSelector


@pytest.mark.parametrize(
    ("selector", "labels", "matches"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "c"}, False),
        ("a=", {"a": ""}, True),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("a in (b, c)", {"a": "c"}, True),
        ("a in (b,c)", {}, False),
        ("a notin (b,c)", {}, True),
        ("a notin (b,c)", {"a": "b"}, False),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("!a", {}, True),
        ("! a", {"a": ""}, False),
        ("a>5", {"a": "6"}, True),
        ("a<5", {"a": "6"}, False),
        ("a>5", {"a": "x"}, False),
        ("a=b,c in (d),!e", {"a": "b", "c": "d"}, True),
        ("example.com/a=b", {"example.com/a": "b"}, True),
        ({"matchLabels": {"a": "b"}}, {"a": "b"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {"a": "x"}, True),
        (
            {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x"]}]},
            {"a": "x"},
            False,
        ),
        ({}, {"a": "x"}, True),
        ({"a": "b"}, {"a": "b"}, True),
    ],
)
def test_a_selector_matches_as_in_kubernetes(
    selector: str | dict[str, Any], labels: dict[str, str], matches: bool
) -> None:
    assert LabelSelector.parse(selector).matches(labels) is matches


@pytest.mark.parametrize(
    "selector",
    [
        "a=b c",
        "=b",
        "a in ()x",
        "a in b",
        "-a=b",
        "a=-b",
        "a>x",
        "A/b/c=d",
        "a" * 64,
        ",",
        "a,",
        "a=b, ",
        "a>99999999999999999999",
        {"a": 1},
        {"matchExpressions": [{"key": "a", "operator": "Near"}]},
        {"matchExpressions": [{"operator": "Exists"}]},
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
        {"matchExpressions": ["a"]},
    ],
)
def test_an_invalid_selector_is_refused(selector: str | dict[str, Any]) -> None:
    with pytest.raises(InputError):
        LabelSelector.parse(selector)


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({"matchLabels": {"b": "c", "a": "x"}}, "a=x,b=c"),
        ("b in (y,x),!a", "!a,b in (x,y)"),
        ("a notin (x)", "a!=x"),
        ("a notin (x,y)", "a notin (x,y)"),
        ("a>1,b<2,c", "a>1,b<2,c"),
    ],
)
def test_the_string_form_is_canonical(selector: str | dict[str, Any], text: str) -> None:
    assert str(LabelSelector.parse(selector)) == text
    assert LabelSelector.parse(text) == LabelSelector.parse(selector)
