"""Read the bundle that OLM is going to install, before anything is written.

A bundle is read from its folder or image. In a catalog, the head of the channel or the requested
version is looked up, and its bundle is read. A failed read is not an error: the cluster may reach
registries that this machine cannot.
"""

from __future__ import annotations

import asyncio
import functools
from dataclasses import dataclass, field, replace

from olmkit.base import documents, names
from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError, RemoteError
from olmkit.bundle import layout
from olmkit.catalog.blobs import properties
from olmkit.catalog.bundles import migrate, render, source_bundle
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.graph import links as graph
from olmkit.catalog.model import Catalog, Channel, Package
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalogs as catalog_job
from olmkit.jobs.image import copy as image_job
from olmkit.kube.objects import Manifest
from olmkit.oci.reference import Reference
from olmkit.oci.store import RegistryError
from olmkit.olm import preview
from olmkit.olm.preview import Preview

# Seconds: a nearby server answers at once, and waiting long for a distant one is not worth it.
_ANSWER = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedBundle:
    """A requested bundle: its catalog entry, its channel, and a preview of its contents."""

    rendered: RenderedBundle
    channel: str
    preview: Preview
    manifests: tuple[Manifest, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenVersion:
    """The bundle that a catalog offers: its CSV name, its channel, and a preview if readable.

    `is_missing`: the registry reports that the bundle's image does not exist; `note` has the
    reason, and `hint` what makes it readable. `has_dependencies`: a catalog server reports that it
    needs other operators.
    """

    csv: str
    channel: str
    preview: Preview | None
    note: str = ""
    hint: str = ""
    manifests: tuple[Manifest, ...] = field(default=(), repr=False)
    is_missing: bool = False
    has_dependencies: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCatalogImage:
    """A catalog image: its packages, and the folder of its files if it has no server."""

    catalog: Catalog
    folder: str
    pinned: str


async def read_bundle(text: str, access: Access) -> NamedBundle:
    """Read the bundle in a folder or in an image, which is pinned by its digest.

    Raises `InputError` if it has no ClusterServiceVersion or cannot be rendered, and `RemoteError`
    if the image cannot be pulled.
    """
    found = await transports.read_bundle_tree(text, access)
    image = ""
    if isinstance(found.source, Reference):
        image = found.pinned
    source = source_bundle.read(found.tree, text)
    rendered, _ = render.render(source, image)
    if image:
        rendered = migrate.migrate(rendered, Level.CSV_METADATA, text)
    bundle = layout.read(found.tree, text)
    if bundle.csv is None:
        raise InputError(f"`{text}` has no ClusterServiceVersion", cause="csv-invalid")
    channel = bundle.default_channel or next(iter(bundle.channels), "") or "stable"
    manifests = tuple(one.value for one in bundle.manifests if isinstance(one.value, dict))
    return NamedBundle(
        rendered=rendered,
        channel=channel,
        preview=preview.preview_csv(bundle.csv.value, manifests=manifests),
        manifests=manifests,
    )


async def require_bundle(text: str, access: Access) -> NamedBundle:
    """Like `read_bundle`; an error of a registry names the image and what to do instead."""
    try:
        return await read_bundle(text, access)
    except RemoteError as error:
        error.message = f"the bundle `{text}` cannot be read from this machine: {error.message}"
        if not is_missing(error):
            instead = (
                "if only the cluster can reach that registry, pass the directory of the bundle"
            )
            error.hint = "; ".join(filter(None, (error.hint, instead)))
        raise


async def read_catalog(text: str, access: Access) -> FoundCatalogImage:
    """Read the catalog in an image, or raise `OlmkitError`."""
    found = await transports.read_catalog_tree(text, access)
    return FoundCatalogImage(
        catalog=catalog_job.read(text, tree=found.tree, valid=False),
        folder=await folder_to_extract(text, access),
        pinned=found.pinned,
    )


async def folder_to_extract(text: str, access: Access) -> str:
    """Return the folder of the files in a catalog image without a server; else empty."""
    facts = await image_job.inspect(text, access)
    serves = any(facts.run.get(key) for key in ("Entrypoint", "Cmd"))
    return "" if serves else facts.labels.get(transports.CONFIGS_LABEL, "")


async def is_catalog(text: str, access: Access) -> bool:
    """Return whether an image has the label of catalogs, which catalogd requires."""
    return transports.CONFIGS_LABEL in (await image_job.inspect(text, access)).labels


def is_missing(error: OlmkitError) -> bool:
    """Return whether a registry reports that the image does not exist."""
    return isinstance(error, RegistryError) and error.status == 404


def is_image(catalog: str) -> bool:
    """Return whether a catalog is given as an image, not as an object of the cluster."""
    return "/" in catalog or ":" in catalog


def check_names(package: str, catalog: str) -> None:
    """Raise `ConfigurationError` for an invalid package name or catalog image."""
    if not names.is_subdomain(package):
        raise ConfigurationError(
            f"`{package}` is not a package name",
            hint="pass a bundle with `--bundle`, or the image of a catalog with `--catalog`",
        )
    if is_image(catalog):
        Reference.parse(catalog)


async def choose(
    catalog: Catalog, package: str, access: Access, *, channel: str = "", version: str = ""
) -> ChosenVersion:
    """Return the bundle that OLM would install first, or raise `InputError`."""
    found = catalog.chosen(package)[0]
    line = _channel(found, channel)
    entry = _entry(found, line, version)
    bundle = found.bundles.get(entry)
    return await read_chosen(entry, line.name, bundle.image if bundle else "", access)


async def preview_bundle(
    catalog: Catalog, package: str, name: str, access: Access
) -> Preview | None:
    """Return a preview of a bundle of the catalog; None if it does not exist or cannot be read."""
    bundle = catalog.chosen(package)[0].bundles.get(name)
    if bundle is None:
        return None
    return (await read_chosen(name, "", bundle.image, access)).preview


async def read_chosen(csv: str, channel: str, image: str, access: Access) -> ChosenVersion:
    """Return the bundle with this name, with a preview of its image if it can be read."""
    if not image:
        return ChosenVersion(csv=csv, channel=channel, preview=None, note="its bundle has no image")
    try:
        named = await read_bundle(image, access)
    except OlmkitError as error:
        note = f"the bundle `{image}` cannot be read from here: {error.message}"
        return ChosenVersion(
            csv=csv,
            channel=channel,
            preview=None,
            note=note,
            hint=error.hint,
            is_missing=is_missing(error),
        )
    return ChosenVersion(csv=csv, channel=channel, preview=named.preview, manifests=named.manifests)


def unread_notes(chosen: ChosenVersion) -> tuple[str, ...]:
    """Return the note of a bundle, and what cannot be checked without its manifests."""
    if not chosen.note:
        return ()
    if chosen.manifests:
        return (chosen.note,)
    unchecked = f"so conflicts of `{chosen.csv}` with the cluster cannot be checked in advance"
    return (f"{chosen.note}, {unchecked}",)


async def choose_from_server(
    address: str,
    package: str,
    access: Access,
    *,
    channel: str = "",
    version: str = "",
    name: str = "",
) -> ChosenVersion | None:
    """Choose the bundle from a served catalog; None if the server cannot be reached.

    `name` is that of the CSV, and replaces a version.
    """
    try:
        from olmkit.edges.catalog import client as catalog_client
    except ImportError:  # the extra `serve` is not installed
        return None
    name = name or (f"{package}.v{version}" if version else "")
    asked = functools.partial(
        catalog_client.offer, address, package, channel=channel, name=name, timeout=_ANSWER
    )
    bundle = await asyncio.to_thread(asked)
    if bundle is None:
        return None
    csv, line = str(bundle.get("csvName", "")), str(bundle.get("channelName", ""))
    image, inline = str(bundle.get("bundlePath", "")), str(bundle.get("csvJson", ""))
    types = {str(one.get("type", "")) for one in bundle.get("properties") or ()}
    needs = bool(bundle.get("dependencies")) or not types.isdisjoint(properties.REQUIREMENTS)
    if image or not inline:
        chosen = await read_chosen(csv, line, image, access)
        return replace(chosen, has_dependencies=needs)
    manifest = documents.load(inline.encode(), csv).value
    listed = [documents.load(str(one).encode(), csv).value for one in bundle.get("object") or ()]
    return ChosenVersion(
        csv=csv,
        channel=line,
        preview=preview.preview_csv(manifest),
        manifests=tuple(one for one in listed if isinstance(one, dict)) or (manifest,),
        has_dependencies=needs,
    )


def _channel(package: Package, name: str) -> Channel:
    wanted = name or package.default_channel
    if wanted not in package.channels:
        listed = ", ".join(f"`{other}`" for other in package.channels) or "none"
        raise InputError(
            f"package `{package.name}` has no channel `{wanted}`",
            hint=f"it has {listed}",
            cause="no-such-channel",
        )
    return package.channels[wanted]


def _entry(package: Package, channel: Channel, version: str) -> str:
    if not version:
        heads = graph.heads(channel)
        if len(heads) != 1:
            what = f"several heads: {', '.join(heads)}" if heads else "no head"
            raise InputError(
                f"channel `{channel.name}` of package `{package.name}` has {what}",
                hint="OLM cannot install from it: let one of them replace the others",
            )
        return heads[0]
    for name, entry in channel.entries.items():
        if version in (name, str(entry.version)):
            return name
    listed = ", ".join(f"`{entry.version}`" for entry in channel.entries.values())
    raise InputError(
        f"channel `{channel.name}` of package `{package.name}` has no version `{version}`",
        hint=f"it has {listed}",
        cause="no-such-version",
    )
