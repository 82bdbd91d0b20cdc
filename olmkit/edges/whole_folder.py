"""Replace a generated folder atomically: it has either the old files or the new ones.

The next state is built next to the folder, with links to unchanged files, and the two are exchanged
with `renameat2(RENAME_EXCHANGE)` (Linux 3.15; ext4, xfs, btrfs, tmpfs). A new folder is renamed
into its place. If that is not possible (another system or file system, a folder that is a mount
point, a link or the current folder, a folder of thousands of files or with a repository in it),
each file is replaced separately, as in `disk.apply`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

from olmkit.base.tree import Changes
from olmkit.edges import disk

# More files than any bundle has; copying the links of a whole repository would be slow.
MAX_FILES: Final = 2000
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2


def apply(root: Path, changes: Changes, *, most: int = MAX_FILES) -> None:
    """Apply `changes` below `root` in one step if possible.

    A folder of more than `most` files is changed file by file.

    Raises like `disk.apply`; then nothing has changed.
    """
    if not changes:
        return
    if not is_exchangeable(root, most):
        disk.apply(root, changes)
        return
    disk.check_unchanged(root, changes)
    try:
        stage = Path(tempfile.mkdtemp(prefix=disk.ASIDE[0], suffix=disk.ASIDE[1], dir=root.parent))
    except OSError:
        disk.apply(root, changes)
        return
    try:
        if not _build(stage, root, changes):
            disk.apply(root, changes)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _build(stage: Path, root: Path, changes: Changes) -> bool:
    """Put the next state into `stage` and exchange it with `root`; False if that is impossible."""
    new = not root.exists()
    inner = stage / "new"
    try:
        if new:
            inner.mkdir()
        else:
            shutil.copytree(root, inner, symlinks=True, copy_function=os.link)
    except (OSError, shutil.Error):  # a file system without links
        return False
    disk.apply(inner, changes, checked=True)
    if not new:
        return exchange(inner, root)
    try:
        inner.rename(root)
    except OSError as error:
        raise disk.disk_error(root, error) from error
    return True


def is_exchangeable(root: Path, most: int) -> bool:
    """Return whether another folder can replace `root`, which may have at most `most` files."""
    if root.is_symlink() or not root.parent.is_dir():
        return False
    if not root.exists():
        return True
    if not root.is_dir() or root.is_mount() or (root / ".git").exists():
        return False
    # Programs with this working directory, such as the user's shell, would stay in the old folder.
    if Path.cwd().is_relative_to(root.resolve()):
        return False
    count = 0
    for _, _, names in os.walk(root):
        count += len(names)
        if count > most:
            return False
    return True


def exchange(one: Path, other: Path) -> bool:
    """Exchange two paths; False if the system does not support it."""
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None, use_errno=True)
        done: int = library.renameat2(
            _AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE
        )
        return done == 0
    return False
