"""Prepare a submission: write the files of a new version to a repository of operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError
from olmkit.base.tree import Changes, File, Tree, diff
from olmkit.bundle import layout
from olmkit.catalog.blobs import fbc, wire
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.templates import source
from olmkit.catalog.templates.source import Kind
from olmkit.edges import disk, paths
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.render import RenderOptions
from olmkit.jobs.catalog.templates import template
from olmkit.jobs.submission import check
from olmkit.kube import openshift
from olmkit.oci.reference import Reference
from olmkit.submission import preparation
from olmkit.submission.operators import CATALOGS, CI, OPERATORS, RELEASE, TEMPLATES, Operator
from olmkit.submission.preparation import NewVersion
from olmkit.submission.settings import Settings, Target

KINDS: Final = (Kind.BASIC, Kind.SEMVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareOptions:
    """The submitted bundle, and the contents of a new `ci.yaml`; see `NewVersion`."""

    bundle: Path
    target: Target | None = None
    reviewers: tuple[str, ...] = ()
    project: str = ""
    openshift: str = ""
    template: Kind | None = None
    catalogs: tuple[str, ...] = ()
    image: str = ""
    access: Access = field(default_factory=Access)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The changes that were or would be written; paths are relative to the repository."""

    package: str
    version: str
    target: Target
    changes: Changes
    diagnostics: tuple[Diagnostic, ...] = ()
    is_file_based: bool = False


async def prepare(repository: Path, options: PrepareOptions, *, dry_run: bool = False) -> Prepared:
    """Write the files of a version, either all or none.

    Raises `InputError` for a bundle that cannot be submitted or a version that already exists, and
    `ConfigurationError` for invalid options.
    """
    found = check.read_settings(repository)
    target = options.target or found.target
    new = _new_version(options, target)
    wanted, notes, is_file_based = await _plan(repository, found, new, options)
    _check_inside(repository, wanted)
    changes = diff(wanted, _present(repository, wanted))
    if not dry_run:
        disk.apply(repository, changes)
    return Prepared(
        package=new.package,
        version=new.csv.version,
        target=target,
        changes=changes,
        diagnostics=notes,
        is_file_based=is_file_based,
    )


def _new_version(options: PrepareOptions, target: Target) -> NewVersion:
    if options.openshift and openshift.parse(options.openshift) is None:
        raise ConfigurationError(
            f"`{options.openshift}` names no versions of OpenShift",
            hint=f"write `v4.16`, `v4.16-v4.{openshift.LATEST}` or `=v4.{openshift.LATEST}`",
        )
    if options.image:
        Reference.parse(options.image)
    bundle = layout.read(disk.read_tree(options.bundle), str(options.bundle))
    versions = options.openshift
    if target is not Target.OPERATORHUB and not versions:
        versions = preparation.derive_openshift(bundle)
    return NewVersion(
        bundle=bundle,
        target=target,
        reviewers=options.reviewers,
        project=options.project,
        openshift=versions,
        template=options.template,
        image=options.image,
    )


async def _plan(
    repository: Path, found: Settings, new: NewVersion, options: PrepareOptions
) -> tuple[Tree, tuple[Diagnostic, ...], bool]:
    """Return the new files of the repository, and whether the operator is file-based."""
    folder = preparation.folder(new)
    files = dict(preparation.version_files(new).at(folder))
    _check_new(repository, folder, files, new)
    operator = _operator(repository, found, new, options)
    root = f"{OPERATORS}/{new.package}"
    if not paths.is_file(repository / root / CI):
        files[f"{root}/{CI}"] = operator.files[CI]
    notes: tuple[Diagnostic, ...] = ()
    if operator.is_file_based:
        files[f"{folder}/{RELEASE}"] = File(preparation.release_file(new, operator))
        if new.image:
            catalogs, notes = await _catalogs(operator, new, options)
            files |= catalogs
    elif new.image or new.template:
        raise ConfigurationError(
            f"`{CI}` of `{new.package}` does not enable file-based catalogs",
            hint="set `fbc.enabled` and `fbc.catalog_mapping` in it first, or omit `--image` "
            "and `--template`",
        )
    return Tree(files), notes, operator.is_file_based


def _check_new(repository: Path, folder: str, files: Mapping[str, File], new: NewVersion) -> None:
    """Raise `InputError` if the version exists with different files."""
    if not paths.exists(repository / folder):
        return
    same = new.image and all(
        disk.read_if_there(repository / path) == file.data for path, file in files.items()
    )
    if not same:
        raise InputError(
            f"`{folder}` exists already",
            hint="a released version does not change: raise the version of the bundle",
        )


def _operator(
    repository: Path, found: Settings, new: NewVersion, options: PrepareOptions
) -> Operator:
    """Return the operator with its new `ci.yaml`."""
    if paths.is_folder(repository / OPERATORS / new.package):
        old = check.read_operator(repository, new.package, (), found)
        if CI in old.files:
            old.document(CI)  # raises an error if it cannot be read
            return old
        known, files, catalogs = old.known_catalogs, old.files, old.catalogs
    else:
        place = repository / CATALOGS
        known = frozenset(check.folders(place) if paths.is_folder(place) else ())
        files, catalogs = Tree(), {}
    names = options.catalogs
    if new.template is not None and not names:
        names = preparation.default_catalogs(new.target, known)
    settings = preparation.settings_file(new, names)
    return Operator(
        name=new.package,
        root=str(repository),
        files=Tree({**files, CI: settings}),
        versions=(),
        catalogs=catalogs,
        known_catalogs=known,
        settings=found,
    )


async def _catalogs(
    operator: Operator, new: NewVersion, options: PrepareOptions
) -> tuple[dict[str, File], tuple[Diagnostic, ...]]:
    """Return the templates with the new image, and the rendered catalogs."""
    files: dict[str, File] = {}
    notes: tuple[Diagnostic, ...] = ()
    own = await render.read_bundle(str(options.bundle), RenderOptions(image=new.image))
    kinds = preparation.mapped_templates(operator)
    for _, name, _, catalogs in operator.mapping:
        path = f"{OPERATORS}/{operator.name}/{TEMPLATES}/{name}"
        if name not in kinds or path in files:
            continue
        data = preparation.template_file(new, operator, name, kinds[name])
        files[path] = File(data)
        read = source.read(data, path, kinds[name])
        for catalog in catalogs:
            known = {**_bundles(operator, catalog), new.image: own.rendered}
            result = await template.render_with_known(
                read, known, preparation.level(catalog), options.access
            )
            notes += result.diagnostics
            place = f"{CATALOGS}/{catalog}/{operator.name}/catalog.yaml"
            files[place] = File(fbc.dump(result.blobs, "yaml"))
    return files, notes


def _bundles(operator: Operator, catalog: str) -> dict[str, RenderedBundle]:
    """Return the existing bundles of a catalog by image."""
    if catalog not in operator.catalogs:
        return {}
    blobs = fbc.load(operator.catalogs[catalog])
    bundles = (RenderedBundle.of(blob) for blob in blobs if blob.schema == wire.BUNDLE)
    return {bundle.image: bundle for bundle in bundles}


def _present(repository: Path, desired: Tree) -> Tree:
    found: dict[str, File | bytes] = {}
    for path in desired:
        data = disk.read_if_there(repository / path, limit=check.MAX_CATALOG_FILE)
        if data is not None:
            found[path] = File(data, desired[path].mode)
    return Tree(found)


def _check_inside(repository: Path, desired: Tree) -> None:
    """Raise `InputError` for a path that leaves the repository through a link."""
    for path in desired:
        if not paths.is_within(repository / path, repository):
            raise InputError(
                f"`{path}` is outside the repository",
                hint="replace the link in its path with a folder",
            )
