"""`Toy` objects against a small API server on loopback."""

from __future__ import annotations

from olmkit.runtime import Client, Request, Result
from olmkit.testing import ApiServer

from toy_operator.reconcilers.toy import ToyReconciler


async def test_an_object_is_reconciled(api_server: ApiServer, kube_client: Client) -> None:
    one = {"metadata": {"name": "one"}, "spec": {}}
    api_server.put("toys", one)
    key = Request("one", "default")
    assert await ToyReconciler(kube_client).reconcile(key) == Result()


async def test_an_object_that_is_gone_needs_nothing(kube_client: Client) -> None:
    key = Request("gone", "default")
    assert await ToyReconciler(kube_client).reconcile(key) == Result()
