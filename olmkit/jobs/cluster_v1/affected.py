"""Find the ClusterExtensions that a new ClusterCatalog affects."""

from __future__ import annotations

from collections.abc import Collection

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster.read import or_default
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm.v1 import catalogs as cluster_catalogs
from olmkit.olm.v1 import extension as v1


async def notes(
    reader: ClusterObjects, catalog: Manifest, packages: Collection[str]
) -> tuple[str, ...]:
    """Return a note for each ClusterExtension that will read the new catalog next to others.

    `packages` are those of the catalog; empty if they are not known.
    """
    found = []
    every = await or_default(reader.list(v1.CLUSTER_CATALOG), None)
    for one in await or_default(reader.list(v1.CLUSTER_EXTENSION), ()):
        asked = v1.request_of(one)
        package = text(asked.get("packageName"))
        if not cluster_catalogs.selected_catalogs([catalog], asked):
            continue
        if every is not None and not cluster_catalogs.selected_catalogs(every, asked):
            continue  # it has waited for this catalog
        if package in packages:
            found.append(
                f"the ClusterExtension `{objects.name(one)}` has no selector that excludes the new "
                f"catalog, which has its package `{package}`, too"
            )
        elif not packages:
            found.append(
                f"the ClusterExtension `{objects.name(one)}` reads the new catalog too, and stops "
                "while it is not served"
            )
    return tuple(found)
