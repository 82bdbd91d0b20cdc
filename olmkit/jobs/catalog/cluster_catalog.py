"""Read a catalog of the cluster of the kubeconfig.

`clustercatalog:NAME` is served by OLM v1's catalogd. It is read from catalogd's HTTP API through
the API server, with the credentials of the kubeconfig, so it works wherever the cluster can be
reached. `catalogsource:[NAMESPACE/]NAME` is a catalog of OLM v0.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalog_source
from olmkit.kube import objects
from olmkit.kube.api import Forbidden
from olmkit.kube.objects import Manifest, mapping, text
from olmkit.olm import kinds
from olmkit.olm.v1 import catalogs as cluster_catalogs
from olmkit.olm.v1 import extension as v1

PREFIX = "clustercatalog:"
_MOST_NAMED = 9  # maximum number of names in a hint
# The address in the status of a ClusterCatalog: a Service, as seen from pods.
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?P<service>[a-z0-9-]+)\.(?P<namespace>[a-z0-9-]+)(?:\.[a-z0-9.-]+)?"
    r"(?::(?P<port>[0-9]+))?(?P<path>(?:/[^?#]*)?)"
)


def is_in_cluster(reference: str) -> bool:
    """Return whether a reference names a ClusterCatalog or a CatalogSource."""
    return reference.startswith((PREFIX, catalog_source.PREFIX))


async def fetch(reference: str, access: Access) -> Tree:
    """Fetch a ClusterCatalog or the catalog of a CatalogSource from the kubeconfig's cluster.

    Raises like `read` and `catalog_source.read`, and `ConfigurationError` without a cluster.
    """
    async with _open(access) as reader:
        if reference.startswith(catalog_source.PREFIX):
            name = reference.removeprefix(catalog_source.PREFIX)
            return await catalog_source.read(reader, name, access)
        return await read(reader, reference.removeprefix(PREFIX))


async def image(reference: str, access: Access) -> str:
    """Return the image of a catalog of the cluster; other references stay as they are.

    Raises like `fetch`, and `InputError` if the catalog is not in an image.
    """
    if not is_in_cluster(reference):
        return reference
    async with _open(access) as reader:
        if reference.startswith(catalog_source.PREFIX):
            name = reference.removeprefix(catalog_source.PREFIX)
            spec = kinds.spec(await catalog_source.find(reader, name))
        else:
            source = kinds.spec(await _find(reader, reference.removeprefix(PREFIX))).get("source")
            spec = dict(mapping(mapping(source).get("image")))
    named = text(spec.get("image") or spec.get("ref"))
    if text(spec.get("address")) or not named:
        raise InputError(f"the catalog `{reference}` is not read from an image")
    return named


@asynccontextmanager
async def _open(access: Access) -> AsyncIterator[ClusterObjects]:
    """Open the cluster of the kubeconfig."""
    from olmkit.edges.cluster import kubeconfig
    from olmkit.edges.cluster.client import HttpCluster

    environment = access.environment
    named = environment.get("OLMKIT_KUBECONFIG")
    config = kubeconfig.load(
        paths=[Path(named)] if named else [], context=environment.get("OLMKIT_CONTEXT", "")
    )
    async with HttpCluster(config) as cluster:
        yield ClusterObjects(cluster)


async def _absent(reader: ClusterObjects, name: str) -> str:
    """Return a hint with the existing ClusterCatalogs, without names if listing is forbidden."""
    if not await reader.knows(v1.CLUSTER_CATALOG):
        return "OLM v1, which provides them, is not installed in this cluster"
    try:
        existing = sorted(objects.name(one) for one in await reader.list(v1.CLUSTER_CATALOG))
    except Forbidden:
        return "correct the name, or get permission to list ClusterCatalogs"
    near = difflib.get_close_matches(name, existing, n=1)
    if near:
        return f"did you mean `{near[0]}`?"
    if len(existing) > _MOST_NAMED:
        return f"run `kubectl get clustercatalogs` to see all {len(existing)} of the cluster"
    if not existing:
        return f"the cluster has none; {cluster_catalogs.CREATING}"
    return f"the cluster has {', '.join(f'`{one}`' for one in existing)}"


async def _find(reader: ClusterObjects, name: str) -> Manifest:
    found = await reader.find(v1.CLUSTER_CATALOG, name)
    if found is None:
        raise InputError(
            f"the ClusterCatalog `{name}` does not exist", hint=await _absent(reader, name)
        )
    return found


async def read(reader: ClusterObjects, name: str) -> Tree:
    """Read the catalog that catalogd serves under this name.

    Raises `InputError` if it is not served, and `ClusterError`.
    """
    found = await _find(reader, name)
    ailing = cluster_catalogs.explain_catalog(found)
    if ailing is not None:
        raise InputError(ailing.message, hint=ailing.hint)
    address = text(mapping(kinds.status(found).get("urls")).get("base"))
    place = _ADDRESS.fullmatch(address)
    if place is None:
        raise InputError(f"the ClusterCatalog `{name}` is not served by a Service: `{address}`")
    path = (
        f"/api/v1/namespaces/{place['namespace']}/services/"
        f"{place['scheme']}:{place['service']}:{place['port'] or 443}"
        f"/proxy{place['path']}/api/v1/all"
    )
    lines = await reader.cluster.request("GET", path, accept="*/*")
    return Tree({"catalog.json": lines})
