"""Check paths on disk without reading files.

Jobs call these functions, so that only `edges` accesses the disk.
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
    """Return whether a path exists; links are followed."""
    return path.exists()


def is_file(path: Path) -> bool:
    """Return whether a regular file exists; links are followed."""
    return path.is_file()


def is_folder(path: Path) -> bool:
    """Return whether a folder exists; links are followed."""
    return path.is_dir()


def is_link(path: Path) -> bool:
    """Return whether the path is a symbolic link, even a broken one."""
    return path.is_symlink()


def resolve(path: Path) -> Path:
    """Return the absolute path, with links followed."""
    return path.resolve()


def is_same(one: Path, other: Path) -> bool:
    """Return whether both paths refer to the same file or folder."""
    return one.resolve() == other.resolve()


def is_within(path: Path, folder: Path) -> bool:
    """Return whether a path refers to a folder or to something in it."""
    return path.resolve().is_relative_to(folder.resolve())


def expand(path: str) -> Path:
    """Return the path with `~` expanded; raise `RuntimeError` without a home folder."""
    return Path(path).expanduser()


def normalize(path: Path) -> Path:
    """Return the path without `.` and `..`, as text only: links are not followed."""
    return Path(os.path.normpath(path))


def match_entries(folder: Path, pattern: str) -> list[Path]:
    """Return the sorted entries of a folder that match a pattern; none if it is missing."""
    return sorted(folder.glob(pattern)) if folder.is_dir() else []


def entries(folder: Path) -> list[str]:
    """Return the names in a folder, sorted; none if it does not exist."""
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def modification(path: Path) -> tuple[int, int]:
    """Return the size of a file in bytes and its modification time in nanoseconds."""
    info = path.stat()
    return info.st_size, info.st_mtime_ns


def mode(path: Path) -> int:
    """Return the permission bits of a file."""
    return path.stat().st_mode & 0o777


@contextlib.contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """Create a folder that is removed at the end, in `parent` or the system's temporary folder."""
    import tempfile  # most commands need none, and it is slow to import

    with tempfile.TemporaryDirectory(prefix="olmkit-", dir=parent) as folder:
        yield Path(folder)


@contextlib.contextmanager
def operator_folder() -> Iterator[Path]:
    """Create a folder that is removed at the end; first remove those of killed operators.

    A lock in it shows whether its operator still runs. A volume outlives the containers of a pod.
    """
    import fcntl
    import tempfile

    _remove_left(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=_OPERATOR) as folder:
        # It is renamed when it is locked: before that, it does not count as an abandoned folder.
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
        except OSError:  # its operator is running, or has just started
            continue
