"""Read untrusted tar archives entry by entry, with limits.

Clusters use Go's `archive/tar`, so archives that it refuses are refused here too: with a damaged
header in the middle, which `tarfile` treats as the end of the archive, and with sizes that are not
numbers, which it treats as zero.
"""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zlib
from collections.abc import Iterator
from typing import IO, Any, BinaryIO, NoReturn, Protocol, cast

from olmkit.base.diagnostics import InputError
from olmkit.oci.limits import MAX_PATH, ReadBudget

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_CHUNK = 64 * 1024
_COMPRESSED_CHUNK = 16 * 1024
_GZIP = 31  # window bits of zlib that select the gzip form, checksums included
_MAX_CHAIN = 16  # extended headers before one entry; real ones have two
_MAX_DIGITS = 18
_EXTENSIONS = frozenset(
    {
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    }
)
_DAMAGED = (
    tarfile.TarError,
    zlib.error,
    gzip.BadGzipFile,
    EOFError,
    ValueError,
    OverflowError,
    RecursionError,
    struct.error,
)


class Hash(Protocol):
    """A receiver of an archive's bytes, such as a hash of `hashlib`."""

    def update(self, data: bytes, /) -> None: ...


def entries(
    stream: BinaryIO, name: str, budget: ReadBudget, seen: Hash | None = None
) -> Iterator[tuple[tarfile.TarInfo, BinaryIO]]:
    """Yield each entry of a layer with its content, readable until the next one is requested.

    `stream` must be able to seek; `name` is its name in messages. `seen` gets all bytes of the
    uncompressed archive. Raises `InputError`.
    """
    archive = _Archive(_decompress(stream, name, budget), name, budget, seen)
    try:
        if archive.is_empty:  # for Go an archive without entries
            return
        with tarfile.open(
            fileobj=archive,
            mode="r|",
            bufsize=_CHUNK,
            errorlevel=2,
            tarinfo=_entry_type(name, budget),
        ) as tar:
            for entry in _members(tar, name, budget):
                content = tar.extractfile(entry) if entry.isreg() else None
                source = cast("BinaryIO", _Content(content or io.BytesIO(), name))
                yield entry, source
                while source.read(_CHUNK):
                    pass
            # Container engines read a layer to its end, and refuse one that is damaged there.
            while archive.read(_CHUNK):
                pass
    except _DAMAGED as error:
        raise _damaged_error(name, error) from None


def members(stream: BinaryIO, name: str, budget: ReadBudget) -> Iterator[tarfile.TarInfo]:
    """Yield each entry of an uncompressed archive that is read in place; raise `InputError`."""
    try:
        with tarfile.open(
            fileobj=stream, mode="r:", errorlevel=2, tarinfo=_entry_type(name, budget)
        ) as tar:
            yield from _members(tar, name, budget)
    except _DAMAGED as error:
        raise _damaged_error(name, error) from None


def entry_path(text: str, name: str) -> str | None:
    """Return the path of an entry below the root; None for the root itself.

    `name` is that of the archive, for messages. Raises `InputError` for a path that leaves the
    root, or that Linux does not support.
    """
    check_length(text, name)
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise InputError(f"{name}: the entry `{printable(text)}` leaves the image")
    if "\0" in text:
        raise InputError(f"{name}: the entry `{printable(text)}` is not a file name")
    return "/".join(parts) or None


def check_length(text: str, name: str) -> None:
    """Raise `InputError` for a path or a link that is too long for Linux."""
    if len(text) > MAX_PATH:
        raise InputError(
            f"{name}: the path `{printable(text)}` has {len(text)} characters, "
            f"more than the {MAX_PATH} that Linux allows"
        )


def printable(text: str) -> str:
    """Shorten `text` for a message, and remove control characters."""
    safe = "".join(
        char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:201]
    )
    return safe if len(safe) <= 200 else f"{safe[:200]}…"


def _members(tar: tarfile.TarFile, name: str, budget: ReadBudget) -> Iterator[tarfile.TarInfo]:
    while (entry := tar.next()) is not None:
        budget.enter(name)
        _check_size(entry, name)
        yield entry
        # Otherwise, each entry of a large archive stays in memory.
        tar.members.clear()  # type: ignore[attr-defined]


def _check_size(entry: tarfile.TarInfo, name: str) -> None:
    """Check that all readers see the same size of an entry in its headers."""
    text = entry.pax_headers.get("size")
    if text is not None and not (
        len(text) <= _MAX_DIGITS and text.isascii() and text.isdecimal() and int(text) == entry.size
    ):
        raise InputError(
            f"{name}: the size of `{printable(entry.name)}` in its extended header is not a number"
        )


def _drop_global(tar: tarfile.TarFile, name: str) -> None:
    """Forget the records of global headers, as Go does: `tarfile` applies them to each entry."""
    if not tar.pax_headers:
        return
    if not {"size", "path", "linkpath"}.isdisjoint(tar.pax_headers):
        raise InputError(f"{name}: an extended header sets names or sizes for all entries")
    tar.pax_headers = {}


def _entry_type(name: str, budget: ReadBudget) -> type[tarfile.TarInfo]:
    """Return a `TarInfo` class that limits extended headers, and ignores global ones.

    `tarfile` reads these recursively, so they are counted.
    """

    class Entry(tarfile.TarInfo):
        chain = 0

        @classmethod
        def fromtarfile(cls, tar: tarfile.TarFile) -> tarfile.TarInfo:  # type: ignore[override]
            try:
                return super().fromtarfile(tar)
            except (tarfile.InvalidHeaderError, tarfile.TruncatedHeaderError) as error:  # type: ignore[attr-defined]
                raise _damaged_error(name, error) from None

        def _proc_member(self, tar: tarfile.TarFile) -> Any:
            _drop_global(tar, name)
            if self.type in _EXTENSIONS:
                Entry.chain += 1
                if Entry.chain > _MAX_CHAIN:
                    raise InputError(f"{name}: an entry has more than {_MAX_CHAIN} headers")
                budget.extend(max(self.size, 0), name)
            else:
                Entry.chain = 0
            if self.size < 0:
                raise InputError(f"{name}: `{printable(self.name)}` has a negative size")
            if self.type == tarfile.GNUTYPE_SPARSE:
                self._refuse_sparse()
            return super()._proc_member(tar)  # type: ignore[misc]

        def _refuse_sparse(self, *_: Any, **__: Any) -> NoReturn:
            raise InputError(f"{name}: `{printable(self.name)}` is a sparse file")

        # The maps of sparse files in extended headers are read without a limit.
        _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_sparse

    return Entry


def _damaged_error(name: str, error: BaseException) -> InputError:
    reason = "" if isinstance(error, RecursionError) else printable(str(error))
    detail = f": {reason}" if reason else ""
    return InputError(f"{name}: it is not an intact archive{detail}")


class _Content(io.RawIOBase):
    """The content of one entry, whose read errors become `InputError`."""

    def __init__(self, source: IO[bytes], name: str) -> None:
        self._source = source
        self._name = name

    def read(self, size: int = -1, /) -> bytes:
        try:
            return self._source.read(size)
        except _DAMAGED as error:
            raise _damaged_error(self._name, error) from None


class _Archive(io.RawIOBase):
    """The uncompressed bytes of a layer, which its budget counts."""

    def __init__(self, source: BinaryIO, name: str, budget: ReadBudget, seen: Hash | None) -> None:
        self._source = source
        self._name = name
        self._budget = budget
        self._seen = seen
        self._first: bytes | None = None

    @property
    def is_empty(self) -> bool:
        """Return whether the archive is empty, before anything is read."""
        if self._first is None:
            self._first = self._read(1)
        return not self._first

    def read(self, size: int = -1, /) -> bytes:
        if self._first:
            data, self._first = self._first, b""
            return data
        return self._read(size)

    def _read(self, size: int) -> bytes:
        data = self._source.read(size)
        self._budget.unpack(len(data), self._name)
        if self._seen is not None:
            self._seen.update(data)
        return data


class _Gunzip:
    """The content of a gzip stream of any number of members, with zeros after the last one."""

    def __init__(self, source: BinaryIO, name: str, budget: ReadBudget) -> None:
        self._source = source
        self._name = name
        self._budget = budget
        self._waiting = b""
        self._member: Any = None

    def read(self, size: int = -1, /) -> bytes:
        while self._member is not None or self._begin():
            if not self._waiting:
                self._waiting = self._source.read(_COMPRESSED_CHUNK)
                if not self._waiting:
                    raise EOFError("it ends too early")
            data: bytes = self._member.decompress(self._waiting, max(size, 0))
            self._waiting = self._member.unconsumed_tail
            if self._member.eof:
                self._waiting = self._member.unused_data
                self._member = None
            if data:
                return data
        return b""

    def _begin(self) -> bool:
        """Return whether there is another member; only zeros follow the last one."""
        self._waiting = self._waiting.lstrip(b"\0")
        while not self._waiting:
            chunk = self._source.read(_COMPRESSED_CHUNK)
            if not chunk:
                return False
            self._waiting = chunk.lstrip(b"\0")
        self._budget.begin_member(self._name)
        self._member = zlib.decompressobj(_GZIP)
        return True


def _decompress(stream: BinaryIO, name: str, budget: ReadBudget) -> BinaryIO:
    """Return the archive in `stream` by its content, since media types are often wrong."""
    start = stream.read(4)
    stream.seek(0)
    if start.startswith(_GZIP_MAGIC):
        return cast("BinaryIO", _Gunzip(stream, name, budget))
    if start.startswith(_ZSTD_MAGIC):
        raise InputError(
            f"{name}: it is compressed with zstd, which olmkit does not read",
            hint="copy the image with gzip layers: `skopeo copy --dest-compress-format gzip …`",
        )
    return stream
