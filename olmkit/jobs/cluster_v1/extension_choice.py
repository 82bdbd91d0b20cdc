"""The bundle that OLM v1 would take, read from the catalog that catalogd serves.

OLM chooses by itself, so this is no condition of anything: what cannot be known before is
said in a note, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.base.versions import Version
from olmkit.catalog.graph import upgrades
from olmkit.catalog.model import Catalog
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
from olmkit.olm.v1.extension import ExtensionRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What will come; `csv` and `brings` are empty where that is not known, and `notes` say why.

    `has` is what the bundle brought that is installed now.
    """

    csv: str = ""
    brings: Preview | None = field(default=None, repr=False)
    has: Preview | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()


async def of_new(reader: ClusterObjects, request: ExtensionRequest, access: Access) -> Offer:
    """What an install brings.

    Raises `InputError` when the named catalog is not served, when a registry has no such image
    of a catalog, and when the catalog has nothing that fits. Other trouble with the image is a
    note: only the cluster may be able to reach the registry.
    """
    try:
        if request.catalog_image:
            catalog = (await cluster_bundle.read_catalog(request.catalog_image, access)).catalog
        else:
            catalog = await _served(reader, request.catalog)
        chosen = await cluster_bundle.newest(
            catalog, request.package, access, channels=request.channels, version=request.version
        )
    except OlmkitError as error:
        if request.catalog and isinstance(error, InputError):
            raise
        if request.catalog_image and _is_missing(error):
            raise InputError(error.message, hint=error.hint) from error
        return _unknown(error)
    return Offer(csv=chosen.csv, brings=chosen.preview, notes=(chosen.note,) if chosen.note else ())


async def of_upgrade(
    reader: ClusterObjects, extension: Manifest, version: str, access: Access
) -> Offer:
    """What a ClusterExtension gets when another range of versions is asked for."""
    asked = v1.asked(extension)
    package = text(asked.get("packageName"))
    name, at = v1.installed(extension)
    after = upgrades.start_of({}, name, Version.read(at))
    is_free = not name or asked.get("upgradeConstraintPolicy") == "SelfCertified"
    try:
        catalog = await _served(reader, v1.catalog_name(asked), is_any=not asked.get("selector"))
        chosen = await cluster_bundle.newest(
            catalog,
            package,
            access,
            channels=[text(one) for one in sequence(asked.get("channels"))],
            version=version,
            after=None if is_free else after,
        )
        if chosen.csv == name:
            return Offer(csv=name, notes=("no newer version is offered",))
        has = await cluster_bundle.brought(catalog, package, name, access)
    except OlmkitError as error:
        return _unknown(error)
    notes = (chosen.note,) if chosen.note else ()
    return Offer(csv=chosen.csv, brings=chosen.preview, has=has, notes=notes)


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
