"""Read the catalogs of a hub; unreadable parts are skipped and reported."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError, OlmkitError
from olmkit.base.tree import Tree
from olmkit.catalog import model
from olmkit.catalog.blobs import fbc, outline_reader
from olmkit.catalog.bundles import render, source_bundle
from olmkit.edges import disk
from olmkit.hub.builds.all_pages import Source
from olmkit.hub.package.installs import Where
from olmkit.jobs import validation
from olmkit.jobs.catalog import catalogs, local
from olmkit.jobs.catalog.serving.prepared_catalogs import default_name
from olmkit.jobs.hub import bundle_images
from olmkit.jobs.hub.options import BundleImages, SourceOptions
from olmkit.oci.reference import Reference
from olmkit.olm import bundle_catalog

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access

_CHANNEL: Final = "stable"  # the channel of a bundle without channels


async def read(
    references: Sequence[str],
    options: SourceOptions,
    access: Access,
    *,
    bundle: Path | None = None,
) -> tuple[Source, ...]:
    """Return the catalogs, and a catalog with the `bundle` in a folder.

    Raises `InputError` if a catalog cannot be read at all, or if the bundle is not valid.
    """
    if len(references) > 1 and (options.catalog_name or options.catalog_image):
        raise ConfigurationError(
            "`--catalog-name` and `--catalog-image` are for a hub of one catalog",
            hint="build one hub for each catalog",
        )
    pulled = {} if validation.are_folders(references) else await catalogs.pull(references, access)
    made = []
    names: set[str] = set()
    for reference in references:
        source = _source(reference, pulled.get(reference), options)
        if reference in pulled and not options.catalog_image:
            source = await _with_image(source, reference, access)
        name, number = source.name, 2
        while name in names:
            name, number = f"{source.name}-{number}", number + 1
        names.add(name)
        if options.bundles is not BundleImages.NONE:
            source = await bundle_images.add_manifests(source, options.bundles, access)
        made.append(replace(source, name=name))
    if bundle is not None:
        made.append(_read_bundle(bundle, options))
    return tuple(made)


async def _with_image(source: Source, reference: str, access: Access) -> Source:
    """Return the source with the pinned image if it is in a registry."""
    from olmkit.edges.images import transports
    from olmkit.jobs.catalog import cluster_catalog
    from olmkit.jobs.cluster import bundle as cluster_bundle

    if cluster_catalog.is_in_cluster(reference):
        return source
    if not isinstance(transports.parse(reference), Reference):
        return source
    folder = await cluster_bundle.folder_to_extract(reference, access)
    return replace(source, where=replace(source.where, image=reference, folder=folder))


def _read_bundle(folder: Path, options: SourceOptions) -> Source:
    """Return a catalog with one version: the bundle in a folder, with its manifests."""
    found = source_bundle.read(disk.read_tree(folder), str(folder))
    rendered, _ = render.render(found)
    channel = found.default_channel or next(iter(found.channels), "") or _CHANNEL
    text = bundle_catalog.blobs(rendered, channel)
    catalog = model.from_blobs(fbc.load_stream(text, str(folder)))
    return Source(
        name="preview",
        catalog=catalog,
        where=Where(name=options.catalog_name or "preview", namespace=options.catalog_namespace),
    )


def _source(reference: str, found: Tree | OlmkitError | None, options: SourceOptions) -> Source:
    if isinstance(found, OlmkitError):
        raise found
    tree = found if found is not None else local.tree(Path(reference))
    faults: list[Diagnostic] = []
    notes: list[Diagnostic] = []
    catalog = model.build(outline_reader.load(tree, report=notes.append, faults=faults))
    if not catalog.packages:
        raise InputError(
            f"`{reference}` has no packages",
            diagnostics=tuple(faults[:20]),
            hint="name the directory or the image of a catalog",
        )
    name = options.catalog_name or default_name(reference) or "catalog"
    return Source(
        name=name,
        catalog=catalog,
        where=Where(name=name, namespace=options.catalog_namespace, image=options.catalog_image),
        digest=_digest(tree),
        faults=tuple(map(_with_place, faults)),
    )


def _with_place(fault: Diagnostic) -> str:
    """Format a fault on one line, with its file."""
    if fault.at is None or not fault.at.path:
        return fault.message
    line = f":{fault.at.line}" if fault.at.line is not None else ""
    return f"{fault.at.path}{line}: {fault.message}"


def _digest(tree: Tree) -> str:
    """Return a digest of the files."""
    total = hashlib.sha256()
    for path in tree:
        one = hashlib.sha256()
        for piece in tree.chunks(path):
            one.update(piece)
        total.update(f"{path}\0{one.hexdigest()}\0".encode("utf-8", "surrogateescape"))
    return f"sha256:{total.hexdigest()}"
