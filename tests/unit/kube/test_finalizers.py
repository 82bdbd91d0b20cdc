from __future__ import annotations

from typing import Any

from olmkit.kube import finalizers

F = "cache.example.com/finalizer"


def test_adding_twice_changes_the_object_once() -> None:
    manifest: dict[str, Any] = {}
    assert finalizers.add(manifest, F)
    assert not finalizers.add(manifest, F)
    assert manifest["metadata"]["finalizers"] == [F]


def test_removing_removes_all_copies_of_one_and_keeps_others() -> None:
    manifest: dict[str, Any] = {"metadata": {"finalizers": [F, "other/f", F]}}
    assert finalizers.remove(manifest, F)
    assert manifest["metadata"]["finalizers"] == ["other/f"]
    assert not finalizers.remove(manifest, F)
    assert finalizers.remove(manifest, "other/f")
    assert manifest["metadata"] == {}


def test_the_timestamp_shows_a_deletion() -> None:
    assert not finalizers.is_being_deleted({"metadata": {}})
    assert finalizers.is_being_deleted({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})


def test_the_managed_fields_show_who_set_a_finalizer() -> None:
    fields = {"f:metadata": {"f:finalizers": {".": {}, f'v:"{F}"': {}}}}
    entries = [{"manager": "kubelet"}, {"manager": "kubectl-create", "fieldsV1": fields}]
    manifest = {"metadata": {"managedFields": entries}}

    assert finalizers.set_by(manifest, F) == "kubectl-create"
    assert not finalizers.set_by(manifest, "other/f")
