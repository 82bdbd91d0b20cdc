"""Read a folder into a `Tree`, and apply `Changes` atomically.

Each file is written completely or not at all: to a temporary file next to it, which is flushed and
then renamed. Links that leave the folder are refused, and sizes are limited, because a folder may
come from an untrusted source.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, BinaryIO

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.base.tree import Change, Changes, File, Tree

# A manifest must fit etcd (1.5 MiB); catalogs of whole distributions reach 200 MB in many files.
MAX_FILE_SIZE = 128 * 1024 * 1024
MAX_TREE_SIZE = 1024 * 1024 * 1024
# The name of a file until it is complete, and the seconds after which it counts as abandoned.
ASIDE = (".olmkit-", ".tmp")
_ABANDONED = 600
_IN_MEMORY = 16 * 1024 * 1024  # of a spooled result


def read_file(path: Path, *, limit: int = MAX_FILE_SIZE) -> bytes:
    """Return the bytes of one regular file.

    Raises `ConfigurationError` if it does not exist, `InputError` if it is not a regular file or
    larger than `limit` bytes, and `RemoteError` if it cannot be read.
    """
    with _open(path, limit) as stream:
        return stream.read(limit + 1)


def read_if_there(path: Path, *, limit: int = MAX_FILE_SIZE) -> bytes | None:
    """Return the bytes of a file; None if it does not exist. Raises like `read_file`."""
    return read_file(path, limit=limit) if path.is_file() else None


def read_pieces(path: Path, *, limit: int = MAX_FILE_SIZE, size: int) -> Iterator[bytes]:
    """Yield the bytes of one regular file, `size` at a time; raises like `read_file`."""
    with _open(path, limit) as stream:
        while piece := stream.read(size):
            yield piece


def read_part(path: Path, start: int, end: int) -> bytes:
    """Return the bytes of one regular file from `start` to `end`; raises like `read_file`."""
    with _open(path, None) as stream:
        stream.seek(start)
        return stream.read(end - start)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading.

    Raises `OSError` if it cannot be opened, and `InputError` for a pipe, a socket or a device,
    whose content may be endless.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer that may never come.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENODEV):  # a socket, a device without a driver
            raise InputError(f"`{path}` is not a regular file") from None
        raise
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        raise InputError(f"`{path}` is not a regular file")
    return open(handle, "rb")  # noqa: PTH123


def create_new(path: Path) -> int:
    """Create a file with a fixed name that only this user can read, and return its descriptor.

    Raises `FileExistsError` if the name exists: another user may have planted a link there.
    Temporary files without a fixed name come from `tempfile`, which does the same.
    """
    # On a file system that does not know O_EXCL, such as old NFS, O_NOFOLLOW still stops at a link.
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


@contextlib.contextmanager
def _open(path: Path, limit: int | None) -> Iterator[BinaryIO]:
    try:
        with open_regular(path) as stream:
            info = os.fstat(stream.fileno())
            if limit is not None and info.st_size > limit:
                raise InputError(
                    f"`{path}` is {info.st_size / 1e6:.0f} MB; the limit is {limit / 1e6:.0f} MB"
                )
            yield stream
    except FileNotFoundError:
        raise ConfigurationError(f"`{path}` does not exist") from None
    except IsADirectoryError:
        raise InputError(f"`{path}` is a folder, not a file") from None
    except NotADirectoryError:
        raise ConfigurationError(f"`{path}` does not exist") from None
    except OSError as error:
        raise disk_error(path, error) from error


def read_tree(
    folder: Path, *, file_limit: int = MAX_FILE_SIZE, total_limit: int = MAX_TREE_SIZE
) -> Tree:
    """Return all regular files below `folder`; links are followed if they stay inside it.

    Both limits are in bytes: for one file, and for all. Raises `InputError` for larger files, and
    for a pipe, a socket or a device. Otherwise, raises like `files_of`.
    """
    files: dict[str, File] = {}
    total = 0
    for path in _below(folder):
        data = read_file(path, limit=file_limit)
        total += len(data)
        if total > total_limit:
            raise InputError(
                f"`{folder}` contains more than the limit of {total_limit / 1e6:.0f} MB"
            )
        files[path.relative_to(folder).as_posix()] = File(data, path.stat().st_mode & 0o777)
    return Tree(files)


def files_of(folder: Path) -> Iterator[Path]:
    """Return the files below `folder`, sorted: links to folders are skipped, outside ones refused.

    Raises `ConfigurationError` if `folder` does not exist or is not a folder, and `InputError` for
    a link that leaves it.
    """
    return (path for path in _below(folder) if path.is_symlink() or path.is_file())


def _below(folder: Path) -> Iterator[Path]:
    """Yield the same, including entries that are neither files nor folders."""
    if not folder.exists():
        raise ConfigurationError(f"`{folder}` does not exist")
    if not folder.is_dir():
        raise ConfigurationError(f"`{folder}` is not a folder")
    root = folder.resolve()
    for path in _walk(folder):
        if path.is_symlink():
            target = path.resolve()
            if not target.is_relative_to(root):
                raise InputError(f"`{path}` is a link that leaves `{folder}`")
            if target.is_dir():
                continue
        yield path


def python_packages(folder: Path) -> frozenset[str]:
    """Return the folders with an `__init__.py` that may be the project's package."""
    found = [*folder.glob("*/__init__.py"), *folder.glob("src/*/__init__.py")]
    return frozenset(path.parent.relative_to(folder).as_posix() for path in found)


def apply(root: Path, changes: Changes, *, checked: bool = False) -> None:
    """Apply `changes` below `root`: all files are first written to temporary ones, then renamed.

    Likely errors, such as a full disk or a read-only folder, occur before the first file is
    changed. Also raises `RemoteError` if another program has changed a file since the changes were
    computed; `checked`: this was already checked. If the command is killed, some files may be new
    and some old; `whole_folder` avoids this if the file system supports it.
    """
    written: list[tuple[Path, Path]] = []
    made: list[Path] = []
    path = root
    try:
        for change in changes:
            path = root / change.path
            if not checked:
                _check_unchanged(path, change)
            if change.wanted is not None:
                made += make_folder(path.parent)
                written.append((_write_aside(path, change.wanted.data, change.wanted.mode), path))
        while written:
            temporary, path = written[0]
            temporary.replace(path)
            del written[0]
            made.clear()
        for change in changes:
            path = root / change.path
            if change.wanted is None:
                path.unlink(missing_ok=True)
                remove_empty_parents(path, root)
    except OSError as error:
        raise disk_error(path, error) from error
    finally:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()


def check_unchanged(root: Path, changes: Changes) -> None:
    """Raise `RemoteError` if a file has changed since the changes were computed."""
    for change in changes:
        _check_unchanged(root / change.path, change)


def _check_unchanged(path: Path, change: Change) -> None:
    if path.exists() and not path.is_file() and not path.is_dir():
        raise RemoteError(  # reading a pipe would wait for its writer
            f"`{path}` is not a file, so nothing was written", hint="remove it"
        )
    try:
        now = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return
    if change.found is None or now != change.found.data:
        raise RemoteError(
            f"`{path}` has changed while this ran, so nothing was written",
            hint="let one program write there at a time, and run the command again",
            temporary=True,
        )


@contextlib.contextmanager
def spool(pieces: Iterable[bytes]) -> Iterator[IO[bytes]]:
    """Return all pieces as one stream: in memory if they are small, else on disk.

    The stream is returned after the last piece was read, so an error in a piece leaves no partial
    result.
    """
    with contextlib.ExitStack() as stack:
        try:
            stream = _spool(pieces, stack)
        except OSError as error:
            import tempfile

            raise disk_error(Path(tempfile.gettempdir()), error) from error
        yield stream


def _spool(pieces: Iterable[bytes], stack: contextlib.ExitStack) -> IO[bytes]:
    stream: IO[bytes] = stack.enter_context(io.BytesIO())
    for piece in pieces:
        if isinstance(stream, io.BytesIO) and stream.tell() + len(piece) > _IN_MEMORY:
            import tempfile  # loads OpenSSL, and few results are so large

            kept = stream.getvalue()
            file = tempfile.TemporaryFile(prefix="olmkit-")  # noqa: SIM115 - the stack closes it
            stream = stack.enter_context(file)
            stream.write(kept)
        stream.write(piece)
    stream.seek(0)
    return stream


def write_atomically(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write a file so that it always has either the old or the new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _write_aside(path, data, mode)
    try:
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write_aside(path: Path, data: bytes, mode: int) -> Path:
    """Write a new file next to `path` and flush it; it only needs to be renamed."""
    import tempfile

    _sweep(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=ASIDE[0], suffix=ASIDE[1])
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(mode & ~_umask())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def is_aside(name: str) -> bool:
    """Return whether a file is a temporary file of a running or killed process."""
    return name.startswith(ASIDE[0]) and name.endswith(ASIDE[1])


def _sweep(folder: Path) -> None:
    """Remove the files of killed programs; newer files may still be in use."""
    import shutil
    import time

    for path in folder.glob(f"{ASIDE[0]}*{ASIDE[1]}"):
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime < time.time() - _ABANDONED:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()


def make_folder(folder: Path) -> list[Path]:
    """Create a folder and its parents; return the created ones, outermost first."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing[::-1]


def _walk(folder: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise disk_error(Path(error.filename or folder), error) from error

    for directory, folders, names in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not is_aside(name))
        for name in sorted(names):
            path = Path(directory, name)
            if not is_aside(name):
                yield path


def remove_empty_parents(path: Path, root: Path) -> None:
    """Remove the empty folders above `path`, below `root`."""
    for parent in path.parents:
        if parent == root or not parent.is_relative_to(root):
            return
        try:
            parent.rmdir()
        except OSError:
            return


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def disk_error(path: Path, error: OSError) -> RemoteError:
    """Return the message of a disk error."""
    reason = (error.strerror or str(error)).lower()
    return RemoteError(f"cannot access `{path}`: {reason}", temporary=False)
