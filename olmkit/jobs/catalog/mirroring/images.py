"""List the images that a catalog, or a part of it, needs in a mirror."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from olmkit.base.diagnostics import Diagnostic, OlmkitError, RemoteError
from olmkit.bundle.summary import summary
from olmkit.catalog import images, inlined, model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.images import BundleKey, CatalogImage
from olmkit.catalog.model import Bundle, Catalog
from olmkit.jobs.bundle import read as bundle_read
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.mirroring import filter as filter_job
from olmkit.jobs.catalog.mirroring.filter import Requested
from olmkit.jobs.catalog.render import RenderOptions
from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.olm import kinds

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access

_AT_ONCE: Final = 4  # bundle images that are pulled at the same time
_SHOWN: Final = 20  # maximum number of bundles in an error


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogImages:
    """The sorted images of a selection; `blobs` is the catalog with only this selection."""

    images: tuple[CatalogImage, ...]
    blobs: tuple[Blob, ...] = field(default=(), repr=False)
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


async def list_images(
    reference: str,
    access: Access,
    *,
    requested: Requested = (),
    pull_bundles: bool = False,
) -> CatalogImages:
    """Return the images of a catalog, or of the `requested` part of it.

    With `pull_bundles`, CSVs that the catalog does not contain are read from the bundle images.
    Raises `InputError` like `filter_catalog`, and `RemoteError` if a bundle image cannot be read,
    since the list would be incomplete.
    """
    extra: Mapping[str, tuple[str, ...]] = {}
    if requested:
        filtered = await filter_job.filter_catalog(reference, requested, access)
        blobs, notes, extra = filtered.blobs, filtered.diagnostics, filtered.extra
    else:
        rendered = await render.render_all([reference], RenderOptions(access=access))
        blobs, notes = rendered.blobs, rendered.diagnostics
    catalog = model.from_blobs(blobs)
    csvs = await _csvs(catalog, access if pull_bundles else None)
    return CatalogImages(
        images=images.list_images(catalog, csvs), blobs=blobs, extra=extra, diagnostics=notes
    )


async def _csvs(catalog: Catalog, access: Access | None) -> Mapping[BundleKey, Manifest]:
    """Return the CSVs that the catalog contains, and with `access` those of the bundle images."""
    found: dict[BundleKey, Manifest] = {}
    missing: list[Bundle] = []
    for bundle in images.bundles(catalog):
        csv = inlined.csv(bundle)
        if csv is not None:
            found[bundle.package, bundle.name] = csv
        elif bundle.image:
            missing.append(bundle)
    if access is None:
        return found
    limit = asyncio.Semaphore(_AT_ONCE)
    failed: list[tuple[Bundle, OlmkitError]] = []

    async def pull(bundle: Bundle) -> None:
        async with limit:
            try:
                read = await bundle_read.read(bundle.image, access)
            except OlmkitError as error:
                failed.append((bundle, error))
                return
        csv = _csv(summary.manifests_of(read))
        if csv is not None:
            found[bundle.package, bundle.name] = csv

    await asyncio.gather(*map(pull, missing))
    if failed:
        raise _unreadable(failed)
    return found


def _csv(manifests: Sequence[Manifest]) -> Manifest | None:
    return next((one for one in manifests if objects.kind(one) == kinds.CSV[1]), None)


def _unreadable(failed: list[tuple[Bundle, OlmkitError]]) -> RemoteError:
    failed.sort(key=lambda pair: (pair[0].package, pair[0].name))
    shown = "; ".join(f"`{bundle.name}`: {error.message}" for bundle, error in failed[:_SHOWN])
    more = f"; and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
    noun = "bundle" if len(failed) == 1 else "bundles"
    return RemoteError(
        f"cannot read {len(failed)} {noun}: {shown}{more}",
        hint=failed[0][1].hint
        or "omit `--pull-bundles` to list only the images that the catalog itself names",
        temporary=any(getattr(error, "temporary", False) for _, error in failed),
    )
