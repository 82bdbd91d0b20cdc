"""Whether the objects of an operator's kinds can be read: what converts them answers.

OLM never looks at this, so an operator that OLM calls Succeeded may have objects that no client
can read, change or delete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.kube.api import ClusterError
from olmkit.kube.crds.changes import definitions
from olmkit.kube.objects import Manifest, mapping, text
from olmkit.olm import kinds


async def unconverted(reader: ClusterObjects, csvs: Iterable[Manifest]) -> dict[str, str]:
    """Return the CRDs of the CSVs whose objects no webhook converts now, with the server's message.

    One object of each served version is requested. What may not be read is taken to be well.
    """
    names = sorted({name for csv in csvs for name in kinds.owned_crds(csv)})
    messages = await asyncio.gather(*(_message(reader, name) for name in names))
    return {name: message for name, message in zip(names, messages, strict=True) if message}


async def _message(reader: ClusterObjects, name: str) -> str:
    try:
        crd = await reader.find(kinds.CRD, name)
        if crd is None or not definitions.converts(crd):
            return ""
        spec = kinds.spec(crd)
        group, kind = text(spec.get("group")), text(mapping(spec.get("names")).get("kind"))
        for version in definitions.versions(crd):
            if version.is_served:
                resource = await reader.cluster.resource(f"{group}/{version.name}", kind)
                await reader.cluster.list_page(resource, limit=1)
    except ClusterError as error:
        return error.message if error.is_of_webhook else ""
    return ""
