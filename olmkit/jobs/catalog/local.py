"""Read the files of a local catalog: a folder or an index database."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from olmkit.base.tree import Tree
from olmkit.edges import paths
from olmkit.edges.folder import Folder

# A file may contain the whole catalog of a distribution.
MAX_CATALOG_FILE: Final = 512 * 1024 * 1024


def tree(path: Path) -> Tree:
    """Return the files of a catalog; a database becomes one file.

    Raises `ConfigurationError` if the path is neither a folder nor a database, and `InputError` for
    a database that cannot be read.
    """
    from olmkit.edges import index_database  # sqlite3 is needed only for a file

    found = paths.expand(str(path))
    if index_database.is_database(found):
        return index_database.catalog_tree(found, str(path))
    return Folder(path, file_limit=MAX_CATALOG_FILE)
