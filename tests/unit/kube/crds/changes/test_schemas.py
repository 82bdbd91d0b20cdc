from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.kube.crds.changes import schemas

VECTORS = Path(__file__).parents[4] / "vectors" / "crd_changes.yaml"
CASES: dict[str, dict[str, Any]] = documents.load(VECTORS.read_bytes(), "").value


def schema_of(spec: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", **spec}}}


@pytest.mark.parametrize("name", CASES)
def test_each_change_is_reported_with_its_meaning(name: str) -> None:
    case = CASES[name]

    found = schemas.compare_schemas(schema_of(case["old"]), schema_of(case["new"]))

    assert [one.rule for one in found] == case["rules"]
    assert any(one.refuses for one in found) is case.get("refuses", False)
    assert any(one.refuses_stored for one in found) is case.get("stored", False)
    assert any(one.prunes for one in found) is case.get("prunes", False)
    assert all(one.is_safe for one in found) is case.get("safe", False)


@pytest.mark.parametrize("name", CASES)
def test_equal_schemas_have_no_changes(name: str) -> None:
    assert (
        schemas.compare_schemas(schema_of(CASES[name]["new"]), schema_of(CASES[name]["new"])) == ()
    )


def test_a_required_field_without_a_schema_is_removed_with_the_unknown_fields() -> None:
    old = {"type": "object", "required": ["a"], "x-kubernetes-preserve-unknown-fields": True}
    new = {"type": "object", "required": ["a"]}

    def refuses(new: dict[str, Any]) -> bool:
        spec = {"type": "object", "properties": {"spec": new}}
        before = {"type": "object", "properties": {"spec": old}}
        return any(one.refuses for one in schemas.compare_schemas(before, spec))

    assert refuses(new)
    assert not refuses({**new, "properties": {"a": {}}})
