"""Add a bundle from any source to a catalog on disk.

The bundle's package must be valid before and afterwards, except that its default channel may be one
that this bundle adds; otherwise nothing is written. Errors of other packages are reported as
warnings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError, Severity
from olmkit.base.tree import Changes, Tree, diff
from olmkit.base.versions import InvalidVersionError, Version
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.changes import addition
from olmkit.catalog.changes.addition import NewEntry, Placement
from olmkit.edges import disk, index_database, paths
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalogs, render
from olmkit.jobs.catalog.render import BundleRead, RenderOptions

_FILES: Final = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddOptions:
    """The bundle's image, the form of the catalog, and the upgrade edges."""

    placement: Placement = field(default_factory=Placement)
    image: str = ""
    level: Level = Level.NONE
    access: Access = field(default_factory=Access)


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """The changes that were or would be written, with paths as the user wrote them."""

    package: str
    bundle: str
    entries: tuple[NewEntry, ...]
    changes: Changes
    diagnostics: tuple[Diagnostic, ...] = ()


async def add(catalog: Path, bundle: str, options: AddOptions, *, dry_run: bool = False) -> Added:
    """Add a bundle to the catalog at `catalog`, a folder or a file, which may be new.

    Raises `InputError` if the catalog would be invalid, and `ConfigurationError` if the bundle's
    image is not known; then nothing is written.
    """
    (added,) = await add_all(catalog, [bundle], options, dry_run=dry_run)
    return added


async def add_all(
    catalog: Path, bundles: Sequence[str], options: AddOptions, *, dry_run: bool = False
) -> tuple[Added, ...]:
    """Add bundles like `add`, from the lowest version to the highest, or none of them."""
    placement = options.placement
    if len(bundles) > 1 and (placement.replaces or placement.skips or placement.skip_range):
        raise ConfigurationError(
            "the edges of several bundles cannot be the same",
            hint="add the bundles one by one, or write the edges into their ClusterServiceVersions",
        )
    if index_database.is_database(catalog):
        raise InputError(
            f"`{catalog}` is an index database, which is only read",
            hint=f"render it to files first: `olmkit catalog render {catalog} > catalog.yaml`",
        )
    chosen = RenderOptions(image=options.image, level=options.level, access=options.access)
    found = [await render.read_bundle(one, chosen) for one in bundles]
    for read in found:
        if not read.rendered.image:
            raise ConfigurationError(
                f"the location of the image of `{read.source.name}` is not known",
                hint="pass `--image registry/name:v{version}`",
            )
    if len(found) > 1:
        found.sort(key=_order)
        _check_names(found)
    root, tree, file = _open(catalog)
    present, done = tree, []
    reported: set[tuple[str, str, str]] = set()
    for read in found:
        warnings: list[Diagnostic] = []
        if tree:
            warnings = [
                one
                for one in _check_before(str(catalog), tree, read.source.package, str(root))
                if (one.rule, one.subject, one.message) not in reported
            ]
            reported |= {(one.rule, one.subject, one.message) for one in warnings}
        made = addition.add(tree, read.source, read.rendered, placement, file=file)
        _check(str(catalog), made.tree, read.source.package)
        changes = (one._replace(path=str(root / one.path)) for one in diff(made.tree, tree))
        done.append(
            Added(
                package=read.source.package,
                bundle=read.source.name,
                entries=made.entries,
                changes=Changes(tuple(changes)),
                diagnostics=(*read.diagnostics, *warnings),
            )
        )
        tree = made.tree
    if not dry_run:
        disk.apply(root, diff(tree, present))
    return tuple(done)


def _order(read: BundleRead) -> tuple[str, Version]:
    try:
        return read.source.package, Version.parse(read.source.version or "0.0.0")
    except InvalidVersionError as error:
        raise InputError(
            f"`{read.source.name}` has no version that can be compared: {error.message}",
            hint="correct `spec.version` of its ClusterServiceVersion",
        ) from None


def _check_names(found: Sequence[BundleRead]) -> None:
    """Raise `InputError` for two different bundles of the same name."""
    seen: dict[tuple[str, str], Blob] = {}
    for read in found:
        blob = read.rendered.blob()
        if seen.setdefault((blob.package, blob.name), blob) != blob:
            raise InputError(
                f"two different bundles have the name `{blob.name}`",
                hint="pass one of them, or give the other one another version",
            )


def _open(catalog: Path) -> tuple[Path, Tree, str]:
    """Return the catalog's folder, its files, and the file if the catalog is a single file."""
    if paths.is_folder(catalog) or (not paths.exists(catalog) and catalog.suffix not in _FILES):
        found = Tree()
        if paths.exists(catalog):
            found = disk.read_tree(catalog, file_limit=catalogs.MAX_CATALOG_FILE)
        return catalog, found, ""
    name = catalog.name
    if not paths.exists(catalog):
        return catalog.parent, Tree(), name
    data = disk.read_file(catalog, limit=catalogs.MAX_CATALOG_FILE)
    return catalog.parent, Tree({name: data}), name


# A new package has no channel yet, and perhaps no default channel.
_HEALED: Final = frozenset({"FBC013", "FBC014", "FBC015"})
# A channel or a bundle whose package has no blob; it is in the message.
_WITHOUT_PACKAGE: Final = frozenset({"FBC020", "FBC031"})


def _check_before(shown: str, tree: Tree, package: str, folder: str) -> list[Diagnostic]:
    """Return the errors of other packages as warnings.

    Raises `InputError` for errors that a bundle of `package` does not fix.
    """
    try:
        catalogs.read(shown, tree=tree, folder=folder)
    except InputError as error:
        own, others = _divide_errors(error, package)
        warnings = [found._replace(severity=Severity.WARNING) for found in others]
        lasting = [found for found in own if not _is_healed(found, package)]
        if lasting:
            raise InputError(
                error.message, hint=error.hint, diagnostics=[*lasting, *warnings]
            ) from None
        return warnings
    return []


def _check(shown: str, tree: Tree, package: str) -> None:
    """Raise `InputError`, without places in unwritten files, if `package` would be invalid."""
    try:
        catalogs.read(shown, tree=tree)
    except InputError as error:
        own, _ = _divide_errors(error, package)
        if not own:
            return
        raise InputError(
            f"the catalog `{shown}` would not be valid, so nothing was written",
            hint=error.hint,
            diagnostics=[
                found._replace(at=None, related=(), hint=_hint(found, package)) for found in own
            ],
        ) from None


def _hint(found: Diagnostic, package: str) -> str:
    """Return the hint of an error in a catalog that is not written; a file cannot be edited."""
    channel = re.search(r"channel `([^`]+)`", found.subject)
    if found.rule != "FBC014" or channel is None:
        return found.hint
    return (
        f"`{channel[1]}` is the default channel: pass `--channel {channel[1]}` too, or choose "
        f"another one with `olmkit catalog init {package} --default-channel CHANNEL` first"
    )


def _divide_errors(error: InputError, package: str) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """Divide errors into those of `package` or the whole catalog, and those of other packages.

    An error without findings, such as a file that cannot be read, is raised again.
    """
    errors = [found for found in error.diagnostics if found.severity is Severity.ERROR]
    if not errors:
        raise error
    others = [found for found in errors if _is_about_another(found, package)]
    return [found for found in errors if found not in others], others


def _is_about_another(found: Diagnostic, package: str) -> bool:
    if found.rule in _WITHOUT_PACKAGE:
        return not _names(found, package)
    return found.subject.startswith("package `") and not _is_about(found, package)


def _is_healed(found: Diagnostic, package: str) -> bool:
    """Return whether the first bundle of a package corrects the error."""
    if found.rule in _WITHOUT_PACKAGE:
        return _names(found, package)
    return found.rule in _HEALED and _is_about(found, package)


def _names(found: Diagnostic, package: str) -> bool:
    return f'unknown package "{package}"' in found.message


def _is_about(found: Diagnostic, package: str) -> bool:
    return found.subject == f"package `{package}`" or f"package `{package}`," in found.subject
