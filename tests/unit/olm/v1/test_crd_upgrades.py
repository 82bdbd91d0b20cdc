"""Changes of CRDs that OLM v1 refuses."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.olm.v1 import crd_upgrades


def crd(**size: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"size": {"type": "integer", **size}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Toy", "plural": "toys"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def test_a_stricter_schema_is_refused() -> None:
    with pytest.raises(InputError) as refused:
        crd_upgrades.check(crd(), crd(minimum=1))

    assert "`toys.example.com`: `spec.size` must now be at least `1`" in refused.value.message
    assert "enforcement: None" in refused.value.hint


def test_a_change_that_olm_v0_accepts_is_also_refused() -> None:
    with pytest.raises(InputError, match="now has the default"):
        crd_upgrades.check(crd(), crd(default=1))


def test_without_enforcement_the_changes_are_notes() -> None:
    (note,) = crd_upgrades.check(crd(), crd(minimum=1), enforced=False)

    assert "no check is made: `spec.size` must now be at least `1`" in note


def test_safe_changes_are_accepted() -> None:
    assert crd_upgrades.check(crd(minimum=2), crd(minimum=1, description="new")) == ()


def test_a_cluster_extension_can_turn_the_check_off() -> None:
    safety = {"crdUpgradeSafety": {"enforcement": "None"}}

    assert crd_upgrades.is_enforced({"spec": {}})
    assert not crd_upgrades.is_enforced({"spec": {"install": {"preflight": safety}}})
