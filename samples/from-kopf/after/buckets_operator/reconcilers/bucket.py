"""The reconciler of each `Bucket`: one function where kopf had four handlers."""

from __future__ import annotations

from olmkit.runtime import Client, NotFound, Request, Result, TerminalError

from buckets_operator.api.v1.bucket import Bucket, BucketStatus
from buckets_operator.store import Store, StoreFull

FINALIZER = "storage.example.com/bucket"
KOPF_FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
KOPF_ANNOTATION = "kopf.zalando.org/last-handled-configuration"

# +kubebuilder:rbac:groups=storage.example.com,resources=buckets,verbs=get;list;watch;patch
# +kubebuilder:rbac:groups=storage.example.com,resources=buckets/status,verbs=update


class BucketReconciler:
    """Keeps one bucket in the desired state."""

    def __init__(self, client: Client, store: Store) -> None:
        self._client = client
        self._store = store

    async def reconcile(self, request: Request) -> Result:
        """Compare the actual with the desired state, and act. This must be idempotent."""
        bucket = await self._client.get(Bucket, request, fresh=True)
        if bucket is None:
            return Result()
        key = f"{request.namespace}.{request.name}"
        if bucket.metadata.deletion_timestamp:
            await self._remove(bucket, key)
            return Result()
        bucket = await self._taken_over(bucket)
        try:
            address = await self._store.ensure(key, bucket.spec.size)
        except StoreFull as error:
            raise TerminalError(str(error)) from error
        status = BucketStatus(address=address, observed_generation=bucket.metadata.generation)
        await self._client.update_status(bucket.model_copy(update={"status": status}))
        return Result()

    async def _taken_over(self, bucket: Bucket) -> Bucket:
        """Return the object with our finalizer, and without the data of kopf."""
        taken = bucket.model_copy(deep=True)
        taken.metadata.annotations.pop(KOPF_ANNOTATION, None)
        taken.metadata.finalizers = [
            *(one for one in bucket.metadata.finalizers if one not in (FINALIZER, KOPF_FINALIZER)),
            FINALIZER,
        ]
        return await self._client.patch(bucket, taken, locked=True)

    async def _remove(self, bucket: Bucket, key: str) -> None:
        """Remove the bucket from the store, and remove our finalizer and that of kopf."""
        ours = {FINALIZER, KOPF_FINALIZER}
        if not ours & set(bucket.metadata.finalizers):
            return
        await self._store.remove(key)
        freed = bucket.model_copy(deep=True)
        freed.metadata.finalizers = [one for one in bucket.metadata.finalizers if one not in ours]
        try:
            await self._client.patch(bucket, freed, locked=True)
        except NotFound:
            return
