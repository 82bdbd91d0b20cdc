"""Whether an object has all desired fields."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube import coverage


@pytest.mark.parametrize(
    ("found", "wanted", "covered"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 2}, {"a": 1}, False),
        ({"a": 1}, {"a": True}, False),
        ({}, {"a": 1}, False),
        ({}, {"a": {}}, False),
        ([{"a": 1, "b": 2}], [{"a": 1}], True),
        ([{"a": 1}, {"b": 2}], [{"a": 1}], False),
        ("a", {"a": 1}, False),
        ([{"name": "y"}, {"name": "x", "v": 1, "more": 2}], [{"name": "x", "v": 1}], True),
        ([{"name": "y"}], [{"name": "x"}], False),
    ],
)
def test_additional_fields_are_not_a_difference(found: Any, wanted: Any, covered: bool) -> None:
    assert coverage.covers(found, wanted) is covered


def test_ports_keep_their_name_with_the_desired_number() -> None:
    found = {"ports": [{"name": "a", "port": 1, "nodePort": 7}, {"name": "b", "port": 2}]}
    wanted = {"ports": [{"name": "a", "port": 3}]}
    assert coverage.realign_ports(found, wanted) == {
        "ports": [{"name": "a", "port": 3, "nodePort": 7}, {"name": "b", "port": 2}]
    }
