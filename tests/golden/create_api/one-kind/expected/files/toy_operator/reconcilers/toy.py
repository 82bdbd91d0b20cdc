"""What the operator does about each `Toy`."""

from __future__ import annotations

import logging

from olmkit.runtime import Client, Request, Result

from toy_operator.api.v1alpha1.toy import Toy

_LOG = logging.getLogger(__name__)

# +kubebuilder:rbac:groups=toys.example.com,resources=toys,verbs=get;list;watch;create;update;patch;delete
# +kubebuilder:rbac:groups=toys.example.com,resources=toys/status,verbs=get;update;patch
# +kubebuilder:rbac:groups=toys.example.com,resources=toys/finalizers,verbs=update


class ToyReconciler:
    """Creates what one Toy requests."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def reconcile(self, request: Request) -> Result:
        """Compare what there is with what is wanted, and act; safe to run again at any time."""
        toy = await self._client.get(Toy, request)
        if toy is None:
            return Result()  # it is gone, and what it owned goes with it
        uid = toy.metadata.uid
        _LOG.info("reconciling", extra={"object": str(request), "uid": uid})
        return Result()
