"""Read the stored files of a scorecard test from a tar archive."""

from __future__ import annotations

import io
import posixpath
import tarfile

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import File, Tree
from olmkit.oci import archives
from olmkit.oci.limits import ReadBudget


def read(archive: bytes, folder: str) -> Tree:
    """Return the regular files of an archive of `folder`, by their paths below it.

    Links and devices are left out, because they could refer to other files on this machine. Raises
    `InputError` for an archive that is damaged or contains anything outside the folder.
    """
    name = f"the archive of `{folder}`"
    prefix = posixpath.normpath(folder).strip("/")
    files: dict[str, File] = {}
    budget = ReadBudget()
    try:
        for entry, content in archives.entries(io.BytesIO(archive), name, budget):
            path = archives.entry_path(entry.name, name) or ""
            if path != prefix and not path.startswith(f"{prefix}/") and prefix:
                raise InputError(
                    f"{name} has `{archives.printable(entry.name)}`, which is outside of it"
                )
            if entry.isreg() and path != prefix:
                inside = path.removeprefix(prefix).lstrip("/")
                files[inside] = File(content.read(), 0o755 if entry.mode & 0o100 else 0o644)
    except tarfile.TarError as error:  # within the content of a file
        raise InputError(f"{name} is damaged") from error
    return Tree(files)
