"""The reconciler of `Toy`."""

from __future__ import annotations

import logging

from olmkit.runtime import Client, Request, Result

from toy_operator.api.v1alpha1.toy import Toy

_LOG = logging.getLogger(__name__)

# +kubebuilder:rbac:groups=toys.example.com,resources=toys,verbs=get;list;watch;create;update;patch;delete
# +kubebuilder:rbac:groups=toys.example.com,resources=toys/status,verbs=get;update;patch
# +kubebuilder:rbac:groups=toys.example.com,resources=toys/finalizers,verbs=update


class ToyReconciler:
    """Makes what one Toy asks for."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def reconcile(self, request: Request) -> Result:
        """Compare the actual with the desired state, and act. This must be idempotent."""
        manifest = await self._client.get(Toy.gvk, request)
        if manifest is None:
            return Result()  # deleted; the garbage collector deletes its children
        toy = Toy.from_manifest(manifest)
        _LOG.info("reconciling", extra={"object": str(request), "uid": toy.metadata.uid})
        return Result()
