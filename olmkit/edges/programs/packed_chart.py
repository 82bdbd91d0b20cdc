"""Read a packed chart as a tree of files, within the limits of image layers."""

from __future__ import annotations

import io

from olmkit.base.tree import File, Tree, clean_path
from olmkit.oci import archives, limits


def read(data: bytes, name: str) -> Tree:
    """Return the files of the archive without the top folder; raise `InputError`."""
    files: dict[str, File | bytes] = {}
    budget = limits.ReadBudget()
    for entry, content in archives.entries(io.BytesIO(data), name, budget):
        path = archives.entry_path(entry.name, name)
        if path is None or not entry.isreg() or "/" not in path:
            continue
        budget.unpack(entry.size, name)
        files[clean_path(path.partition("/")[2])] = content.read()
    return Tree(files)
