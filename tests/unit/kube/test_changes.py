from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.kube import changes, patches

SCALARS = st.one_of(st.booleans(), st.integers(0, 3), st.sampled_from(["", "a", "~/x"]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab~/"), inner, max_size=3)
    ),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("ab~/"), VALUES, max_size=4)


@pytest.mark.property
@given(OBJECTS, OBJECTS)
def test_a_merge_patch_converts_the_old_object_into_the_new_one(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    assert changes.same(patches.merge_patch(old, changes.merge_patch(old, new)), new)


@pytest.mark.property
@given(OBJECTS, OBJECTS)
def test_a_json_patch_converts_the_old_object_into_the_new_one(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    assert changes.same(patches.json_patch(old, changes.json_patch(old, new)), new)


@given(OBJECTS)
def test_equal_objects_have_an_empty_patch(value: dict[str, Any]) -> None:
    assert changes.merge_patch(value, value) == {}
    assert changes.json_patch(value, value) == []


def test_true_differs_from_one() -> None:
    assert changes.merge_patch({"a": 1}, {"a": True}) == {"a": True}
    assert changes.json_patch({"a": [0]}, {"a": [False]}) == [
        {"op": "replace", "path": "/a/0", "value": False}
    ]


def test_a_merge_patch_removes_with_null() -> None:
    assert changes.merge_patch({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}) == {"a": {"c": None}}
    assert changes.merge_patch({"a": 1}, {"a": None}) == {"a": None}
    assert changes.merge_patch({}, {"a": None}) == {}
