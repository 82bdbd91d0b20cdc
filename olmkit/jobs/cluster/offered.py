"""Read the contents of a catalog of the cluster from this machine.

A catalog is an image or the address of a server. Both may be unreachable from this machine.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping
from dataclasses import replace

from olmkit.base import names
from olmkit.base.diagnostics import InputError, OlmkitError, RemoteError
from olmkit.catalog import served
from olmkit.catalog.model import Catalog
from olmkit.catalog.served import Answer
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import unpacking

# Seconds: a server that can be reached from here starts to respond at once.
_ANSWER = 10.0


async def read(source: Manifest, access: Access, *, image: str = "") -> Catalog:
    """Read the catalog of a CatalogSource; `image` replaces its image.

    Raises `OlmkitError` if it cannot be read from this machine.
    """
    spec = kinds.spec(source)
    address = text(spec.get("address"))
    if address and not image:
        return await read_address(address)
    named = image or text(spec.get("image"))
    if not named:
        raise InputError(
            f"the CatalogSource `{objects.name(source)}` has neither an image nor an address"
        )
    return (await cluster_bundle.read_catalog(named, access)).catalog


async def read_address(address: str) -> Catalog:
    """Read the catalog that is served at an address. Raises `OlmkitError` like `read`."""
    return served.catalog(*await list_address(address))


async def list_address(address: str) -> tuple[list[Answer], list[Answer]]:
    """Return the packages and bundles that a server lists. Raises `OlmkitError` like `read`."""
    if not is_reachable(address):
        raise RemoteError(f"`{address}` can be reached only from the cluster")
    try:
        from olmkit.edges.catalog import client
    except ImportError as error:  # the extra `serve` is not installed
        raise InputError(
            "a served catalog cannot be read without gRPC", hint='pip install "olmkit[serve]"'
        ) from error
    found = await asyncio.to_thread(
        functools.partial(client.list_content, address, timeout=_ANSWER)
    )
    if found is None:
        raise RemoteError(f"no catalog answers at `{address}`")
    return found


def is_reachable(address: str) -> bool:
    """Return whether an address in the cluster can be valid on this machine."""
    host = address.rpartition(":")[0].removeprefix("[").removesuffix("]")
    return ".svc:" not in address and not names.is_loopback(host)


class BundlePackages:
    """Finds the packages of bundle images; each catalog is read once, when needed."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._read: dict[str, Mapping[str, str]] = {}

    async def added(self, seen: ClusterState) -> ClusterState:
        """Return the snapshot with `packages` if the package of an unpacked bundle is unknown."""
        if not unpacking.is_doubtful(seen):
            return seen
        known: dict[str, str] = {}
        for subscription in seen.subscriptions:
            key = kinds.subscription_key(subscription)
            source = seen.catalog(key.catalog, key.catalog_namespace)
            if source is not None:
                known |= await self._packages_of(source)
        images = {unpacking.image(job) for job in unpacking.find_unfinished_jobs(seen)}
        return replace(
            seen, packages={image: known[image] for image in sorted(images & known.keys())}
        )

    async def _packages_of(self, source: Manifest) -> Mapping[str, str]:
        key = str(kinds.spec(source).get("image") or kinds.spec(source).get("address"))
        if key not in self._read:
            try:
                catalog = await read(source, self._access)
            except OlmkitError:
                self._read[key] = {}
            else:
                self._read[key] = {
                    bundle.image: package.name
                    for package in catalog.chosen()
                    for bundle in package.bundles.values()
                }
        return self._read[key]
