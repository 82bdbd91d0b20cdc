from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube import owners
from olmkit.kube.owners import AlreadyOwned


def _owner(name: str = "m", namespace: str = "n", **other: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cache.example.com/v1",
        "kind": "Memcached",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
    } | other


def _child(namespace: str = "n") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "namespace": namespace},
    }


def test_an_owner_can_be_a_typed_object() -> None:
    class Typed:
        def to_manifest(self) -> dict[str, Any]:
            return _owner()

    child, other = _child(), _child()
    owners.set_controller_reference(Typed(), child)
    owners.set_controller_reference(_owner(), other)
    assert child == other
    assert owners.is_controlled_by(child, Typed())
    assert owners.has_owner_reference(Typed(), child)
    assert owners.remove_controller_reference(Typed(), child)
    owners.set_owner_reference(Typed(), child)
    assert owners.remove_owner_reference(Typed(), child)


def test_a_controller_reference_has_all_fields() -> None:
    child = _child()
    owners.set_controller_reference(_owner(), child)
    assert child["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "cache.example.com/v1",
            "kind": "Memcached",
            "name": "m",
            "uid": "uid-m",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert owners.is_controlled_by(child, _owner())
    assert owners.has_owner_reference(_owner(), child)


def test_setting_again_updates_the_entry_even_with_another_version() -> None:
    child = _child()
    owners.set_controller_reference(_owner(), child, block_owner_deletion=False)
    owners.set_controller_reference(_owner(apiVersion="cache.example.com/v2"), child)
    assert [r["apiVersion"] for r in child["metadata"]["ownerReferences"]] == [
        "cache.example.com/v2"
    ]


def test_a_second_controller_is_refused_and_both_are_named() -> None:
    child = _child()
    owners.set_controller_reference(_owner("a"), child)
    with pytest.raises(AlreadyOwned, match="controlled by Memcached a, not by Memcached b"):
        owners.set_controller_reference(_owner("b"), child)
    owners.set_owner_reference(_owner("b"), child)
    assert len(child["metadata"]["ownerReferences"]) == 2


@pytest.mark.parametrize("namespace", ["other", ""])
def test_an_owner_in_another_namespace_is_refused(namespace: str) -> None:
    with pytest.raises(ValueError, match="own"):
        owners.set_owner_reference(_owner(), _child(namespace))


def test_a_cluster_scoped_owner_can_own_any_object() -> None:
    child = _child()
    owners.set_owner_reference(_owner(namespace=""), child)
    assert owners.has_owner_reference(_owner(namespace=""), child)


def test_a_recreated_owner_is_not_the_controller() -> None:
    child = _child()
    owners.set_controller_reference(_owner(), child)
    again = _owner()
    again["metadata"]["uid"] = "another"
    assert not owners.is_controlled_by(child, again)


def test_an_owner_that_was_never_on_the_server_is_refused() -> None:
    with pytest.raises(ValueError, match="no uid"):
        owners.set_owner_reference({"kind": "X", "metadata": {"name": "x"}}, _child())


def test_removing_returns_whether_the_reference_existed() -> None:
    child = _child()
    assert not owners.remove_owner_reference(_owner(), child)
    owners.set_owner_reference(_owner(), child)
    assert owners.remove_owner_reference(_owner(), child)
    assert "ownerReferences" not in child["metadata"]


def test_only_a_controller_is_removed_as_controller() -> None:
    child = _child()
    owners.set_controller_reference(_owner("a"), child)
    owners.set_owner_reference(_owner("b"), child)
    assert not owners.remove_controller_reference(_owner("b"), child)
    assert owners.remove_controller_reference(_owner("a"), child)
    assert not owners.remove_controller_reference(_owner("a"), child)
    assert [r["name"] for r in child["metadata"]["ownerReferences"]] == ["b"]
