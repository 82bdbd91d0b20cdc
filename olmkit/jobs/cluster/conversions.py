"""Check whether the conversion webhooks of an operator's CRDs work.

OLM does not check this, so an operator with the phase Succeeded may have objects that no client can
read, change or delete.
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
    """Return the CRDs whose conversion webhook fails, with the API server's message.

    One object of each served version is requested. CRDs that the user may not read are skipped.
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
