"""Tests of `Bucket` objects on the API server double."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from olmkit.runtime import Client, Manifest, Request, TerminalError

from buckets_operator.api.v1.bucket import Bucket
from buckets_operator.reconcilers.bucket import (
    FINALIZER,
    KOPF_ANNOTATION,
    KOPF_FINALIZER,
    BucketReconciler,
)
from buckets_operator.store import Store, StoreError, StoreFull

ONE = Request("one", "default")


class Shelf(Store):
    """A store in memory; `error` is what it raises."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.error: Exception | None = None

    async def ensure(self, name: str, size: int) -> str:
        if self.error is not None:
            raise self.error
        self.sizes[name] = size
        return f"store/{name}"

    async def remove(self, name: str) -> None:
        if self.error is not None:
            raise self.error
        self.sizes.pop(name, None)


Scenario = Callable[[Client, BucketReconciler, Shelf], Awaitable[None]]
Play = Callable[[Manifest, Scenario], Awaitable[None]]


@pytest.fixture
def run_scenario(kube_client: Client) -> Play:
    """Runs a test about one bucket, to whose metadata the test adds."""

    async def run(metadata: Manifest, scenario: Scenario) -> None:
        shelf = Shelf()
        api = {"apiVersion": Bucket.gvk.api_version, "kind": "Bucket"}
        metadata_of_one = {"name": "one", "namespace": "default", **metadata}
        await kube_client.create({**api, "metadata": metadata_of_one, "spec": {"size": 3}})
        await scenario(kube_client, BucketReconciler(kube_client, shelf), shelf)

    return run


async def test_a_bucket_is_created_and_removed(run_scenario: Play) -> None:
    async def scenario(client: Client, reconciler: BucketReconciler, shelf: Shelf) -> None:
        await reconciler.reconcile(ONE)
        assert shelf.sizes == {"default.one": 3}
        bucket = await client.require(Bucket, ONE)
        assert bucket.metadata.finalizers == [FINALIZER]
        assert bucket.status is not None
        assert bucket.status.address == "store/default.one"
        await client.delete(Bucket, ONE)
        await reconciler.reconcile(ONE)
        assert shelf.sizes == {}
        assert await client.get(Bucket, ONE) is None

    await run_scenario({}, scenario)


async def test_data_of_kopf_is_removed(run_scenario: Play) -> None:
    async def scenario(client: Client, reconciler: BucketReconciler, _: Shelf) -> None:
        await reconciler.reconcile(ONE)
        bucket = await client.require(Bucket, ONE)
        assert bucket.metadata.finalizers == [FINALIZER]
        assert bucket.metadata.annotations == {"mine": "kept"}

    annotations = {KOPF_ANNOTATION: "{}", "mine": "kept"}
    await run_scenario({"finalizers": [KOPF_FINALIZER], "annotations": annotations}, scenario)


async def test_a_bucket_that_was_deleted_under_kopf_is_removed(run_scenario: Play) -> None:
    async def scenario(client: Client, reconciler: BucketReconciler, shelf: Shelf) -> None:
        shelf.sizes["default.one"] = 3
        await client.delete(Bucket, ONE)
        await reconciler.reconcile(ONE)
        assert shelf.sizes == {}
        assert await client.get(Bucket, ONE) is None

    await run_scenario({"finalizers": [KOPF_FINALIZER]}, scenario)


async def test_an_object_stays_until_its_bucket_is_removed(run_scenario: Play) -> None:
    async def scenario(client: Client, reconciler: BucketReconciler, shelf: Shelf) -> None:
        await reconciler.reconcile(ONE)
        await client.delete(Bucket, ONE)
        shelf.error = StoreError("the store says 500")
        with pytest.raises(StoreError):
            await reconciler.reconcile(ONE)
        assert await client.get(Bucket, ONE) is not None

    await run_scenario({}, scenario)


async def test_a_full_store_is_not_retried(run_scenario: Play) -> None:
    async def scenario(_: Client, reconciler: BucketReconciler, shelf: Shelf) -> None:
        shelf.error = StoreFull("the store is full")
        with pytest.raises(TerminalError):
            await reconciler.reconcile(ONE)

    await run_scenario({}, scenario)
