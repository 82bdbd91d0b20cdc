"""Read the catalog of a CatalogSource of OLM v0, named `catalogsource:[NAMESPACE/]NAME`.

OLM's own copy has no address outside of the cluster, so the image that the CatalogSource names is
read from its registry, or the server at its address is asked.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable

from olmkit.base.diagnostics import InputError, RemoteError
from olmkit.base.tree import Tree
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.kube import objects
from olmkit.kube.api import Forbidden
from olmkit.kube.objects import Manifest, text
from olmkit.olm import kinds

PREFIX = "catalogsource:"
_MOST_NAMED = 9  # maximum number of names in a hint


async def read(reader: ClusterObjects, name: str, access: Access) -> Tree:
    """Read the catalog of the CatalogSource `NAMESPACE/NAME`, or of the only one called `NAME`.

    Raises `InputError` if the CatalogSource does not exist, or has neither an image nor an address,
    and `RemoteError` if the catalog cannot be read from this machine.
    """
    from olmkit.edges.images import transports

    spec = kinds.spec(await find(reader, name))
    if address := text(spec.get("address")):
        return await _read_server(address, name)
    image = text(spec.get("image"))
    if not image:
        raise InputError(f"the CatalogSource `{name}` has neither an image nor an address")
    return (await transports.read_catalog_tree(image, access)).tree


async def find(reader: ClusterObjects, name: str) -> Manifest:
    """Return the CatalogSource `NAMESPACE/NAME`, or the only one called `NAME`."""
    namespace, _, own = name.rpartition("/")
    missing = f"the CatalogSource `{name}` does not exist"
    if not await reader.knows(kinds.CATALOG_SOURCE):
        hint = "OLM v0, which provides them, is not installed in this cluster"
        raise InputError(missing, hint=hint)
    if namespace:
        found = await reader.find(kinds.CATALOG_SOURCE, own, namespace)
        if found is not None:
            return found
    try:
        existing = await reader.list(kinds.CATALOG_SOURCE)
    except Forbidden as error:
        if namespace:
            raise InputError(missing, hint="correct the name or the namespace") from error
        raise InputError(
            f"the namespace of the CatalogSource `{name}` is unknown, because you may not list the "
            "CatalogSources of the cluster",
            hint=f"add its namespace: `{PREFIX}NAMESPACE/{name}`",
        ) from error
    near = [one for one in existing if objects.name(one) == own and not namespace]
    if not near:
        raise InputError(missing, hint=_listed(name, existing))
    if len(near) > 1:
        listed = ", ".join(f"`{PREFIX}{_address(one)}`" for one in near)
        raise InputError(
            f"several CatalogSources are called `{name}`", hint=f"choose one: {listed}"
        )
    return near[0]


def _address(source: Manifest) -> str:
    return f"{objects.namespace(source)}/{objects.name(source)}"


def _listed(name: str, existing: Iterable[Manifest]) -> str:
    """Return a hint with the existing CatalogSources."""
    by_name = {key: _address(one) for one in existing for key in (_address(one), objects.name(one))}
    addresses = sorted(set(by_name.values()))
    near = difflib.get_close_matches(name, by_name, n=1)
    if near:
        return f"did you mean `{PREFIX}{by_name[near[0]]}`?"
    if len(addresses) > _MOST_NAMED:
        return f"run `olmkit status` to see all {len(addresses)} of the cluster"
    return f"the cluster has {', '.join(f'`{one}`' for one in addresses) or 'none'}"


async def _read_server(address: str, name: str) -> Tree:
    """Read the catalog that is served at an address."""
    from olmkit.catalog import served
    from olmkit.jobs.cluster import offered

    if not offered.is_reachable(address):
        raise RemoteError(
            f"the CatalogSource `{name}` has the address `{address}`, which can be reached only "
            "from the cluster",
            hint="name the image or the directory of the catalog instead",
        )
    blobs = served.blobs(*await offered.list_address(address))
    return Tree({"catalog.json": "\n".join(map(json.dumps, blobs)).encode()})
