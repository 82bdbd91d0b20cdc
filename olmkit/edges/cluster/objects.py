"""Access objects of a cluster by kind and name, for jobs.

Kinds are pairs of API version and kind; their resource is requested from the server once.
A missing object is None or empty, because jobs mostly check whether it exists.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube import objects
from olmkit.kube.api import ClusterError, NoSuchKind, NotFound, PatchType, Propagation
from olmkit.kube.objects import Manifest

Kind = tuple[str, str]
MANAGER = "olmkit"
# The kubelet's response, with status 200, if it has no log of a container.
_NO_LOG = b"unable to retrieve container logs for "


class ClusterObjects:
    """Reads and writes objects; every method raises `ClusterError` or a subclass."""

    def __init__(self, cluster: HttpCluster) -> None:
        self.cluster = cluster

    async def knows(self, kind: Kind) -> bool:
        """Return whether the cluster has that kind."""
        try:
            await self.cluster.resource(*kind)
        except NoSuchKind:
            return False
        return True

    async def find(self, kind: Kind, name: str, namespace: str = "") -> Manifest | None:
        """Return the object, or None if it or its kind does not exist."""
        try:
            resource = await self.cluster.resource(*kind)
            return await self.cluster.get(resource, name, namespace=namespace)
        except (NotFound, NoSuchKind):
            return None

    async def current(self, manifest: Manifest) -> Manifest | None:
        """Return the current object of a manifest; None if there is none."""
        return await self.find(_kind(manifest), objects.name(manifest), objects.namespace(manifest))

    async def list(
        self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> tuple[Manifest, ...]:
        """Return all objects of a kind in one or all namespaces; none without the kind."""
        try:
            resource = await self.cluster.resource(*kind)
            page = await self.cluster.list_page(
                resource, namespace=namespace, label_selector=labels, field_selector=fields
            )
        except NoSuchKind:
            return ()
        # Items of built-in kinds do not have their kind.
        head = {"apiVersion": kind[0], "kind": kind[1]}
        return tuple(head | json.loads(item) for item in page.items)

    async def create(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        resource = await self.cluster.resource(*_kind(manifest))
        return await self.cluster.create(resource, manifest, field_manager=MANAGER, dry_run=dry_run)

    async def apply(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        """Apply with server-side apply; take over fields of other managers."""
        resource = await self.cluster.resource(*_kind(manifest))
        return await self.cluster.patch(
            resource,
            objects.name(manifest),
            manifest,
            type=PatchType.APPLY,
            namespace=objects.namespace(manifest),
            field_manager=MANAGER,
            force=True,
            dry_run=dry_run,
        )

    async def merge(
        self,
        manifest: Manifest,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Manifest:
        """Merge `patch` into an existing object, or into one of its subresources."""
        resource = await self.cluster.resource(*_kind(manifest))
        return await self.cluster.patch(
            resource,
            objects.name(manifest),
            patch,
            type=PatchType.MERGE,
            namespace=objects.namespace(manifest),
            subresource=subresource,
            field_manager=MANAGER,
            dry_run=dry_run,
        )

    async def delete(
        self, manifest: Manifest, *, propagation: Propagation = Propagation.BACKGROUND
    ) -> bool:
        """Delete an object; return whether it existed."""
        try:
            resource = await self.cluster.resource(*_kind(manifest))
            await self.cluster.delete(
                resource,
                objects.name(manifest),
                namespace=objects.namespace(manifest),
                propagation=propagation,
            )
        except (NotFound, NoSuchKind):
            return False
        return True

    async def log(
        self, namespace: str, pod: str, container: str, *, previous: bool = False, lines: int = 10
    ) -> str:
        """Return the last lines of a container; empty if there is no log."""
        params = {"container": container, "tailLines": str(lines)}
        if previous:
            params["previous"] = "true"
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
        try:
            body = await self.cluster.request("GET", path, params=params, accept="*/*")
        except ClusterError:
            return ""
        if body.startswith(_NO_LOG):
            return ""
        return body.decode("utf-8", "replace")

    async def whole_log(self, namespace: str, pod: str, container: str, *, limit: int) -> bytes:
        """Return the whole log of a container, at most `limit` bytes."""
        params = {"container": container, "limitBytes": str(limit)}
        path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
        return await self.cluster.request("GET", path, params=params, accept="*/*")

    async def execute(
        self,
        namespace: str,
        pod: str,
        container: str,
        command: Sequence[str],
        *,
        limit: int,
        seconds: float = 60.0,
    ) -> tuple[bytes, bytes]:
        """Run a command in a container; return its standard output and standard error.

        Raises `ClusterError` if it cannot run, or writes more than `limit` bytes.
        """
        written = {1: bytearray(), 2: bytearray()}
        messages = self.cluster.execute(namespace, pod, container, command)
        try:
            async with asyncio.timeout(seconds), contextlib.aclosing(messages):
                async for channel, data in messages:
                    if channel in written:
                        written[channel] += data
                    if sum(map(len, written.values())) > limit:
                        raise ClusterError(
                            f"the command in pod `{pod}` wrote more than {limit >> 20} MiB"
                        )
        except TimeoutError:
            raise ClusterError(
                f"the command in pod `{pod}` did not end within {seconds:.0f} s"
            ) from None
        return bytes(written[1]), bytes(written[2])


def _kind(manifest: Manifest) -> Kind:
    return objects.text(manifest.get("apiVersion")), objects.kind(manifest)
