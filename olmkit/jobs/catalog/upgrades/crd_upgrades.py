"""Compare the CRDs of successive bundles to find new upgrades that CRDs block.

A catalog contains the objects of a bundle only in an older form (`olm.bundle.object`); otherwise
they are in the bundle's image, which is pulled on request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from olmkit.base.diagnostics import OlmkitError
from olmkit.bundle.changes import crds
from olmkit.bundle.changes.change import ChangeLevel, for_generations
from olmkit.bundle.summary import summary
from olmkit.catalog import inlined
from olmkit.catalog.graph import first_hops
from olmkit.catalog.graph.first_hops import FirstHop
from olmkit.catalog.model import Bundle, Catalog
from olmkit.jobs.bundle import read as bundle_read
from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.olm import kinds
from olmkit.rules.releases import BlockedUpgrade

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access

_AT_ONCE: Final = 4  # images that are pulled at the same time
_Key = tuple[str, str]
_Contents = Mapping[_Key, tuple[Manifest, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCrds:
    """The upgrades that CRDs block, and notes about bundles that could not be read."""

    blocked: tuple[BlockedUpgrade, ...]
    notes: tuple[str, ...] = ()


async def compare(
    catalog: Catalog, old: Catalog | None, access: Access | None = None
) -> ComparedCrds:
    """Compare the CRDs of each upgrade that is not in `old`; `access` is for pulling images."""
    hops = first_hops.new(catalog, old)
    bundles: dict[_Key, Bundle] = {}
    for hop in hops:
        for name in (hop.before, hop.after):
            for one in (catalog, old):
                package = one.packages.get(hop.package) if one else None
                if package is not None and name in package.bundles:
                    bundles.setdefault((hop.package, name), package.bundles[name])
    contents: dict[_Key, tuple[Manifest, ...]] = {}
    notes: list[str] = []
    limit = asyncio.Semaphore(_AT_ONCE)

    async def load(key: _Key, bundle: Bundle) -> None:
        contents[key] = inlined.manifests(bundle)
        if contents[key] or access is None or not bundle.image:
            return
        async with limit:
            try:
                found = await bundle_read.read(bundle.image, access)
            except OlmkitError as error:
                notes.append(f"`{bundle.name}` cannot be compared: {error.message}")
                return
        contents[key] = summary.manifests_of(found)

    await asyncio.gather(*(load(key, bundle) for key, bundle in bundles.items()))
    blocked = tuple(found for hop in hops for found in _blocked_upgrades(hop, contents))
    return ComparedCrds(blocked=blocked, notes=tuple(sorted(notes)))


def _blocked_upgrades(hop: FirstHop, contents: _Contents) -> tuple[BlockedUpgrade, ...]:
    old, new = (contents.get((hop.package, name), ()) for name in (hop.before, hop.after))
    if not old or not new:
        return ()
    csv = next((one for one in old if objects.kind(one) == kinds.CSV[1]), None)
    found = crds.compare_manifests(old, new, owned=kinds.owned_versions(csv))
    changes: dict[str, list[str]] = {}
    olm: dict[str, set[str]] = {}
    for one in for_generations(found, hop.olm):
        if one.level is ChangeLevel.BLOCKS:
            changes.setdefault(one.subject, []).append(one.message)
            olm.setdefault(one.subject, set()).update(one.olm)
    return tuple(
        BlockedUpgrade(
            package=hop.package,
            channel=hop.channel,
            before=hop.before,
            after=hop.after,
            crd=crd,
            olm=tuple(sorted(olm[crd])),
            changes=tuple(messages),
        )
        for crd, messages in changes.items()
    )
