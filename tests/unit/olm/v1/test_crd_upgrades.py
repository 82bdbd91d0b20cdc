"""Changes of CRDs that OLM v1 refuses."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.versions import Version
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


def test_releases_before_1_4_refuse_more() -> None:
    early, later = Version(1, 3, 0), Version(1, 4, 0)
    described = crd(description="new")
    assert crd_upgrades.check(crd(), described, release=later) == ()
    with pytest.raises(InputError) as refused:
        crd_upgrades.check(crd(), described, release=early)
    assert refused.value.message == (
        "OLM v1 refuses the new CustomResourceDefinition `toys.example.com`: `spec.size` of "
        "version `v1` changes: the change of `description` is not known to be safe"
    )
    assert refused.value.cause == "crd-upgrade-unsafe"


def test_releases_before_1_4_accept_what_their_checks_do_not_read() -> None:
    either = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    changed = crd(**either, description="new", default=1)
    early = Version(1, 2, 0)
    assert crd_upgrades.check(crd(**either), changed, release=early) == ()
    with pytest.raises(InputError, match="now has the default"):
        crd_upgrades.check(crd(**either), changed)
    renamed = crd(**either)
    renamed["spec"]["names"] = {"kind": "Other", "plural": "toys"}
    with pytest.raises(InputError, match="the name `kind` changes"):
        crd_upgrades.check(crd(**either), renamed, release=early)
