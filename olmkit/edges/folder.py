"""A folder as a `Tree` whose files are read when they are requested.

A catalog may be too large for memory, so its files are read one after the other, large ones in
pieces. Every entry that is not a folder counts, as in `opm`: a link to a folder, or a broken link,
is an entry that cannot be read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import File, Tree
from olmkit.edges import disk

# Large enough to read fast, small enough to need little memory.
_PIECE: Final = 1024 * 1024


class Folder(Tree):
    """The files below a folder. Raises `ConfigurationError` if it is not a folder.

    With `linked_folders`, links to folders count as entries, which cannot be read.
    """

    __slots__ = ("_limit", "_paths", "_root")

    def __init__(
        self, root: Path, *, file_limit: int = disk.MAX_FILE_SIZE, linked_folders: bool = True
    ) -> None:
        super().__init__()
        if not root.exists():
            raise ConfigurationError(f"`{root}` does not exist")
        if not root.is_dir():
            raise ConfigurationError(f"`{root}` is not a folder")
        self._root = root
        self._limit = file_limit
        self._paths = dict.fromkeys(sorted(_names(root, linked_folders=linked_folders)))

    def __getitem__(self, path: str) -> File:
        if path not in self._paths:
            raise KeyError(path)
        return File(disk.read_file(self._check(path), limit=self._limit))

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def __contains__(self, path: object) -> bool:
        return path in self._paths

    def __hash__(self) -> int:
        return hash((self._root, tuple(self._paths)))

    def __repr__(self) -> str:
        return f"Folder({str(self._root)!r})"

    def data(self, path: str) -> bytes:
        return self[path].data

    def chunks(self, path: str) -> Iterator[bytes]:
        yield from disk.read_pieces(self._check(path), limit=self._limit, size=_PIECE)

    def part(self, path: str, start: int, end: int) -> bytes:
        return disk.read_part(self._check(path), start, end)

    def _check(self, path: str) -> Path:
        """Return the file's path, or raise `InputError` for a broken or external link."""
        file = self._root / path
        if file.is_symlink():
            if not file.exists():
                raise InputError(f"`{path}` is a link to something that does not exist")
            if not file.resolve().is_relative_to(self._root.resolve()):
                raise InputError(f"`{path}` is a link that leaves the folder")
        if file.is_dir():
            raise InputError(f"`{path}` is a link to a folder, and links to folders are not read")
        return file


def _names(root: Path, *, linked_folders: bool = True) -> Iterator[str]:
    def fail(error: OSError) -> None:
        raise disk.disk_error(Path(error.filename or root), error) from error

    for directory, folders, files in os.walk(root, onerror=fail):
        below = Path(directory)
        linked = [name for name in folders if linked_folders and (below / name).is_symlink()]
        for name in (*files, *linked):
            if disk.is_aside(name):
                continue
            yield (below / name).relative_to(root).as_posix()


def fingerprint(root: Path) -> str:
    """Return a value that changes when a file below `root` is added, removed or written.

    Files are not read, only their metadata. Raises `OSError` if the folder cannot be read.
    """
    import hashlib  # loads OpenSSL, which reading does not need

    digest = hashlib.sha256()
    for name in sorted(_names(root)):
        try:
            found = (root / name).stat()
        except OSError:  # a broken link, or a file that was just removed
            stamp = ""
        else:
            stamp = f"{found.st_size} {found.st_mtime_ns} {found.st_ino}"
        digest.update(f"{name}\0{stamp}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
