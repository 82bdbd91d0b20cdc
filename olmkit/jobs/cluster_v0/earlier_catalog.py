"""Keep the contents of a deleted catalog from being used for a new one of the same name.

OLM v0 knows a catalog by its namespace and name. After a deletion, it still chooses from the old
contents until it is connected to the new catalog, and the old pods answer while they end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster.read import or_default
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.olm import kinds

_PODS = 40.0  # seconds; pods have 30 to end


async def wait_for_pods(
    reader: ClusterObjects, source: Manifest, report: Report, timeouts: Timeouts
) -> None:
    """Wait until the pods of a deleted catalog of the same name have ended.

    They still answer while they end, and OLM would read the old contents from them.
    """
    name, place = objects.name(source), objects.namespace(source)
    if await or_default(reader.find(kinds.CATALOG_SOURCE, name, place), source) is not None:
        return
    clock = asyncio.get_running_loop().time
    end = clock() + min(timeouts.seconds, _PODS)
    is_reported = False
    labels = f"{kinds.CATALOG_LABEL}={name}"
    while await or_default(reader.list(("v1", "Pod"), place, labels=labels), ()):
        if clock() >= end:
            return
        if not is_reported:
            report(f"waiting for the pods of an earlier catalog `{name}` to end")
            is_reported = True
        await asyncio.sleep(timeouts.interval)


async def wait_until_connected(
    reader: ClusterObjects, created: Sequence[Manifest], timeouts: Timeouts
) -> None:
    """Wait a short time until OLM is connected to a new catalog in an existing namespace.

    If a catalog of the same name was deleted there, OLM would choose from its contents until then.
    """
    kind = kinds.CATALOG_SOURCE[1]
    source = next((one for one in created if objects.kind(one) == kind), None)
    is_new = any(objects.kind(one) == kinds.NAMESPACE[1] for one in created)
    if source is None or is_new:
        return
    clock = asyncio.get_running_loop().time
    end = clock() + min(timeouts.seconds, timeouts.believed)
    while clock() < end:
        name, place = objects.name(source), objects.namespace(source)
        found = await or_default(reader.find(kinds.CATALOG_SOURCE, name, place), None)
        if found is not None and kinds.connection_state(found) == "READY":
            return
        await asyncio.sleep(timeouts.interval)
