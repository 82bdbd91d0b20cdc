"""Tests of `Toy` objects on a small API server on loopback."""

from __future__ import annotations

from pathlib import Path

from olmkit.runtime import Client, Request, Result
from olmkit.testing import ApiServer, load_manifest

from toy.reconcilers.toy import ToyReconciler

SAMPLE = Path(__file__).parent.parent / "config/samples/toys_v1alpha1_toy.yaml"


async def test_the_sample_is_reconciled(api_server: ApiServer, kube_client: Client) -> None:
    sample = load_manifest(SAMPLE)
    api_server.put("toys", sample)
    key = Request(sample["metadata"]["name"], "default")
    assert await ToyReconciler(kube_client).reconcile(key) == Result()


async def test_an_object_that_is_gone_needs_nothing(kube_client: Client) -> None:
    key = Request("gone", "default")
    assert await ToyReconciler(kube_client).reconcile(key) == Result()
