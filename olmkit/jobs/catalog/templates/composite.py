"""Render composite templates: write the files of several catalogs, either all or none."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from olmkit.base import findings
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError, RemoteError
from olmkit.base.tree import Change, Changes, Tree, diff
from olmkit.catalog.blobs import fbc
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.fbc import Form
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.templates import composite
from olmkit.catalog.templates.composite import Builder, Component
from olmkit.catalog.templates.findings import ENTRY, refuse_all
from olmkit.catalog.templates.opm_release import CURRENT, OpmRelease
from olmkit.catalog.templates.source import Kind
from olmkit.edges import disk, paths
from olmkit.edges.images.access_settings import Access
from olmkit.edges.programs import program_output
from olmkit.jobs.catalog import catalogs
from olmkit.jobs.catalog.local import MAX_CATALOG_FILE
from olmkit.jobs.catalog.templates import template
from olmkit.jobs.catalog.templates.template import MAX_TEMPLATE, TemplateOptions

if TYPE_CHECKING:
    from olmkit.edges.network.web import Web

_URLS: Final = ("https://", "http://")
_KINDS: Final[Mapping[Builder, Kind]] = {Builder.BASIC: Kind.BASIC, Builder.SEMVER: Kind.SEMVER}


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeOptions:
    """The files of components and catalogs (or their URL), and rendering options.

    `validate` rejects catalogs with errors; `run_commands` allows components that run a program.
    """

    contribution: Path
    catalogs: str
    form: Form = "json"
    level: Level = Level.NONE
    release: OpmRelease = CURRENT
    validate: bool = True
    run_commands: bool = False
    access: Access = field(default_factory=Access)


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """The changes that were or would be written, with paths as the user wrote them."""

    changes: Changes
    diagnostics: tuple[Diagnostic, ...] = ()


async def render_composite(options: CompositeOptions, *, dry_run: bool = False) -> Composed:
    """Render each component into its catalog.

    Raises `InputError` for an invalid file, and if a catalog would have errors; then nothing is
    written.
    """
    contribution = disk.read_file(options.contribution, limit=MAX_TEMPLATE)
    listed = await _catalogs(options.catalogs, options.access)
    components = composite.components(
        (contribution, str(options.contribution)), (listed, options.catalogs)
    )
    if not options.run_commands:
        _check_commands(components)
    notes: list[Diagnostic] = []
    made: dict[Component, bytes] = {}
    for component in components:
        blobs, found = await _render(component, options)
        notes += found
        made[component] = fbc.dump(blobs, options.form)
    if options.validate:
        _check(made)
    changes = _changes(made)
    if not dry_run:
        disk.apply(Path(), changes)
    return Composed(changes=changes, diagnostics=tuple(notes))


async def _catalogs(reference: str, access: Access) -> bytes:
    """Read the file of catalogs, which may be at a URL."""
    if not reference.startswith(_URLS):
        return disk.read_file(Path(reference), limit=MAX_TEMPLATE)
    from olmkit.edges.images import transports  # slow to import, and only needed for a URL
    from olmkit.edges.network.web import Web

    async with Web(transports.web_options(access)) as web:
        return await web.retry(lambda: _fetch(web, reference))


async def _fetch(web: Web, url: str) -> bytes:
    async with web.send("GET", url) as reply:
        if reply.status != 200:
            raise RemoteError(f"`{reply.url}` answers with status {reply.status}")
        return await reply.read(MAX_TEMPLATE)


def _check_commands(components: Iterable[Component]) -> None:
    """Raise an error if a file runs a program without the user's permission."""
    refuse_all(
        [
            findings.create(
                ENTRY,
                f"the component for `{one.catalog}` runs the program `{one.command[0]}`",
                at=one.at,
                hint="pass `--run-commands` if you trust the file",
            )
            for one in components
            if one.command
        ]
    )


async def _render(
    component: Component, options: CompositeOptions
) -> tuple[Sequence[Blob], Sequence[Diagnostic]]:
    if component.builder is Builder.CUSTOM:
        environment = options.access.environment
        data = await program_output.read(component.command, environment, limit=MAX_CATALOG_FILE)
        return list(fbc.load_stream(data, component.command[0])), ()
    path = _input(component, options.contribution.parent)
    if component.builder is Builder.RAW:
        data = disk.read_file(path, limit=MAX_CATALOG_FILE)
        return list(fbc.load_stream(data, str(path))), ()
    found = await template.render_template(
        str(path),
        TemplateOptions(
            kind=_KINDS[component.builder],
            level=options.level,
            release=options.release,
            access=options.access,
        ),
    )
    return found.blobs, found.diagnostics


def _input(component: Component, folder: Path) -> Path:
    """Find the input in the current folder, or else next to the file of components."""
    named = Path(component.input)
    found = next((path for path in (named, folder / named) if paths.exists(path)), None)
    if found is None:
        raise findings.error(
            ENTRY,
            f"the input `{component.input}` does not exist",
            at=component.at,
            hint=f"the current directory and `{folder}` are searched",
        )
    return found


def _check(rendered: Mapping[Component, bytes]) -> None:
    """Raise `InputError` for catalogs that would have errors, including their other files."""
    folders: dict[str, dict[str, bytes]] = {}
    for one, data in rendered.items():
        folders.setdefault(posixpath.join(one.root, one.folder), {})[one.output] = data
    for folder, files in folders.items():
        there = Tree()
        if paths.is_folder(Path(folder)):
            there = disk.read_tree(Path(folder), file_limit=MAX_CATALOG_FILE)
        try:
            catalogs.read(folder, tree=there.merge(files))
        except InputError as error:
            raise InputError(
                f"the catalog `{folder}` would not be valid, so nothing was written",
                hint=error.hint,
                diagnostics=[one._replace(at=None, related=()) for one in error.diagnostics],
            ) from None


def _changes(rendered: Mapping[Component, bytes]) -> Changes:
    items: list[Change] = []
    for one, data in rendered.items():
        path = posixpath.normpath(posixpath.join(one.root, one.folder, one.output))
        if paths.is_folder(Path(path)):
            raise ConfigurationError(
                f"`{path}` is a directory, but a catalog file must be written there"
            )
        found = disk.read_if_there(Path(path), limit=MAX_CATALOG_FILE)
        before = Tree() if found is None else Tree({one.output: found})
        changes = diff(Tree({one.output: data}), before)
        items += [change._replace(path=path) for change in changes]
    return Changes(tuple(sorted(items, key=lambda change: change.path)))
