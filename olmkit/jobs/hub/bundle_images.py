"""Read permissions, CRDs and workloads from bundle images if the catalog lacks them.

A catalog with `olm.csv.metadata` describes its versions and has no manifests. The data of an image
are cached on disk under its digest, whose contents never change.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.catalog import model
from olmkit.catalog.blobs.outline import Files
from olmkit.catalog.model import Bundle, Catalog, Package
from olmkit.edges import disk, paths, user_cache
from olmkit.edges.folder import Folder
from olmkit.hub.builds.all_pages import Source
from olmkit.hub.package import upgrades
from olmkit.hub.records import ImagePlace
from olmkit.jobs.hub.options import BundleImages
from olmkit.oci.reference import Reference

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access

_AT_ONCE: Final = 4  # images that are pulled at the same time
_FOLDER: Final = "bundles"
_FORM: Final = "1"  # version of the cache's format, which is part of its path
_Key = tuple[str, str]


async def add_manifests(source: Source, which: BundleImages, access: Access) -> Source:
    """Return the catalog with the manifests of its bundle images, and errors as `unread`."""
    wanted = {
        (bundle.package, bundle.name): bundle
        for package in source.catalog.packages.values()
        for bundle in _bundles(package, which)
        if bundle.image and not bundle.properties.objects
    }
    if not wanted:
        return source
    folder = user_cache.folder(access.environment, _FOLDER) / _FORM
    gate = asyncio.Semaphore(_AT_ONCE)

    async def kept(bundle: Bundle) -> str | OlmkitError:
        async with gate:
            try:
                return await _cache_file(bundle, folder, access)
            except OlmkitError as error:
                return error

    async with asyncio.TaskGroup() as tasks:
        running = {key: tasks.create_task(kept(bundle)) for key, bundle in wanted.items()}
    found = {key: task.result() for key, task in running.items()}
    names = {key: one for key, one in found.items() if isinstance(one, str)}
    unread = {key: one.message for key, one in found.items() if isinstance(one, OlmkitError)}
    catalog = await asyncio.to_thread(_with_images, source.catalog, names, folder)
    return replace(source, catalog=catalog, unread=unread)


def _bundles(package: Package, which: BundleImages) -> Iterator[Bundle]:
    if which is BundleImages.ALL:
        yield from package.bundles.values()
        return
    shown = upgrades.shown_bundle(package)
    heads = (upgrades.head(channel) for channel in package.channels.values())
    names = {one.name: one.bundle for one in heads if one is not None and one.bundle is not None}
    if shown is not None:
        names[shown.name] = shown
    yield from names.values()


async def _cache_file(bundle: Bundle, folder: Path, access: Access) -> str:
    """Return the name of the cached file of a bundle image, which is pulled if needed."""
    from olmkit.edges.images import transports
    from olmkit.jobs.catalog import render
    from olmkit.jobs.catalog.render import RenderOptions

    # A catalog may contain any reference, but local folders and archives must not be published.
    reference = transports.parse(bundle.image)
    if not isinstance(reference, Reference):
        raise InputError(f"`{bundle.image}` is not an image in a registry")
    name = _file(str(reference.digest)) if reference.digest is not None else ""
    if name and paths.is_file(folder / name):
        return name
    read = await render.read_bundle(bundle.image, RenderOptions(access=access), remote=True)
    made = read.rendered
    if (made.package, made.name) != (bundle.package, bundle.name):
        raise InputError(f"image `{bundle.image}` has bundle `{made.name}` of `{made.package}`")
    data = made.text()
    name = name or _file(f"text:{hashlib.sha256(data).hexdigest()}")
    await asyncio.to_thread(disk.write_atomically, folder / name, data)
    return name


def _file(digest: str) -> str:
    return f"{digest.replace(':', '-')}.json"


def _with_images(catalog: Catalog, names: Mapping[_Key, str], folder: Path) -> Catalog:
    """Return the catalog with these bundles replaced by those in the files."""
    if not names:
        return catalog
    files = Files(Folder(folder))
    found = catalog.outlines
    bundles = (
        replace(
            one,
            place=ImagePlace(
                names[(one.package, one.name)],
                0,
                0,
                paths.modification(folder / names[(one.package, one.name)])[0],
                0,
                0,
                files,
                one.place,
            ),
        )
        if (one.package, one.name) in names
        else one
        for one in found.bundles
    )
    return model.build(
        chain(found.packages, found.channels, bundles, found.deprecations, found.customs)
    )
