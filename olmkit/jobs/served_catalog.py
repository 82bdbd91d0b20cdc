"""The catalog that OLM v1's catalogd serves in a cluster, named `clustercatalog:NAME`.

It is read over catalogd's HTTP through the API server, so from wherever the cluster can be
reached, with the credentials of the kubeconfig.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.edges.objects import ClusterObjects
from olmkit.kube.objects import mapping, text
from olmkit.olm import kinds, v1

PREFIX = "clustercatalog:"


async def fetch(reference: str, environment: Mapping[str, str]) -> Tree:
    """The catalog `clustercatalog:NAME` of the kubeconfig's cluster, or of `OLMKIT_CONTEXT`.

    Raises as `read` does, and `ConfigurationError` when there is no cluster.
    """
    from olmkit.edges import kubeconfig
    from olmkit.edges.cluster import HttpCluster

    named = environment.get("OLMKIT_KUBECONFIG")
    config = kubeconfig.load(
        paths=[Path(named)] if named else [], context=environment.get("OLMKIT_CONTEXT", "")
    )
    async with HttpCluster(config) as cluster:
        return await read(ClusterObjects(cluster), reference.removeprefix(PREFIX))


async def read(reader: ClusterObjects, name: str) -> Tree:
    """The catalog that catalogd serves under that name.

    Raises `InputError` when it is not served, `ClusterError`.
    """
    found = await reader.find(v1.CLUSTER_CATALOG, name)
    if found is None:
        known = await reader.knows(v1.CLUSTER_CATALOG)
        raise InputError(
            f"there is no ClusterCatalog `{name}`",
            hint="" if known else "OLM v1, which brings them, is not installed in this cluster",
        )
    ailing = v1.of_catalog(found)
    if ailing is not None:
        raise InputError(ailing.message, hint=ailing.hint)
    base = urlsplit(text(mapping(kinds.status(found).get("urls")).get("base")))
    service, _, rest = (base.hostname or "").partition(".")
    namespace = rest.partition(".")[0]
    path = (
        f"/api/v1/namespaces/{namespace}/services/{base.scheme}:{service}:{base.port or 443}"
        f"/proxy{base.path}/api/v1/all"
    )
    lines = await reader.cluster.request("GET", path, accept="*/*")
    return Tree({"catalog.json": lines})
