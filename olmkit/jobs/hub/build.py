"""A hub in a folder: planned as files, then written at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from olmkit.base import tree
from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Changes, File, Tree
from olmkit.edges import disk, paths, whole_folder
from olmkit.hub import all_pages, files
from olmkit.hub.files import Earlier
from olmkit.jobs.hub import sources
from olmkit.jobs.hub.options import SourceOptions

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access

# Beyond that, the folder changes file by file.
_MAX_FILES: Final = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """`title` is that of the hub; empty: the names of the catalogs."""

    title: str = ""
    source: SourceOptions = field(default_factory=SourceOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What is to be written. `failed`: what cannot be shown, in words.

    `rendered` pages are new or differ; the others are taken from the folder.
    """

    folder: Path
    changes: Changes
    packages: int
    pages: int
    files: int
    rendered: int
    failed: tuple[str, ...]


async def plan(
    references: Sequence[str], folder: Path, options: BuildOptions, access: Access
) -> Built:
    """The pages of the catalogs, and what changes in `folder`. Nothing is written.

    Raises `InputError` when a catalog cannot be read, or when `folder` has other files.
    """
    found = await sources.read(references, options.source, access)
    title = options.title or ", ".join(one.name for one in found)
    site = all_pages.of_catalogs(found, title=title)
    earlier = files.known(disk.read_if_there(folder / files.STATE))
    rendered = files.of_site(site, earlier, lambda path: _found(folder, path))
    made = {**rendered.files, files.STATE: files.record(rendered)}
    failed = list(files.report(site))
    failed += [f"page {path or '/'}: {reason}" for path, reason in rendered.failed.items()]
    return Built(
        folder=folder,
        changes=_changes(folder, made, earlier),
        packages=sum(len(one.catalog.packages) for one in found),
        pages=len(site.pages),
        files=len(made),
        rendered=rendered.rendered,
        failed=tuple(failed),
    )


def write(built: Built) -> None:
    """Write what was planned, at one moment where the file system can."""
    whole_folder.apply(built.folder, built.changes, most=_MAX_FILES)


def _changes(folder: Path, made: Mapping[str, bytes], earlier: Earlier) -> Changes:
    wanted = Tree(made)
    if not paths.exists(folder):
        return tree.diff(wanted, Tree())
    known = earlier.files
    if not earlier.is_hub and paths.matching(folder, "*"):
        raise InputError(
            f"`{folder}` has files that are not of a hub",
            hint="name a new or empty directory",
        )
    mine = {path: _found(folder, path) for path in {*made, *known}}
    found = Tree({path: File(data) for path, data in mine.items() if data is not None})
    return tree.diff(wanted, found, stale=frozenset(known))


def _found(folder: Path, path: str) -> bytes | None:
    return disk.read_if_there(folder / tree.clean_path(path))
