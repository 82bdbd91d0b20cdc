"""The kinds that a double has by default."""

from __future__ import annotations

import asyncio

import pytest

from olmkit.runtime import GVK, AlreadyExists, Request
from olmkit.testing import BUILT_IN, ApiServer, client_for
from olmkit.testing.apiserver.kinds import built_in_kinds


def test_kinds_have_the_groups_and_scopes_of_kubernetes() -> None:
    found = ApiServer.of(BUILT_IN).collections
    assert {
        "/api/v1/configmaps",
        "/api/v1/namespaces",
        "/api/v1/secrets",
        "/apis/apps/v1/statefulsets",
        "/apis/batch/v1/cronjobs",
        "/apis/coordination.k8s.io/v1/leases",
        "/apis/events.k8s.io/v1/events",
        "/apis/networking.k8s.io/v1/ingresses",
        "/apis/policy/v1/poddisruptionbudgets",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/storage.k8s.io/v1/storageclasses",
    } < set(found)
    assert len(found) == len(BUILT_IN) > 50


def test_every_type_of_a_field_exists() -> None:
    scalars = {"s", "b", "i", "f", "any", "port", "quantity"}
    table = built_in_kinds.fields()
    named = {kind.lstrip("[]{}") for fields in table.values() for kind in fields.values()}
    assert named - scalars <= set(table)
    assert all(built_in_kinds.type_of(one.gvk) in table for one in BUILT_IN)


def test_the_namespaces_of_a_new_cluster_exist() -> None:
    server = ApiServer.of(BUILT_IN)
    found = {one["metadata"]["name"] for one in server.all("namespaces")}
    assert found == {"default", "kube-node-lease", "kube-public", "kube-system"}


def test_objects_of_a_test_have_a_namespace() -> None:
    server = ApiServer.of(BUILT_IN)
    server.put("configmaps", {"metadata": {"name": "a", "namespace": "team"}})

    async def scenario() -> None:
        async with server.serving(), client_for(server) as client:
            body = {"apiVersion": "v1", "kind": "Secret"}
            await client.create(body | {"metadata": {"name": "b", "namespace": "team"}})
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
            with pytest.raises(AlreadyExists):
                await client.create(namespace)

    asyncio.run(scenario())


def test_a_garbage_collector_also_empties_a_namespace() -> None:
    server = ApiServer.of(BUILT_IN)
    server.collects_garbage = True
    server.put("configmaps", {"metadata": {"name": "a", "namespace": "team"}})

    async def scenario() -> None:
        async with server.serving(), client_for(server) as client:
            await client.delete(GVK("", "v1", "Namespace"), Request("team"))

    asyncio.run(scenario())
    assert server.get("configmaps", "a", "team") is None
    assert server.get("namespaces", "team", "") is None
