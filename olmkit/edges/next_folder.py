"""Write a large generated folder file by file, and replace the old one atomically.

`whole_folder` does the same for changes that are in memory. Files are not flushed one by one: the
next build finds files that a power failure damaged by their digests, and writes them again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Final

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import clean_path
from olmkit.edges import disk, whole_folder

_MOST: Final = 1_000_000  # number of files; more are replaced one by one


class NextFolder:
    """A context manager; without `finish`, the old folder stays.

    Raises `RemoteError` for an error of the disk.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._stage: Path | None = None
        self._written: set[str] = set()
        self._made: list[Path] = []
        self._exchangeable = False

    def __enter__(self) -> NextFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stage is not None:
            shutil.rmtree(self._stage, ignore_errors=True)
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):  # it is in use
                folder.rmdir()

    def write(self, path: str, data: bytes) -> None:
        """Write a file that is new or differs."""
        path = clean_path(path)
        try:
            target = self._inner() / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        except OSError as error:
            raise disk.disk_error(self._root / path, error) from error
        self._written.add(path)

    def finish(self, removed: Collection[str] = ()) -> None:
        """Put the written files in place, and remove those in `removed`; all others stay."""
        if not self._written and not removed:
            return
        gone = frozenset(map(clean_path, removed))
        try:
            inner = self._inner()
            if not self._root.exists():
                inner.rename(self._root)
                return
            if self._exchangeable and self._link_others(inner, gone):
                shutil.copymode(self._root, inner)
                if whole_folder.exchange(inner, self._root):
                    return
            self._replace_each(inner, gone)
        except OSError as error:
            raise disk.disk_error(self._root, error) from error

    def _inner(self) -> Path:
        if self._stage is None:
            self._made = disk.make_folder(self._root.parent)
            self._exchangeable = whole_folder.is_exchangeable(self._root, _MOST)
            place = self._root.parent if self._exchangeable else self._root
            before, after = disk.ASIDE
            try:
                self._stage = Path(tempfile.mkdtemp(prefix=before, suffix=after, dir=place))
            except OSError:
                if not self._root.is_dir():
                    raise
                self._exchangeable = False
                self._stage = Path(tempfile.mkdtemp(prefix=before, suffix=after, dir=self._root))
            (self._stage / "new").mkdir()
        return self._stage / "new"

    def _link_others(self, inner: Path, removed: frozenset[str]) -> bool:
        """Link the unchanged files into the next state; False on a file system without links."""
        try:
            for path in self._files():
                if path not in removed and path not in self._written:
                    target = inner / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    os.link(self._root / path, target, follow_symlinks=False)
        except OSError:
            return False
        return True

    def _files(self) -> Iterator[str]:
        for directory, folders, names in os.walk(self._root):
            folders[:] = [name for name in folders if not disk.is_aside(name)]
            links = [name for name in folders if Path(directory, name).is_symlink()]
            for name in (*names, *links):
                yield Path(directory, name).relative_to(self._root).as_posix()

    def _replace_each(self, inner: Path, removed: frozenset[str]) -> None:
        for path in sorted(self._written):
            target = self._root / path
            self._refuse_links(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            (inner / path).replace(target)
        for path in sorted(removed):
            self._refuse_links(path)
            (self._root / path).unlink(missing_ok=True)
            disk.remove_empty_parents(self._root / path, self._root)

    def _refuse_links(self, path: str) -> None:
        """Refuse a link to a folder, which would lead out of the folder."""
        for parent in PurePosixPath(path).parents:
            if str(parent) != "." and (self._root / parent).is_symlink():
                raise InputError(
                    f"`{self._root / parent}` is a link, and files are written below it",
                    hint="remove the link, or name another directory",
                )
