"""The bundle that OLM v1 would take, read from the catalog that catalogd serves.

What the catalog excludes is refused; what cannot be known beforehand is a note with the reason.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.base.versions import Version
from olmkit.catalog.graph import upgrades
from olmkit.catalog.graph.upgrades import Start, UpgradeQuery
from olmkit.catalog.model import Bundle, Catalog
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalogs as catalog_job
from olmkit.jobs.catalog import cluster_catalog
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, sequence, text
from olmkit.oci.store import RegistryError
from olmkit.olm.preview import Preview
from olmkit.olm.v1 import extension as v1
from olmkit.olm.v1 import version_range
from olmkit.olm.v1.extension import ExtensionRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What will come; `csv` and `brings` are empty where that is not known, and `notes` say why.

    `has` is what the bundle brought that is installed now. `packages` are those of a catalog that
    is new to the cluster.
    """

    csv: str = ""
    brings: Preview | None = field(default=None, repr=False)
    has: Preview | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    packages: frozenset[str] = frozenset()


async def of_new(reader: ClusterObjects, request: ExtensionRequest, access: Access) -> Offer:
    """What an install brings.

    Raises `InputError` when the named catalog is not served, when a registry has no such image
    of a catalog, and when the catalog has nothing that OLM would install. Other trouble with
    the image is a note: only the cluster may be able to reach the registry.
    """
    try:
        if request.catalog_image:
            catalog = (await cluster_bundle.read_catalog(request.catalog_image, access)).catalog
        else:
            catalog = await _served(reader, request.catalog)
    except OlmkitError as error:
        if request.catalog and isinstance(error, InputError):
            raise
        if request.catalog_image and _is_missing(error):
            raise InputError(error.message, hint=error.hint) from error
        return _unknown(error)
    chosen = await cluster_bundle.newest(
        catalog, request.package, access, channels=request.channels, version=request.version
    )
    return Offer(
        csv=chosen.csv,
        brings=chosen.preview,
        notes=(chosen.note,) if chosen.note else (),
        packages=frozenset(catalog.packages) if request.catalog_image else frozenset(),
    )


async def of_upgrade(
    reader: ClusterObjects, extension: Manifest, version: str, access: Access
) -> Offer:
    """What a ClusterExtension gets when it requests that range of versions.

    Raises `InputError` when its catalog offers nothing in the range, with the version to go to
    first where several upgrades lead there.
    """
    request = v1.request_of(extension)
    package = text(request.get("packageName"))
    name, at = v1.installed(extension)
    channels = [text(one) for one in sequence(request.get("channels"))]
    is_free = not name or request.get("upgradeConstraintPolicy") == "SelfCertified"
    after = None if is_free else upgrades.start_of({}, name, Version.read(at))
    try:
        catalog = await _served(
            reader, v1.catalog_name(request), is_any=not request.get("selector")
        )
    except OlmkitError as error:
        return _unknown(error)
    try:
        chosen = await cluster_bundle.newest(
            catalog, package, access, channels=channels, version=version, after=after
        )
    except InputError as error:
        hops = () if after is None else _hops(catalog, package, channels, version, after)
        if len(hops) < 2:
            raise
        first = hops[0]
        raise InputError(
            f"`{hops[-1].name}` is {len(hops)} upgrades away from `{name}`, and OLM v1 makes one "
            f"at a time: {' → '.join(hop.name for hop in hops)}",
            hint=f"begin with `olmkit upgrade {objects.name(extension)} --olm v1 --to "
            f"{first.version}`",
        ) from error
    if chosen.csv == name:
        return Offer(csv=name, notes=_newer(catalog, package, channels, name, after))
    has = await cluster_bundle.brought(catalog, package, name, access) if name else None
    notes = (chosen.note,) if chosen.note else ()
    return Offer(csv=chosen.csv, brings=chosen.preview, has=has, notes=notes)


def _newer(
    catalog: Catalog, package: str, channels: Sequence[str], name: str, after: Start | None
) -> tuple[str, ...]:
    """That no newer version is offered, or only outside of the requested range."""
    query = UpgradeQuery(channels=channels, installed=after)
    best = upgrades.offers_of_v1(catalog.chosen(package)[0], query)
    if best and best[0].name != name:
        return (f"`{best[0].name}` is offered, and the requested range excludes it",)
    return ("no newer version is offered",)


def _hops(
    catalog: Catalog, package: str, channels: Sequence[str], version: str, start: Start
) -> tuple[Bundle, ...]:
    """The fewest upgrades from what is installed into the range; empty when there are none."""
    found = catalog.chosen(package)[0]
    wanted = version_range.parse(version) if version else None
    paths: dict[str, tuple[Bundle, ...]] = {start.name: ()}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        for bundle in upgrades.offers_of_v1(found, UpgradeQuery(channels=channels, installed=at)):
            if bundle.name in paths or bundle.version is None:
                continue
            paths[bundle.name] = (*paths[at.name], bundle)
            if wanted is None or bundle.version.version in wanted:
                return paths[bundle.name]
            waiting.append(Start(bundle.name, bundle.version))
    return ()


async def _served(reader: ClusterObjects, name: str, *, is_any: bool = True) -> Catalog:
    """The ClusterCatalog of that name; without a name the only one, where any may be chosen."""
    if not name:
        there = await reader.list(v1.CLUSTER_CATALOG) if is_any else ()
        if len(there) != 1:
            raise OlmkitError("OLM may take it from any catalog that has it")
        name = objects.name(there[0])
    tree = await cluster_catalog.read(reader, name)
    return catalog_job.read(name, tree=tree, valid=False)


def _is_missing(error: OlmkitError) -> bool:
    """Whether a registry answers that there is no such image."""
    return isinstance(error, RegistryError) and error.status == 404


def _unknown(error: OlmkitError) -> Offer:
    return Offer(notes=(f"what it brings is not known beforehand: {error.message}",))
