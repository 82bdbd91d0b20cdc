"""Catalogs on this disk as files: a folder, or an index database with the catalog it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from olmkit.base.tree import Tree
from olmkit.edges import paths
from olmkit.edges.folder import Folder

# A file may hold the whole catalog of a distribution.
MAX_CATALOG_FILE: Final = 512 * 1024 * 1024


def tree(path: Path) -> Tree:
    """The files of a catalog; a database is one file.

    Raises `ConfigurationError` when there is neither a folder nor a database, `InputError` for a
    database that cannot be read.
    """
    from olmkit.edges import index_database  # sqlite3 is needed for a file alone

    found = paths.expanded(str(path))
    if index_database.is_database(found):
        return index_database.catalog_tree(found, str(path))
    return Folder(path, file_limit=MAX_CATALOG_FILE)
