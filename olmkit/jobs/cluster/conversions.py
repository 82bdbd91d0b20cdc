"""Check an operator's CRDs: whether they are being deleted, and whether their webhooks work.

OLM does not check this, so an operator with the phase Succeeded may have objects that no client can
read, change or delete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.kube import objects
from olmkit.kube.api import ClusterError
from olmkit.kube.crds.changes import crd_versions
from olmkit.kube.objects import Manifest, mapping, text
from olmkit.olm import kinds


class AilingCrds(NamedTuple):
    """CRDs with a failing conversion webhook, with the server's message, and CRDs being deleted."""

    unconverted: dict[str, str]
    ending: tuple[Manifest, ...]


async def ailing(reader: ClusterObjects, csvs: Iterable[Manifest]) -> AilingCrds:
    """Return the CRDs of the operators that do not work.

    If a CRD has a webhook, one object of each served version is requested. CRDs that the user may
    not read are skipped.
    """
    names = sorted({name for csv in csvs for name in kinds.owned_crds(csv)})
    crds = await asyncio.gather(*(_crd(reader, name) for name in names))
    found = {objects.name(crd): crd for crd in crds if crd is not None}
    messages = await asyncio.gather(*(_message(reader, crd) for crd in found.values()))
    return AilingCrds(
        unconverted={name: words for name, words in zip(found, messages, strict=True) if words},
        ending=tuple(_without_schema(crd) for crd in found.values() if _is_ending(crd)),
    )


async def _crd(reader: ClusterObjects, name: str) -> Manifest | None:
    try:
        return await reader.find(kinds.CRD, name)
    except ClusterError:
        return None


def _is_ending(crd: Manifest) -> bool:
    return bool(objects.metadata(crd).get("deletionTimestamp"))


def _without_schema(crd: Manifest) -> Manifest:
    return {**{key: crd.get(key) for key in ("apiVersion", "kind", "metadata")},
            "status": {"conditions": list(kinds.conditions(crd))}}  # fmt: skip


async def _message(reader: ClusterObjects, crd: Manifest) -> str:
    if not crd_versions.converts(crd):
        return ""
    try:
        spec = kinds.spec(crd)
        group, kind = text(spec.get("group")), text(mapping(spec.get("names")).get("kind"))
        for version in crd_versions.versions(crd):
            if version.is_served:
                resource = await reader.cluster.resource(f"{group}/{version.name}", kind)
                await reader.cluster.list_page(resource, limit=1)
    except ClusterError as error:
        return error.message if error.is_of_webhook else ""
    return ""
