"""What the predefined transforms keep of an object."""

from __future__ import annotations

import json

import pytest

from olmkit.runtime.watch.snapshot import Snapshot
from olmkit.runtime.watch.transforms import without_managed_fields

FIELDS = [{"manager": "m", "fieldsV1": {"f:spec": {}}}]


def test_managed_fields_are_removed_and_everything_else_keeps_its_bytes() -> None:
    raw = (
        b'{"kind":"K","metadata":{"name":"n","managedFields":[{"manager":"m"}],"uid":"u"},'
        b'"spec":{"big":12345678901234567890123,"float":1.0, "text":"\\u00e9"}}'
    )
    found = without_managed_fields(raw)
    assert b"managedFields" not in found
    assert b'{"big":12345678901234567890123,"float":1.0, "text":"\\u00e9"}' in found
    assert Snapshot(found).metadata == Snapshot(raw).metadata
    assert without_managed_fields(found) == found


@pytest.mark.parametrize(
    "manifest",
    [
        {"metadata": {"name": "n"}},
        {"metadata": {"name": "n"}, "data": {"a": '"managedFields"'}},
        {"metadata": {"name": "n"}, "spec": {"managedFields": FIELDS}},
    ],
)
def test_an_object_without_managed_fields_is_unchanged(manifest: dict[str, object]) -> None:
    raw = json.dumps(manifest).encode()
    assert without_managed_fields(raw) == raw
