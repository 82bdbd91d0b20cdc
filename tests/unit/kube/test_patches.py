"""Patches: JSON patch, merge patch, strategic merge."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube import patches
from olmkit.kube.patches import PatchError


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/a/b", "value": 2}, {"a": {"b": 2}, "l": [1, 2]}),
        ({"op": "add", "path": "/l/-", "value": 3}, {"a": {}, "l": [1, 2, 3]}),
        ({"op": "add", "path": "/l/0", "value": 0}, {"a": {}, "l": [0, 1, 2]}),
        ({"op": "replace", "path": "/l/1", "value": 9}, {"a": {}, "l": [1, 9]}),
        ({"op": "remove", "path": "/a"}, {"l": [1, 2]}),
        ({"op": "remove", "path": "/l/0"}, {"a": {}, "l": [2]}),
        ({"op": "copy", "from": "/l", "path": "/a/c"}, {"a": {"c": [1, 2]}, "l": [1, 2]}),
        ({"op": "move", "from": "/l", "path": "/a/c"}, {"a": {"c": [1, 2]}}),
        ({"op": "add", "path": "/a/x~1y~0z", "value": 1}, {"a": {"x/y~z": 1}, "l": [1, 2]}),
        ({"op": "add", "path": "/a/~01", "value": 1}, {"a": {"~1": 1}, "l": [1, 2]}),
        ({"op": "test", "path": "/l", "value": [1, 2]}, {"a": {}, "l": [1, 2]}),
        ({"op": "replace", "path": "", "value": 1}, 1),
    ],
)
def test_each_operation_of_a_json_patch_is_applied(operation: dict[str, Any], result: Any) -> None:
    value: dict[str, Any] = {"a": {}, "l": [1, 2]}
    assert patches.json_patch(value, [operation]) == result
    assert value == {"a": {}, "l": [1, 2]}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/x/y", "value": 1},
        {"op": "add", "path": "/l/3", "value": 1},
        {"op": "add", "path": "/l/01", "value": 1},
        {"op": "add", "path": "/a/b"},
        {"op": "remove", "path": "/none"},
        {"op": "remove", "path": ""},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "test", "path": "/l", "value": []},
        {"op": "copy", "from": "/none", "path": "/a"},
        {"op": "burn", "path": "/a"},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/s/x/y", "value": 1},
        {"path": 3},
        "text",
    ],
)
def test_an_operation_that_cannot_be_applied_is_reported(operation: Any) -> None:
    with pytest.raises(PatchError):
        patches.json_patch({"a": {}, "l": [1], "s": "text"}, [operation])


def test_a_json_patch_must_be_a_list() -> None:
    with pytest.raises(PatchError):
        patches.json_patch({}, {"op": "add"})


def test_a_merge_patch_merges_mappings_and_removes_with_null() -> None:
    value = {"a": {"b": 1, "c": 2}, "l": [1]}
    assert patches.merge_patch(value, {"a": {"b": None}, "l": [2]}) == {"a": {"c": 2}, "l": [2]}
    assert patches.merge_patch(3, {"a": {"b": None}}) == {"a": {}}


def deployment(containers: list[Any]) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "spec": {"template": {"spec": {"containers": containers}}},
    }


def merged(value: list[Any], patch: list[Any]) -> Any:
    result = patches.strategic_merge(deployment(value), deployment(patch))
    assert result is not None
    return result["spec"]["template"]["spec"]["containers"]


def test_lists_of_built_in_kinds_are_merged_by_key_with_the_patch_first() -> None:
    value = [{"name": "a", "image": "1", "args": ["x"]}, {"name": "b"}]
    patch = [{"name": "c"}, {"name": "a", "image": "2", "args": ["y"]}]
    assert merged(value, patch) == [
        {"name": "c"},
        {"name": "a", "image": "2", "args": ["y"]},
        {"name": "b"},
    ]


def test_ports_are_merged_by_number() -> None:
    value = [{"name": "a", "ports": [{"containerPort": 80}]}]
    patch = [{"name": "a", "ports": [{"containerPort": 80, "name": "http"}]}]
    assert merged(value, patch)[0]["ports"] == [{"containerPort": 80, "name": "http"}]


@pytest.mark.parametrize(
    ("patch", "result"),
    [
        ([{"name": "a", "$patch": "delete"}], [{"name": "b"}]),
        ([{"$patch": "replace"}, {"name": "c"}], [{"name": "c"}]),
        ([{"name": "a", "$patch": "replace", "x": 1}], [{"name": "a", "x": 1}, {"name": "b"}]),
        ([{"image": "no key"}], [{"image": "no key"}]),
    ],
)
def test_directives_in_lists_are_applied(patch: list[Any], result: list[Any]) -> None:
    assert merged([{"name": "a"}, {"name": "b"}], patch) == result


def test_an_object_can_be_deleted_and_replaced() -> None:
    assert patches.strategic_merge(deployment([]), {"$patch": "delete"}) is None
    assert patches.strategic_merge(deployment([]), {"$patch": "replace", "a": 1}) == {"a": 1}


@pytest.mark.parametrize("patch", [{"$patch": "burn"}, {"$setElementOrder/x": []}])
def test_other_directives_are_refused(patch: dict[str, Any]) -> None:
    with pytest.raises(PatchError):
        patches.strategic_merge(deployment([]), patch)


def test_lists_of_other_kinds_are_replaced() -> None:
    value = {"apiVersion": "example.com/v1", "kind": "X", "containers": [{"name": "a"}], "b": 1}
    patch = {"containers": [{"name": "b", "$patch": "merge"}], "b": None}
    assert patches.strategic_merge(value, patch) == {
        "apiVersion": "example.com/v1",
        "kind": "X",
        "containers": [{"name": "b"}],
    }
