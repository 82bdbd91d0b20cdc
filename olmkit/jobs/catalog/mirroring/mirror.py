"""Mirror a catalog or a part of it: its image, and all images that it needs.

A part of a catalog is a different catalog, so its image is built, with the same name. In a folder,
images keep their names; in a registry they are below its prefix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from olmkit.base import tree as trees
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError, OlmkitError
from olmkit.base.tree import Changes, Tree
from olmkit.catalog import image as catalog_image
from olmkit.catalog.blobs import fbc
from olmkit.edges import disk, paths
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.image_folder import ImageFolder
from olmkit.jobs.catalog import cluster_catalog
from olmkit.jobs.catalog.mirroring import images as images_job
from olmkit.jobs.catalog.mirroring.filter import Requested
from olmkit.jobs.catalog.mirroring.images import CatalogImages
from olmkit.jobs.image import mirror as job
from olmkit.jobs.image.mirror import (
    FolderSide,
    MirroredImage,
    MirrorEnd,
    MirrorItem,
    MirrorOptions,
    MirrorResult,
    Say,
)
from olmkit.oci import mirroring
from olmkit.oci.content import Digest
from olmkit.oci.mirroring import MirrorRegistry, MirrorTarget
from olmkit.oci.reference import LayoutReference, Reference
from olmkit.olm import mirror_objects
from olmkit.olm.mirror_objects import MirroredCatalog, MirrorFilesOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogMirrorOptions:
    """What to mirror and how.

    `catalog_image` is the name of the catalog image, by default that of the source. `manifests` is
    the folder for the generated manifests.
    """

    requested: Requested = ()
    pull_bundles: bool = False
    catalog_image: str = ""
    created: int = 0
    dry_run: bool = False
    copying: MirrorOptions = field(default_factory=MirrorOptions)
    manifests: Path | None = None
    files: MirrorFilesOptions = field(default_factory=MirrorFilesOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredCatalogs:
    """The images that are or would be in the mirror."""

    images: tuple[MirroredImage, ...]
    catalogs: tuple[str, ...] = ()
    changes: Changes | None = None
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The images to copy; if `origin` is None, from the registries in their names.

    `missing`: what the catalogs of `origin` need and it does not have.
    """

    items: tuple[MirrorItem, ...]
    origin: LayoutReference | None = None
    missing: tuple[tuple[str, OlmkitError], ...] = ()
    listed: CatalogImages | None = None


async def mirror_catalog(
    source: str,
    target: MirrorTarget,
    access: Access,
    target_access: Access,
    options: CatalogMirrorOptions,
    say: Say = lambda _: None,
) -> MirroredCatalogs:
    """Copy a catalog with its images, or the folder of a mirror.

    Raises `RemoteError` if some images could not be copied, or are not in the folder of a mirror
    whose catalog needs them; the others are in the mirror.
    """
    if options.manifests is not None and not isinstance(target, MirrorRegistry):
        raise ConfigurationError(
            "manifests are for clusters, which cannot pull from a folder",
            hint="pass `--manifests-dir` when you mirror from the folder to a registry",
        )
    source = await cluster_catalog.image(source, access)
    plan = await _plan(source, target, access, options)
    if options.dry_run:
        result = MirrorResult(
            images=tuple(
                MirroredImage(source=str(item.source), target=str(item.target))
                for item in plan.items
            ),
            failed=plan.missing,
        )
        if result.failed:
            raise job.failure(result)
        return _result(plan, result, (), None)
    async with (
        job.open_side(plan.origin, access) as origin,
        job.open_side(target, target_access, write=True) as mirror,
    ):
        result = await job.mirror(plan.items, origin, mirror, options.copying, say)
        result = replace(result, failed=(*result.failed, *plan.missing))
        if result.failed or result.not_begun:
            raise job.failure(result)
        catalogs = await _catalogs(plan, origin, mirror)
    changes = None
    if options.manifests is not None and isinstance(target, MirrorRegistry):
        changes = _write(options.manifests, plan, target, catalogs, options.files)
    return _result(plan, result, catalogs, changes)


async def _plan(
    source: str, target: MirrorTarget, access: Access, options: CatalogMirrorOptions
) -> _Plan:
    parsed = transports.parse(source)
    if isinstance(parsed, LayoutReference) and not parsed.tag and not parsed.digest:
        folder = job.open_folder(parsed)
        if folder.images:
            _check_whole(options)
            subjects = await folder.referrers()
            named = [one for one in folder.images if folder.digest(one) not in subjects]
            return _Plan(
                items=job.items_for(named, target),
                origin=parsed,
                missing=await _missing(parsed, folder, named, access),
            )
    listed = await images_job.list_images(
        source, access, requested=options.requested, pull_bundles=options.pull_bundles
    )
    sources = mirroring.parse_images(image.image for image in listed.images)
    items = list(job.items_for(sources, target))
    own = _catalog_item(parsed, target, listed, options)
    if own is not None:
        items = [own, *(item for item in items if item.source != own.source)]
    return _Plan(items=tuple(items), listed=listed)


async def _missing(
    origin: LayoutReference, folder: ImageFolder, named: Sequence[Reference], access: Access
) -> tuple[tuple[str, OlmkitError], ...]:
    """Return what the catalogs of a folder need and it does not have, with the reason.

    The copy to the folder may have been interrupted, or failed for some images.
    """
    found: dict[str, OlmkitError] = {}
    here = frozenset(named)
    for name in named:
        digest = folder.digest(name)
        if digest is None or await _configs(FolderSide(folder), name) is None:
            continue
        try:
            listed = await images_job.list_images(str(origin.pinned(digest)), access)
        except OlmkitError as error:
            found[str(name)] = error
            continue
        for one in mirroring.parse_images(image.image for image in listed.images):
            if one not in here:
                found[str(one)] = InputError(
                    f"the catalog `{name}` needs it, and `{origin}` does not have it",
                    hint=f"run `olmkit image mirror {name} {origin}` again to complete the folder",
                )
    return tuple(sorted(found.items(), key=lambda pair: pair[0]))


def _check_whole(options: CatalogMirrorOptions) -> None:
    """Raise an error for a selection from a folder, whose catalog was built for its contents."""
    if options.requested or options.catalog_image or options.pull_bundles:
        raise ConfigurationError(
            "the folder of a mirror is copied as a whole",
            hint="select packages when you mirror from the catalog to the folder",
        )


def _catalog_item(
    parsed: object, target: MirrorTarget, listed: CatalogImages, options: CatalogMirrorOptions
) -> MirrorItem | None:
    """Return the catalog's own image; None for a catalog without an image name."""
    if options.catalog_image:
        name = Reference.parse(options.catalog_image).tagged()
        if not name.registry or name.digest is not None:
            raise ConfigurationError(
                f"`{options.catalog_image}` is not a name for the image of the catalog",
                hint="write `registry/repository:tag`",
            )
    elif isinstance(parsed, Reference):
        name = parsed.pinned(parsed.digest) if parsed.digest is not None else parsed
    else:
        return None
    is_copy = isinstance(parsed, Reference) and not options.requested and not options.catalog_image
    if not is_copy and name.digest is not None:
        raise ConfigurationError(
            "a part of a catalog has another digest than the whole",
            hint="name its image: `--catalog-image registry/repository:tag`",
        )
    (item,) = job.items_for([name], target)
    if is_copy:
        return item
    tree = fbc.dump_tree(listed.blobs, "yaml")
    return replace(item, image=catalog_image.image(tree, created=options.created))


async def _catalogs(
    plan: _Plan, origin: MirrorEnd, mirror: MirrorEnd
) -> tuple[MirroredCatalog, ...]:
    """Return the catalog images among the copied images."""
    found: list[MirroredCatalog] = []
    for item in plan.items if plan.origin is not None else plan.items[:1]:
        # A folder has no image of its catalog, and the image of a built catalog is only in the
        # mirror.
        side, name = (origin, item.source) if plan.origin is not None else (mirror, item.target)
        configs = await _configs(side, name)
        if configs is not None:
            pinned = str(item.target.pinned(configs.digest))
            found.append(MirroredCatalog(image=pinned, folder=configs.folder))
    return tuple(found)


class _Configs(NamedTuple):
    """The digest of a catalog's image; `folder` with the blobs, empty if the image serves them."""

    digest: Digest
    folder: str


async def _configs(side: MirrorEnd, name: Reference) -> _Configs | None:
    """Return where an image has its catalog; None if it is not the image of a catalog."""
    async with side.opened(name) as store:
        root = await store.resolve(transports.selector(name))
        try:
            config = (await transports.select_image(store, root, Access())).config
        except InputError:  # not an image that runs
            return None
    folder = config.labels.get(catalog_image.CONFIGS_LABEL)
    if folder is None:
        return None
    runs = config.run_options.get("Entrypoint") or config.run_options.get("Cmd")
    return _Configs(root.digest, "" if runs else folder)


def _write(
    folder: Path,
    plan: _Plan,
    target: MirrorRegistry,
    catalogs: Sequence[MirroredCatalog],
    options: MirrorFilesOptions,
) -> Changes:
    """Write the manifests. Catalogs need no mirror rule: clusters name them in the mirror."""
    own = {catalog.image.partition("@")[0] for catalog in catalogs}
    names = mirroring.repositories(
        (item.source, item.target) for item in plan.items if item.target.name not in own
    )
    wanted = mirror_objects.files(target, names, catalogs, options)
    found = disk.read_tree(folder) if paths.is_folder(folder) else Tree()
    changes = trees.diff(wanted, found)
    disk.apply(folder, changes)
    return changes


def _result(
    plan: _Plan,
    result: MirrorResult,
    catalogs: Sequence[MirroredCatalog],
    changes: Changes | None,
) -> MirroredCatalogs:
    return MirroredCatalogs(
        images=result.images,
        catalogs=tuple(catalog.image for catalog in catalogs),
        changes=changes,
        extra=plan.listed.extra if plan.listed is not None else {},
        diagnostics=plan.listed.diagnostics if plan.listed is not None else (),
    )
