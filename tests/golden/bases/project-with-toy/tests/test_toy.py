"""Tests of `Toy` objects on a small API server on loopback."""

from __future__ import annotations

import asyncio

from olmkit.runtime import Client, ClusterConfig, HttpCluster, Request, Resource, Result
from olmkit.testing import ApiServer

from toy_operator.api.v1alpha1.toy import Toy
from toy_operator.reconcilers.toy import ToyReconciler

RESOURCE = Resource(
    gvk=Toy.gvk,
    plural="toys",
    namespaced=True,
    subresources=frozenset({"status"}),
)


async def reconcile(server: ApiServer, name: str) -> Result:
    async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
        client = Client(cluster, None, field_manager="test")
        return await ToyReconciler(client).reconcile(Request(name, "default"))


def test_an_object_is_reconciled() -> None:
    server = ApiServer.of([RESOURCE])
    server.put("toys", {"metadata": {"name": "one"}, "spec": {}})
    assert asyncio.run(reconcile(server, "one")) == Result()


def test_an_object_that_is_gone_needs_nothing() -> None:
    assert asyncio.run(reconcile(ApiServer.of([RESOURCE]), "gone")) == Result()
