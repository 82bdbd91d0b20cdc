"""A folder on disk with an overlay of files that are not written yet.

Readers of a folder see its future state, so that a plan with two steps can be computed before
either of them is applied.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from olmkit.base.tree import File, Tree
from olmkit.edges import disk, paths


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with `pending` files that count as written. Paths are relative to it."""

    folder: Path
    pending: Tree = field(default_factory=Tree)

    def has(self, path: str) -> bool:
        """Return whether a file or folder exists."""
        below = f"{path.rstrip('/')}/"
        is_pending = path in self.pending or any(one.startswith(below) for one in self.pending)
        try:
            return is_pending or paths.exists(self.folder / path)
        except OSError as error:  # a path in a project file may be invalid
            if error.errno == errno.ENAMETOOLONG:
                return False
            raise

    def read(self, path: str, *, limit: int = disk.MAX_FILE_SIZE) -> bytes:
        """Return the bytes of one file; raises like `disk.read_file`."""
        if path in self.pending:
            return self.pending.data(path)
        return disk.read_file(self.folder / path, limit=limit)

    def read_if_there(self, path: str, *, limit: int = disk.MAX_FILE_SIZE) -> bytes | None:
        return self.read(path, limit=limit) if self.has(path) else None

    def files(self, below: str) -> Iterator[str]:
        """Return the sorted paths of all files below a folder, or of a single file."""
        place = self.folder / below
        if place.is_file():
            yield below
            return
        start = "" if below == "." else f"{below}/"
        found = {path for path in self.pending if path.startswith(start)}
        if place.exists() or not found:
            found |= {path.relative_to(self.folder).as_posix() for path in disk.files_of(place)}
        yield from sorted(found)

    def present(self, paths: Iterable[str]) -> Tree:
        """Return the existing files at these paths."""
        files: dict[str, File] = {}
        for path in paths:
            place = self.folder / path
            if path in self.pending:
                files[path] = self.pending[path]
            elif place.exists():
                files[path] = File(disk.read_file(place), place.stat().st_mode & 0o777)
        return Tree(files)
