"""Keep one Deployment for each Memcached: read, decide, act.

What is decided stands in `decisions`; here is only the order in which the
cluster is asked and told.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from memcached_operator import decisions
from memcached_operator.api.v1alpha1.memcached import Memcached
from memcached_operator.decisions import DEPLOYMENT, POD
from olmkit.kube.objects import Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.reconcile import Request, Result

_LOG = logging.getLogger(__name__)

# +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch
# +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=get;patch;update
# +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
# +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;patch;delete
# +kubebuilder:rbac:groups=core,resources=pods,verbs=get;list;watch


class MemcachedReconciler:
    """Makes the Deployment of one Memcached so, and writes what there is into its status.

    `image` is what the pods run; `now` tells the time as RFC 3339 in whole seconds.
    """

    def __init__(self, client: Client, *, image: str, now: Callable[[], str]) -> None:
        self._client = client
        self._image = image
        self._now = now

    async def reconcile(self, request: Request) -> Result:
        manifest = await self._client.get(Memcached.gvk, request)
        if manifest is None or manifest["metadata"].get("deletionTimestamp"):
            return Result()  # what it owns goes with it
        memcached = Memcached.from_manifest(manifest)
        if not self._image:
            await self._write_status(
                manifest, decisions.status_without_image(memcached, self._now())
            )
            raise RuntimeError("the environment variable MEMCACHED_IMAGE is not set")
        found = await self._deployment(request)
        if found is not None and not decisions.is_owned_by(memcached, found):
            status = decisions.status_with_foreign_deployment(memcached, self._now())
            await self._write_status(manifest, status)
            return Result()  # its owner's next event, or ours, brings us back
        wanted = decisions.deployment_for(memcached, self._image)
        if found is None or not decisions.covers(found, wanted):
            found = await self._client.apply(wanted)
            _LOG.info("deployment applied", extra={"memcached": str(request)})
        pods = await self._client.list(
            POD, namespace=request.namespace, labels=decisions.selector_for(memcached)
        )
        status = decisions.status_from(memcached, found, pods, self._now())
        await self._write_status(manifest, status)
        return Result()

    async def _deployment(self, request: Request) -> Manifest | None:
        """The Deployment of that name, also one that the cache does not hold since it is not ours."""
        found = await self._client.get(DEPLOYMENT, request)
        return found or await self._client.direct.get(DEPLOYMENT, request)

    async def _write_status(self, manifest: Manifest, status: dict[str, Any]) -> None:
        """Write the status, unless it says the same already."""
        if manifest.get("status") != status:
            await self._client.apply_status({**manifest, "status": status})
