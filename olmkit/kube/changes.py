"""Compute merge patches and JSON patches between two objects.

The opposite of `olmkit.kube.patches`, which applies them. Sources: RFC 7386 and
RFC 6902.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch from `old` to `new`; empty if nothing differs.

    Lists are replaced as a whole. A merge patch cannot express a null in `new`, so it counts as
    missing.
    """
    patch: dict[str, Any] = {}
    for key in old.keys() - new.keys():
        patch[key] = None
    for key, value in new.items():
        before = old.get(key)
        if value is before:
            continue  # most of an object is carried over unchanged
        if value is None:
            if before is not None:
                patch[key] = None
        elif before is None:
            patch[key] = value
        elif isinstance(value, Mapping) and isinstance(before, Mapping):
            inner = merge_patch(before, value)
            if inner:
                patch[key] = inner
        elif not same(before, value):
            patch[key] = value
    return dict(sorted(patch.items()))


def json_patch(old: Any, new: Any, path: str = "") -> list[dict[str, Any]]:
    """Return the operations from `old` to `new`, comparing lists by position."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        operations: list[dict[str, Any]] = [
            {"op": "remove", "path": f"{path}/{_escape(key)}"}
            for key in sorted(old.keys() - new.keys())
        ]
        for key in sorted(new):
            place = f"{path}/{_escape(key)}"
            if key in old:
                operations += json_patch(old[key], new[key], place)
            else:
                operations.append({"op": "add", "path": place, "value": new[key]})
        return operations
    if isinstance(old, list) and isinstance(new, list):
        operations = []
        for index, (before, after) in enumerate(zip(old, new, strict=False)):
            operations += json_patch(before, after, f"{path}/{index}")
        operations += [
            {"op": "remove", "path": f"{path}/{index}"}
            for index in range(len(old) - 1, len(new) - 1, -1)
        ]
        operations += [
            {"op": "add", "path": f"{path}/-", "value": value} for value in new[len(old) :]
        ]
        return operations
    return [] if same(old, new) else [{"op": "replace", "path": path, "value": new}]


def same(left: Any, right: Any) -> bool:
    """Return whether two values are equal as JSON: Python's `True == 1` is not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
