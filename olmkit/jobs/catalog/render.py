"""Render bundles and catalogs from any source as the blobs of one catalog.

References are neither validated, beyond being readable, nor merged: the output has their blobs one
after the other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from olmkit.base import diagnostics as diagnostics_
from olmkit.base import findings
from olmkit.base.diagnostics import (
    ConfigurationError,
    Diagnostic,
    InputError,
    OlmkitError,
)
from olmkit.base.tree import Tree
from olmkit.catalog.blobs import fbc, wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles import migrate, render, source_bundle
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.bundles.source_bundle import SourceBundle
from olmkit.edges import disk, paths, workers
from olmkit.edges.folder import Folder
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog.local import MAX_CATALOG_FILE

if TYPE_CHECKING:
    from olmkit.edges.images.transports import Connections, ImageFiles
    from olmkit.oci.reference import AnyReference

_PLACEHOLDERS: Final = ("{package}", "{name}", "{version}")
# concurrent pulls: with more, registries limit the rate
_PULLS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """How to render.

    `image` is the image of bundles in folders or layouts; `{package}`, `{name}` and `{version}` are
    replaced. `processes` 0: one for each processor. Without `has_places`, the blobs have no places,
    and files are not kept in memory.
    """

    image: str = ""
    level: Level = Level.NONE
    access: Access = field(default_factory=Access)
    processes: int = 0
    has_places: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The blobs in the order of the references, and warnings about them."""

    blobs: tuple[Blob, ...] = field(repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleRead:
    """One bundle: its source, its blob, and warnings about it."""

    source: SourceBundle
    rendered: RenderedBundle
    diagnostics: tuple[Diagnostic, ...] = ()


async def read_bundle(
    reference: str,
    options: RenderOptions,
    *,
    remote: bool = False,
    connections: Connections | None = None,
) -> BundleRead:
    """Read the bundle in a folder or an image; with `remote`, only in an image.

    Concurrent reads may share `connections`. Raises `InputError` if the reference is not a bundle.
    """
    _check_image(options.image)
    chosen = _RenderOptions(options.image, options.level)
    path = None if remote else _path(reference)
    if path is not None:
        return _read(disk.read_tree(path), reference, chosen)
    found = await _pull(reference, options.access, connections)
    if not found.is_bundle:
        raise InputError(f"`{reference}` is a catalog, where a bundle is needed")
    return _read(found.tree, reference, chosen, _pull_spec(found.source, reference))


async def read_each(
    references: Sequence[str], options: RenderOptions
) -> list[BundleRead | Rendered]:
    """Read every reference as a bundle or as the blobs of a catalog.

    Raises `InputError` with the errors of all references.
    """
    import asyncio  # as in `_images`

    _check_image(options.image)
    chosen = _RenderOptions(options.image, options.level)
    gate = asyncio.Semaphore(_PULLS)

    connections = _connections(options.access)

    async def read(reference: str) -> BundleRead | Rendered | OlmkitError:
        async with gate:
            try:
                return await _read_one(reference, chosen, options.access, connections)
            except OlmkitError as error:
                return error

    async with connections, asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(read(reference)) for reference in references]
    parts = [task.result() for task in running]
    errors = [part for part in parts if isinstance(part, OlmkitError)]
    if errors:
        raise _all(errors)
    return [part for part in parts if not isinstance(part, OlmkitError)]


def render_local(references: Sequence[str], options: RenderOptions) -> Rendered | None:
    """Render like `render_all` without an event loop; None if a reference is not local."""
    if any(_path(text) is None for text in references):
        return None
    _check_image(options.image)
    chosen = _RenderOptions(options.image, options.level, options.has_places)
    parts = _local(references, chosen, options.processes)
    return _join_parts([parts[index] for index in range(len(references))])


async def render_all(references: Sequence[str], options: RenderOptions) -> Rendered:
    """Return the blobs of all references: bundle folders, catalog folders and files, images.

    Raises `InputError` with the errors of all references.
    """
    _check_image(options.image)
    chosen = _RenderOptions(options.image, options.level, options.has_places)
    parts = _local(references, chosen, options.processes)
    parts.update(
        await _images(
            [(index, text) for index, text in enumerate(references) if index not in parts],
            chosen,
            options.access,
        )
    )
    return _join_parts([parts[index] for index in range(len(references))])


@dataclass(frozen=True, slots=True)
class _RenderOptions:
    """The options of each bundle; small, since they are sent to other processes."""

    image: str
    level: Level
    has_places: bool = True


async def _read_one(
    reference: str, chosen: _RenderOptions, access: Access, connections: Connections
) -> BundleRead | Rendered:
    path = _path(reference)
    if path is not None:
        if _is_bundle_folder(path):
            return _read(disk.read_tree(path), reference, chosen)
        return _catalog(path, chosen)
    found = await _pull(reference, access, connections)
    if found.is_bundle:
        return _read(found.tree, reference, chosen, _pull_spec(found.source, reference))
    return _image(found, reference, chosen)


# Folders and files


def _local(
    references: Sequence[str], chosen: _RenderOptions, processes: int
) -> dict[int, Rendered | OlmkitError]:
    """Render the references that are local."""
    parts: dict[int, Rendered | OlmkitError] = {}
    bundles: dict[int, tuple[str, _RenderOptions]] = {}
    for index, reference in enumerate(references):
        path = _path(reference)
        if path is None:
            continue
        if _is_bundle_folder(path):
            bundles[index] = (reference, chosen)
        else:
            parts[index] = _attempt(lambda path=path: _catalog(path, chosen))  # type: ignore[misc]
    check_own_images(chosen.image, len(bundles))
    rendered = workers.map_all(_bundle_folder, list(bundles.values()), processes=processes)
    parts.update(zip(bundles, rendered, strict=True))
    return parts


def _path(reference: str) -> Path | None:
    """Return the file or folder that a reference names, if there is one."""
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        path = paths.expand(reference)
        if reference and paths.exists(path):
            return path
    return None


def _is_bundle_folder(path: Path) -> bool:
    return all(
        paths.is_folder(path / name) for name in (source_bundle.MANIFESTS, source_bundle.METADATA)
    )


def _bundle_folder(item: tuple[str, _RenderOptions]) -> Rendered | OlmkitError:
    """Render a bundle folder; errors are returned, since this may run in another process."""
    reference, chosen = item
    return _attempt(lambda: _bundle(disk.read_tree(paths.expand(reference)), reference, chosen))


def _bundle(tree: Tree, root: str, chosen: _RenderOptions, image: str | None = None) -> Rendered:
    read = _read(tree, root, chosen, image)
    return Rendered(blobs=(read.rendered.blob(),), diagnostics=read.diagnostics)


def _read(tree: Tree, root: str, chosen: _RenderOptions, image: str | None = None) -> BundleRead:
    """Return a bundle; if it has no image, it gets the requested one."""
    source = source_bundle.read(tree, root)
    if image is None:
        image = _fill_template(chosen.image, source.package, source.name, source.version)
    made, notes = render.render(source, image)
    return BundleRead(
        source=source, rendered=migrate.migrate(made, chosen.level, root), diagnostics=notes
    )


def _catalog(path: Path, chosen: _RenderOptions) -> Rendered:
    """Return a catalog folder, or one file of a catalog."""
    if paths.is_folder(path):
        from olmkit.bundle import package_manifest  # a bundle folder is not a catalog

        tree = Folder(path, file_limit=MAX_CATALOG_FILE, linked_folders=False)
        if package_manifest.is_there(tree):
            return _package(disk.read_tree(path), str(path), chosen)
        return _tree(tree, str(path), chosen)
    from olmkit.edges import index_database  # sqlite3 is needed only for a file

    if index_database.is_database(path):
        return _database(path, str(path), chosen)
    data = disk.read_file(path, limit=MAX_CATALOG_FILE)
    made = _blobs(
        lambda report: fbc.load_stream(data, path.name, report=report, settle=True),
        str(path.parent),
        chosen,
    )
    from olmkit.catalog.templates.source import SCHEMAS  # only for a file

    templates = {"olm.composite", *SCHEMAS.values()}  # opm does not render such a file either
    template = next((blob.schema for blob in made.blobs if blob.schema in templates), "")
    if template:
        raise InputError(
            f"`{path}` is a catalog template (`{template}`), not a catalog",
            hint=f"render the template first: `olmkit catalog render-template {path}`",
        )
    return made


def _package(tree: Tree, root: str, chosen: _RenderOptions) -> Rendered:
    """Return the catalog of a folder of package manifests, the format before bundles."""
    # imported here like in `_database`: it is rarely needed, and slows the start of commands
    from olmkit.catalog.bundles import package_manifests
    from olmkit.catalog.changes import assembly
    from olmkit.catalog.changes.assembly import Member

    read = package_manifests.read(tree, root)
    check_own_images(chosen.image, len(read.sources))
    members: list[Member] = []
    notes: list[Diagnostic] = []
    for source in read.sources:
        image = _fill_template(chosen.image, source.package, source.name, source.version)
        rendered, found = render.render(source, image)
        rendered = migrate.migrate(rendered, chosen.level, root)
        members.append(Member(source=source, rendered=rendered))
        notes += found
    made = assembly.assemble_heads(read.package, read.default_channel, read.heads, members)
    return Rendered(blobs=made.blobs, diagnostics=(*notes, *made.diagnostics))


def _tree(tree: Tree, root: str, chosen: _RenderOptions) -> Rendered:
    return _blobs(lambda report: fbc.load(tree, report=report, settle=True), root, chosen)


def _database(source: Path | bytes, name: str, chosen: _RenderOptions) -> Rendered:
    """Return the catalog in an index database, migrated."""
    from olmkit.jobs.catalog import databases

    made = databases.convert_database(source, name)
    bundles = (migrate.migrate(bundle, chosen.level, name) for bundle in made.bundles)
    return Rendered(
        blobs=(*made.blobs, *(bundle.blob() for bundle in bundles)),
        diagnostics=made.diagnostics,
    )


def _blobs(
    load: Callable[[fbc.Report], Iterator[Blob]], root: str, chosen: _RenderOptions
) -> Rendered:
    """Return the blobs of a catalog whose files are in `root`, with migrated bundles."""
    notes: list[Diagnostic] = []
    blobs: list[Blob] = []
    try:
        for blob in load(notes.append):
            notes += fbc.unknown_fields(blob)
            made = _sort_properties(blob, root, chosen) if blob.schema == wire.BUNDLE else blob
            blobs.append(made if chosen.has_places else made.without_place())
    except InputError as error:
        if error.diagnostics:
            error.message = error.diagnostics[0].message
        error.diagnostics = diagnostics_.prefix_paths(root, (*notes, *error.diagnostics))
        raise
    return Rendered(blobs=tuple(blobs), diagnostics=diagnostics_.prefix_paths(root, notes))


def _sort_properties(blob: Blob, root: str, chosen: _RenderOptions) -> Blob:
    bundle = RenderedBundle.of(blob)
    arranged = migrate.migrate(render.sort_properties(bundle), chosen.level, blob.path or root)
    return blob if arranged == bundle else arranged.blob()


# Images


async def _images(
    references: Sequence[tuple[int, str]], chosen: _RenderOptions, access: Access
) -> dict[int, Rendered | OlmkitError]:
    import asyncio  # as above

    if not references:
        return {}
    from olmkit.jobs.catalog import cluster_catalog  # reading folders needs no cluster

    gate = asyncio.Semaphore(_PULLS)
    connections = _connections(access)

    async def pulled(reference: str) -> Rendered | OlmkitError:
        async with gate:
            try:
                if cluster_catalog.is_in_cluster(reference):
                    tree = await cluster_catalog.fetch(reference, access)
                    return _attempt(lambda: _tree(tree, reference, chosen))
                found = await _pull(reference, access, connections)
            except OlmkitError as error:
                return error
        return _attempt(lambda: _image(found, reference, chosen))

    async with connections, asyncio.TaskGroup() as tasks:
        made = {index: tasks.create_task(pulled(text)) for index, text in references}
    return {index: task.result() for index, task in made.items()}


def _connections(access: Access) -> Connections:
    from olmkit.edges.images import transports  # as below

    return transports.Connections(access)


async def _pull(
    reference: str, access: Access, connections: Connections | None = None
) -> ImageFiles:
    from olmkit.edges.images import transports  # reading folders needs no HTTP
    from olmkit.oci.reference import InvalidReferenceError

    try:
        return await transports.read_tree(reference, access, connections)
    except InvalidReferenceError as error:
        error.hint = error.hint or "pass an existing folder, or an image with its registry"
        raise


def _image(found: ImageFiles, reference: str, chosen: _RenderOptions) -> Rendered:
    if found.database:
        return _database(found.tree.data(found.database), reference, chosen)
    if not found.is_bundle:
        return _tree(found.tree, reference, chosen)
    pulled = _pull_spec(found.source, reference)
    made = _bundle(found.tree, reference, chosen, pulled)
    if not chosen.image and pulled is None:
        note = findings.create(
            "FBC907",
            f"the catalog does not contain the location of the image of `{made.blobs[0].name}`",
            hint="pass the location that you will push it to: `--image registry/name:tag`",
        )
        return replace(made, diagnostics=(*made.diagnostics, note))
    return made


def _pull_spec(source: AnyReference, reference: str) -> str | None:
    """Return the reference that clusters pull; None for an image on this machine."""
    from olmkit.oci.reference import Reference  # as in `_pull`

    return reference if isinstance(source, Reference) else None


# Helpers


def check_own_images(image: str, bundles: int) -> None:
    """Raise `ConfigurationError` if several bundles would have the same image."""
    if bundles > 1 and image and not any(p in image for p in _PLACEHOLDERS):
        raise ConfigurationError(
            f"`{image}` would be the image of {bundles} bundles",
            hint="let it contain `{version}` or `{name}`",
        )


def _check_image(text: str) -> None:
    rest = text
    for placeholder in _PLACEHOLDERS:
        rest = rest.replace(placeholder, "x")
    if "{" in rest or "}" in rest:
        raise ConfigurationError(
            f"`{text}` contains an unknown placeholder",
            hint=f"use one of {', '.join(f'`{placeholder}`' for placeholder in _PLACEHOLDERS)}",
        )
    if text:
        from olmkit.oci.reference import Reference  # as in `_pull`

        Reference.parse(rest)


def _fill_template(template: str, package: str, name: str, version: str) -> str:
    # A version may contain `+`, which tags may not.
    values = (package, name, version.replace("+", "-"))
    for placeholder, value in zip(_PLACEHOLDERS, values, strict=True):
        template = template.replace(placeholder, value)
    return template


def _attempt(work: Callable[[], Rendered]) -> Rendered | OlmkitError:
    try:
        return work()
    except OlmkitError as error:
        return error


def _join_parts(parts: Sequence[Rendered | OlmkitError]) -> Rendered:
    errors = [part for part in parts if isinstance(part, OlmkitError)]
    if errors:
        raise _all(errors)
    done = [part for part in parts if isinstance(part, Rendered)]
    return Rendered(
        blobs=tuple(blob for part in done for blob in part.blobs),
        diagnostics=tuple(found for part in done for found in part.diagnostics),
    )


def _all(errors: Sequence[OlmkitError]) -> OlmkitError:
    """Combine errors; those in the input take precedence over those of the environment."""
    first = next((error for error in errors if isinstance(error, InputError)), errors[0])
    if len(errors) > 1:
        first.diagnostics = tuple(found for error in errors for found in error.diagnostics)
        unsaid = [error.message for error in errors if error is not first and not error.diagnostics]
        if unsaid:
            first.message = "; ".join((first.message, *unsaid))
    return first
