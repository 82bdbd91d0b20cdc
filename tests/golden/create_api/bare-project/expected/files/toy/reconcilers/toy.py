"""The reconciler of `Toy`."""

from __future__ import annotations

import logging

from olmkit.runtime import Client, Request, Result

from toy.api.v1alpha1.toy import Toy

_LOG = logging.getLogger(__name__)

# +kubebuilder:rbac:groups=toys.example.com,resources=toys,verbs=get;list;watch;create;update;patch;delete
# +kubebuilder:rbac:groups=toys.example.com,resources=toys/status,verbs=get;update;patch
# +kubebuilder:rbac:groups=toys.example.com,resources=toys/finalizers,verbs=update


class ToyReconciler:
    """Reconciles one Toy."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def reconcile(self, request: Request) -> Result:
        """Compare the actual with the desired state, and act. This must be idempotent."""
        toy = await self._client.get(Toy, request)
        if toy is None:
            return Result()  # deleted; the garbage collector deletes its children
        uid = toy.metadata.uid
        _LOG.info("reconciling", extra={"object": str(request), "uid": uid})
        return Result()
