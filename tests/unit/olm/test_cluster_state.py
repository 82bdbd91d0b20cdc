"""A list of objects becomes a snapshot, and the reverse."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.olm import cluster_state
from olmkit.olm.cluster_state import ClusterState


def new_object(kind: str, name: str, namespace: str = "apps", **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, "namespace": namespace}, **fields}


def test_a_written_state_is_read_back() -> None:
    seen = ClusterState(
        namespace="apps",
        subscriptions=(new_object("Subscription", "a", spec={"name": "p"}),),
        elsewhere=(new_object("Subscription", "a", "other", spec={"name": "p"}),),
        groups=(new_object("OperatorGroup", "g"),),
        catalogs=(new_object("CatalogSource", "c"),),
        pods=(new_object("Pod", "p", "olm"),),
        logs={"apps/pod/manager": "last words\n"},
        absent_targets=("gone",),
    )

    assert cluster_state.from_objects(cluster_state.objects_of(seen), "apps") == seen


def test_catalogs_of_other_namespaces_are_omitted() -> None:
    asks = new_object("Subscription", "a", spec={"name": "p", "sourceNamespace": "olm"})
    catalogs = (new_object("CatalogSource", "c", "olm"), new_object("CatalogSource", "c", "other"))

    written = cluster_state.objects_of(
        ClusterState(namespace="apps", subscriptions=(asks,), catalogs=catalogs)
    )

    assert [one["metadata"]["namespace"] for one in written] == ["apps", "olm"]


def test_long_values_without_use_are_omitted() -> None:
    csv = new_object("ClusterServiceVersion", "c", spec={"icon": ["x" * 1000], "version": "1"})
    csv["metadata"]["managedFields"] = [1]
    step = {"status": "Present", "resource": {"kind": "CRD", "manifest": "x" * 1000}}
    plan = new_object("InstallPlan", "i", status={"plan": [step], "bundleLookups": [1]})

    written = list(
        cluster_state.objects_of(ClusterState(namespace="apps", csvs=(csv,), plans=(plan,)))
    )

    assert len(str(written)) < 600
    assert written[1]["spec"] == {"version": "1"}
    assert written[0]["status"]["plan"][0]["resource"] == {"kind": "CRD"}


def test_a_subscription_is_found_by_package_or_name() -> None:
    one = new_object("Subscription", "my-name", spec={"name": "cache"})
    seen = ClusterState(namespace="apps", subscriptions=(one,))

    assert seen.subscription("cache") is one
    assert seen.subscription("my-name") is one
    assert seen.subscription("other") is None


def test_copies_of_csvs_do_not_count() -> None:
    copy = new_object("ClusterServiceVersion", "c")
    copy["metadata"]["labels"] = {"olm.copiedFrom": "operators"}

    assert ClusterState(namespace="apps", csvs=(copy,)).csv("c") is None


def test_an_existing_csv_is_installed_before_olm_records_it() -> None:
    asks = new_object("Subscription", "a", status={"installedCSV": "c.v1", "currentCSV": "c.v2"})
    old, new = (
        new_object("ClusterServiceVersion", "c.v1"),
        new_object("ClusterServiceVersion", "c.v2"),
    )

    assert ClusterState(namespace="apps", csvs=(old,)).installed(asks) == "c.v1"
    assert ClusterState(namespace="apps", csvs=(old, new)).installed(asks) == "c.v2"
    assert (
        ClusterState(namespace="apps", csvs=(new,)).installed(new_object("Subscription", "b")) == ""
    )


def test_a_saved_node_keeps_whether_it_is_ready() -> None:
    conditions = [{"type": "DiskPressure", "status": "False"}, {"type": "Ready", "status": "False"}]
    node = {
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"a": "b"}},
        "status": {"conditions": conditions, "images": [], "allocatable": {"cpu": "2"}},
    }

    assert cluster_state.shorten(node)["status"] == {
        "allocatable": {"cpu": "2"},
        "conditions": conditions[1:],
    }


@pytest.mark.parametrize("is_copy", [True, False])
def test_a_copied_csv_is_not_installed_here(*, is_copy: bool) -> None:
    """OLM records it in the Subscription all the same."""
    labels = {"olm.copiedFrom": "elsewhere"} if is_copy else {}
    csv = {"metadata": {"name": "cache.v1", "namespace": "apps", "labels": labels}}
    status = {"currentCSV": "cache.v1", "installedCSV": "cache.v1"}
    subscription = {"metadata": {"name": "cache", "namespace": "apps"}, "status": status}
    seen = ClusterState(namespace="apps", subscriptions=(subscription,), csvs=(csv,))

    assert seen.installed(subscription) == ("" if is_copy else "cache.v1")
