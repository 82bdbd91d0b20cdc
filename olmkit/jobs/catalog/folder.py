"""Write a catalog to a new folder, with one file for each package."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Change, Changes, Tree, diff
from olmkit.catalog.blobs import fbc
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.fbc import Form
from olmkit.edges import disk, paths


def check(folder: Path) -> None:
    """Raise `ConfigurationError` if a folder is not empty, since catalogs would be mixed."""
    if paths.exists(folder) and (not paths.is_folder(folder) or any(disk.files_of(folder))):
        raise ConfigurationError(
            f"`{folder}` is not an empty directory",
            hint="name a new directory, or remove this one first",
        )


def write(blobs: Iterable[Blob], form: Form, folder: Path) -> Changes:
    """Write `PACKAGE/catalog.FORM` for each package, and other blobs to `catalog.FORM`.

    The changes have paths as the user wrote them. Raises `InputError` for a package whose name
    cannot be a folder name.
    """
    changes = diff(fbc.dump_tree(blobs, form), Tree())
    disk.apply(folder, changes)
    return Changes(tuple(_with_folder(folder, change) for change in changes))


def _with_folder(folder: Path, change: Change) -> Change:
    return change._replace(path=str(folder / change.path))
