"""Objects that OLM leaves in the cluster, found by label and by InstallPlan."""

from __future__ import annotations

import asyncio
from typing import Any

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster_v0 import leftovers
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.olm.cluster_state import ClusterState
from olmkit.testing.apiserver.server import ApiServer

Manifest = dict[str, Any]
RBAC = "rbac.authorization.k8s.io"
KINDS = (
    Resource(gvk=GVK(group=RBAC, version="v1", kind="ClusterRole"), plural="clusterroles",
             namespaced=False),
    Resource(gvk=GVK(group=RBAC, version="v1", kind="ClusterRoleBinding"),
             plural="clusterrolebindings", namespaced=False),
    Resource(gvk=GVK(group="operators.coreos.com", version="v1alpha1",
                     kind="ClusterServiceVersion"),
             plural="clusterserviceversions", namespaced=True),
)  # fmt: skip


def role(name: str, **labels: str) -> Manifest:
    found = {key.replace("_", "."): value for key, value in labels.items()}
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole",
            "metadata": {"name": name, "labels": found}}  # fmt: skip


def step(name: str, status: str, *, csv: str = "cache.v1", kind: str = "ClusterRole") -> Manifest:
    resource = {"group": RBAC, "version": "v1", "kind": kind, "name": name}
    return {"resolving": csv, "resource": resource, "status": status}


def names_of(server: ApiServer, *steps: Manifest) -> list[str]:
    """Return the objects of `cache.v1` in `apps`, from a plan with these steps."""
    plan = {"kind": "InstallPlan", "status": {"plan": [*steps, "no step"]}}

    async def ask() -> list[str]:
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as http:
            found = await leftovers.find_for_csvs(
                ClusterObjects(http), "apps", ["cache.v1"], [plan]
            )
        return [one["metadata"]["name"] for one in found]

    return asyncio.run(ask())


def test_objects_of_a_plan_are_found_without_a_label() -> None:
    server = ApiServer.of(KINDS)
    for one in (
        role("created"),
        role("being-made", olm_managed="true"),
        role("of-others"),
        role("of-another-operator", olm_owner="kettle.v1"),
        role("labelled", olm_owner="cache.v1"),
    ):
        server.put("clusterroles", one)

    found = names_of(
        server,
        step("created", "Created"),
        step("being-made", "Unknown"),
        step("of-others", "Present"),
        step("of-another-operator", "Created"),
        step("created", "Created", kind="Gadget"),
        step("gone", "Created"),
    )

    assert found == ["labelled", "being-made", "created"]


def test_objects_of_a_csv_with_that_name_in_another_namespace_are_kept() -> None:
    server = ApiServer.of(KINDS)
    server.put("clusterroles", role("labelled", olm_owner="cache.v1"))
    server.put("clusterroles", role("created"))
    csv = {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion"}
    server.put("clusterserviceversions",
               csv | {"metadata": {"name": "cache.v1", "namespace": "elsewhere"}})  # fmt: skip

    assert names_of(server, step("created", "Created")) == []


def test_without_permission_to_list_roles_none_are_found() -> None:
    server = ApiServer.of(KINDS)
    server.put("clusterroles", role("created"))
    server.denies = lambda access: access.resource == "clusterroles"

    assert names_of(server, step("created", "Created")) == []


def orphans_of(server: ApiServer, seen: ClusterState) -> list[str]:
    async def ask() -> list[str]:
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as http:
            found = await leftovers.find_orphans(ClusterObjects(http), seen, "cache")
        return [one["metadata"]["name"] for one in found]

    return asyncio.run(ask())


def owned(name: str, owner: str, kind: str, namespace: str = "apps") -> Manifest:
    labels = {"olm_owner": owner, "olm_owner_kind": kind, "olm_owner_namespace": namespace}
    return role(name, **labels)


def test_roles_whose_owner_was_deleted_are_found() -> None:
    server = ApiServer.of(KINDS)
    csv, group = "ClusterServiceVersion", "OperatorGroup"
    for one in (
        owned("group-gone", "old-group", group),
        owned("group-there", "group", group),
        owned("group-elsewhere", "old-group", group, "other"),
        owned("csv-gone", "cache.v1", csv),
        owned("csv-there", "cache.v2", csv),
        owned("csv-of-another-operator", "queue.v1", csv),
        owned("csv-elsewhere", "cache.v1", csv, "other"),
    ):
        server.put("clusterroles", one)
    seen = ClusterState(
        namespace="apps",
        groups=({"metadata": {"name": "group"}},),
        csvs=({"metadata": {"name": "cache.v2"}},),
    )

    assert orphans_of(server, seen) == ["csv-gone", "group-gone"]
    server.denies = lambda access: access.resource == "clusterroles"
    assert orphans_of(server, seen) == []


def test_install_plans_of_a_deleted_subscription_are_found() -> None:
    def plan(name: str, uid: str, *csvs: str, kind: str = "Subscription") -> Manifest:
        owner = {"kind": kind, "uid": uid}
        return {
            "metadata": {"name": name, "ownerReferences": [owner]},
            "spec": {"clusterServiceVersionNames": list(csvs)},
        }

    seen = ClusterState(
        namespace="apps",
        subscriptions=({"metadata": {"name": "cache", "uid": "here"}},),
        plans=(
            plan("gone", "there", "cache.v1"),
            plan("existing", "here", "cache.v1"),
            plan("of-several", "there", "cache.v1", "queue.v1"),
            plan("of-another-owner", "there", "cache.v1", kind="Thing"),
        ),
    )

    assert orphans_of(ApiServer.of(KINDS), seen) == ["gone"]
