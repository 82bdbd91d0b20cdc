"""The file from which a catalog is served, and the folder that caches one.

A file has a header, the pieces of messages, and the index. The header identifies the catalog (by
its content and the release of olmkit) and has the checksum of the rest. The file is used only if
both match, so a cache is never outdated or incomplete: otherwise it is built again. While idle,
nothing of it is in memory; responses are read from the open file, which has no name or is replaced
only by renaming.

The checksum detects damage, not manipulation. So a cache is read and written only in a folder, and
from a file, that no other user except root can change; links are not followed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import stat
import struct
import tempfile
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Generic, TypeVar

from olmkit import __version__
from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.base.tree import Tree
from olmkit.catalog.serve import metas, registry_index
from olmkit.edges import disk

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """One kind of file: its name, its magic (16 bytes), and its index as bytes."""

    file_name: str
    magic: bytes
    encode: Callable[[T], bytes]
    decode: Callable[[bytes], T]


REGISTRY: Final = Form(
    "olmkit-registry.cache", b"olmkit registry\n", registry_index.encode, registry_index.decode
)
METAS: Final = Form("olmkit-metas.cache", b"olmkit metas   \n", metas.encode, metas.decode)
_CHUNK = 1 << 20
_CHANGED = "the file of the catalog was changed while it was served"
# magic, key, start and length of the index, checksum of everything after the header
_HEADER = struct.Struct("<16s32sQQ32s")


class Store(Generic[T]):
    """An open, complete file; responses are read with `read`.

    `stream` is the file itself, for the kernel to copy from; the pieces begin at `start`.

    The file is closed by `close`, or when the last reader is gone: calls that started before a
    change of the catalog continue with their file.
    """

    def __init__(self, descriptor: int, index: T, key: bytes) -> None:
        self.index = index
        self.key = key
        self.stream = io.FileIO(descriptor, closefd=False)
        self.start = _HEADER.size
        self._descriptor = descriptor
        self._stamp = self._current_stamp()
        self.close = weakref.finalize(self, os.close, descriptor)
        self._buffer = memoryview(bytearray(_CHUNK))

    def read(self, offset: int, length: int) -> memoryview:
        """Return bytes that are valid until the next call: all reads share one buffer.

        Raises `OSError` like `check`, and if the disk cannot be read.
        """
        self.check()
        if length > len(self._buffer):
            self._buffer = memoryview(bytearray(length))
        view = self._buffer[:length]
        if os.preadv(self._descriptor, [view], _HEADER.size + offset) != length:
            raise OSError(_CHANGED)
        return view

    def check(self) -> None:
        """Raise `OSError` if the file has been changed since it was opened."""
        if self._current_stamp() != self._stamp:
            raise OSError(_CHANGED)

    def _current_stamp(self) -> tuple[int, int]:
        found = os.fstat(self._descriptor)
        return found.st_size, found.st_mtime_ns


class Writer(Generic[T]):
    """Writes pieces one after the other, and the index at the end."""

    def __init__(self, stream: IO[bytes], key: bytes, form: Form[T]) -> None:
        self._form = form
        self._stream = stream
        self._key = key
        self._checksum = hashlib.sha256()
        self._length = 0
        stream.write(bytes(_HEADER.size))

    def append(self, piece: bytes) -> int:
        """Write `piece` and return its offset."""
        offset = self._length
        self._stream.write(piece)
        self._checksum.update(piece)
        self._length += len(piece)
        return offset

    def finish(self, index: T) -> None:
        """Write the index and the header that makes the file valid."""
        data = self._form.encode(index)
        start = self.append(data)
        header = _HEADER.pack(
            self._form.magic, self._key, start, len(data), self._checksum.digest()
        )
        self._stream.flush()
        self._stream.seek(0)
        self._stream.write(header)
        self._stream.flush()


def key_of(tree: Tree) -> bytes:
    """Return the cache key of `tree` for this release."""
    digest = hashlib.sha256(f"{registry_index.FORMAT} {__version__}\n".encode())
    for path in tree:
        content = hashlib.sha256()
        for piece in tree.chunks(path):
            content.update(piece)
        name = path.encode("utf-8", "surrogateescape")
        digest.update(len(name).to_bytes(8, "little") + name + content.digest())
    return digest.digest()


def open_cached(folder: Path, key: bytes, form: Form[T]) -> Store[T] | None:
    """Return the cache file of `key` in `folder`, or None if it is missing or invalid.

    Raises `ConfigurationError` if another user can write to the folder.
    """
    try:
        _refuse_unsafe(folder, folder.stat())
        descriptor = os.open(
            folder / form.file_name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        )
    except OSError:
        return None
    store = None
    try:
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and _is_safe(found):
            store = _open(descriptor, key, form)
    except OSError:  # a folder, or a disk that cannot be read
        pass
    finally:
        if store is None:
            os.close(descriptor)
    return store


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file being written; `kept`: it will be in the cache folder."""

    stream: IO[bytes]
    kept: bool


@contextlib.contextmanager
def new_file(folder: Path | None, name: str) -> Iterator[NewFile]:
    """Create a file for a cache; after the block it is in `folder` with `name`.

    Without a folder, if the folder cannot be written, or while another process writes there, the
    file has no name and is deleted with its last descriptor. Raises `RemoteError` if the disk is
    full, and `ConfigurationError` if another user can write to the folder.
    """
    lock = None if folder is None else _lock(folder)
    try:
        if folder is None or lock is None:
            with tempfile.TemporaryFile(prefix="olmkit-") as stream:
                yield NewFile(stream, kept=False)
        else:
            with _write_file(folder, name) as stream:
                yield NewFile(stream, kept=True)
    except OSError as error:
        place = folder if folder is not None and lock is not None else tempfile.gettempdir()
        raise RemoteError(
            f"cannot write the cache in `{place}`: {error.strerror or error}",
            hint="free some disk space, or pass another folder with `--cache-dir`",
        ) from error
    finally:
        if lock is not None:
            os.close(lock)


@contextlib.contextmanager
def _write_file(folder: Path, name: str) -> Iterator[IO[bytes]]:
    # This process holds the lock, so a file with this name is from a killed process.
    unfinished = folder / f".{name}.new"
    unfinished.unlink(missing_ok=True)
    with os.fdopen(disk.create_new(unfinished), "w+b") as stream:
        try:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            unfinished.replace(folder / name)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def open_written(stream: IO[bytes], key: bytes, form: Form[T]) -> Store[T]:
    """Open a store with the data in `stream`, which may be closed afterwards."""
    stream.flush()
    store = _open(os.dup(stream.fileno()), key, form, trusted=True)
    if store is None:
        raise RemoteError("the disk returned data that differs from what was written to the cache")
    return store


def _open(descriptor: int, key: bytes, form: Form[T], *, trusted: bool = False) -> Store[T] | None:
    header = os.pread(descriptor, _HEADER.size, 0)
    if len(header) != _HEADER.size:
        return None
    magic, found_key, start, length, checksum = _HEADER.unpack(header)
    size = os.fstat(descriptor).st_size
    if magic != form.magic or found_key != key or _HEADER.size + start + length != size:
        return None
    if not trusted and _checksum(descriptor) != checksum:
        return None
    try:
        index = form.decode(os.pread(descriptor, length, _HEADER.size + start))
    except ValueError:
        return None
    return Store(descriptor, index, key)


def _checksum(descriptor: int) -> bytes:
    digest = hashlib.sha256()
    at = _HEADER.size
    while chunk := os.pread(descriptor, _CHUNK, at):
        digest.update(chunk)
        at += len(chunk)
    return digest.digest()


def _lock(folder: Path) -> int | None:
    """Return a lock on the folder, held while its descriptor is open; None without one."""
    descriptor = -1
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        _refuse_unsafe(folder, os.fstat(descriptor))
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # not writable, locked by another process, or a disk without locks
        if descriptor >= 0:
            os.close(descriptor)
        return None
    except ConfigurationError:
        os.close(descriptor)
        raise
    if not os.access(folder, os.W_OK):
        os.close(descriptor)
        return None
    return descriptor


def _is_safe(found: os.stat_result) -> bool:
    """Return whether only root, this user and those of its group can change it.

    The group is trusted: OpenShift runs a container as any user, always with group 0, so images
    make folders for run-time data writable for that group.
    """
    return found.st_uid in (0, os.geteuid()) and not found.st_mode & stat.S_IWOTH


def _refuse_unsafe(folder: Path, found: os.stat_result) -> None:
    if not _is_safe(found):
        raise ConfigurationError(
            f"other users can change the cache folder `{folder}`",
            hint="use a folder that you own and that only you can write to",
        )
