"""Check paths on disk without reading files.

Jobs call these functions, so that nothing outside of the edges touches the disk.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_OPERATOR: Final = "olmkit-op-"  # short: paths of sockets below it have a limit
_LOCK: Final = "lock"


def exists(path: Path) -> bool:
    """Return whether a file, a folder or anything else is there; links are followed."""
    return path.exists()


def is_file(path: Path) -> bool:
    """Return whether a regular file is there; links are followed."""
    return path.is_file()


def is_folder(path: Path) -> bool:
    """Return whether a folder is there; links are followed."""
    return path.is_dir()


def is_link(path: Path) -> bool:
    """Return whether a symbolic link is there, whatever it leads to."""
    return path.is_symlink()


def resolve(path: Path) -> Path:
    """Return the absolute path, with links followed."""
    return path.resolve()


def is_same(one: Path, other: Path) -> bool:
    """Return whether both paths lead to the same place."""
    return one.resolve() == other.resolve()


def is_within(path: Path, folder: Path) -> bool:
    """Return whether a path leads to a folder or to something in it."""
    return path.resolve().is_relative_to(folder.resolve())


def expand(path: str) -> Path:
    """Return the path with `~` expanded; raise `RuntimeError` without a home folder."""
    return Path(path).expanduser()


def normalize(path: Path) -> Path:
    """Return the path without `.` and `..`, as text alone: links are not followed."""
    return Path(os.path.normpath(path))


def match_entries(folder: Path, pattern: str) -> list[Path]:
    """Return the sorted entries of a folder that match a pattern; none if it is missing."""
    return sorted(folder.glob(pattern)) if folder.is_dir() else []


def entries(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; none without it."""
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def modification(path: Path) -> tuple[int, int]:
    """Return the size of a file in bytes and its time of change in nanoseconds."""
    info = path.stat()
    return info.st_size, info.st_mtime_ns


def mode(path: Path) -> int:
    """Return the permission bits of a file."""
    return path.stat().st_mode & 0o777


@contextlib.contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """A folder that is removed at the end, in `parent` or where the system has such folders."""
    import tempfile  # most commands need none, and it is slow to import

    with tempfile.TemporaryDirectory(prefix="olmkit-", dir=parent) as folder:
        yield Path(folder)


@contextlib.contextmanager
def operator_folder() -> Iterator[Path]:
    """A folder that is removed at the end. Folders of operators that were killed are removed first.

    A lock in it shows whether its operator works. A volume outlives the containers of a pod.
    """
    import fcntl
    import tempfile

    _remove_left(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_OPERATOR) as folder:
        # It gets its name when it is locked: before that, the folder is not one that was left.
        early = Path(folder, f"{_LOCK}.new")
        with early.open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            early.rename(Path(folder, _LOCK))
            yield Path(folder)


def _remove_left(parent: Path) -> None:
    import fcntl
    import shutil

    for folder in parent.glob(f"{_OPERATOR}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            with (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # its operator works, or has only begun
            continue
