"""Layers: a `Tree` as a reproducible archive, and files back out of foreign ones.

What we write depends on nothing but the files: sorted names, time zero (or the
one that is given), owner 0, modes 0644 and 0755, and a compressor that is pinned
and not the machine's, since builds of zlib differ in the bytes they write
(`docs/decisions/layer-compression.md`).

What we read may come from anywhere: names that leave the root, links out of it,
and archives that unpack to more than is bearable are refused.
"""

from __future__ import annotations

import gzip
import io
import posixpath
import struct
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, cast

import deflate

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import File, Tree
from olmkit.oci.content import Descriptor, Digest, MediaType

# Level 6 is within 2 % of the best one on real bundles and three times as fast.
_LEVEL = 6
# ID1 ID2, deflate, no flags, no time, no extra flags, unknown system: nothing of this machine.
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_BLOCK = 512
END = bytes(2 * _BLOCK)  # of an archive
_NAME_SIZE = 100  # of the name in a POSIX header
_CHUNK = 64 * 1024
_MAX_LINKS = 40  # what Linux follows in one path


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer as it is stored, and the digest of its archive before compression."""

    descriptor: Descriptor
    diff_id: Digest
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much is taken from images that come from elsewhere."""

    file_size: int = 128 * 1024 * 1024
    total_size: int = 1024 * 1024 * 1024
    # Base images of operators reach 2 GB; a bomb of zeros is cut here after some seconds.
    archive_size: int = 8 * 1024 * 1024 * 1024
    entries: int = 500_000
    header_size: int = 1024 * 1024  # of one entry, with its extended attributes


def write(tree: Tree, *, mtime: int = 0) -> Layer:
    """`tree` as a gzip-compressed layer; `mtime` is the time of every entry, in Unix seconds."""
    return compress(write_archive(tree, mtime=mtime))


def compress(archive: bytes) -> Layer:
    """An archive as a gzip-compressed layer."""
    data = b"".join(
        (
            _GZIP_HEADER,
            bytes(deflate.deflate_compress(archive, _LEVEL)),
            struct.pack("<II", zlib.crc32(archive), len(archive) & 0xFFFFFFFF),
        )
    )
    return Layer(
        descriptor=Descriptor.of(data, MediaType.OCI_LAYER_GZIP),
        diff_id=Digest.of(archive),
        data=data,
    )


def write_archive(tree: Tree, *, mtime: int = 0) -> bytes:
    """`tree` as a tar archive, each folder before what is in it."""
    parts: list[bytes] = []
    for path in sorted({*tree, *_folders(tree)}):
        file = tree.get(path)
        if file is None:
            parts.append(header(f"{path}/", mode=0o755, kind=b"5", mtime=mtime))
        else:
            mode = 0o755 if file.mode & 0o100 else 0o644
            parts += (
                header(path, size=len(file.data), mode=mode, mtime=mtime),
                file.data,
                padding(len(file.data)),
            )
    parts.append(END)
    return b"".join(parts)


class Files:
    """The files of an image while its layers are laid one over another, lowest first.

    Only what lies below `wanted` is kept, since catalogs often stand on the base
    image of a whole distribution; links are kept from everywhere.
    """

    def __init__(self, wanted: Iterable[str] = ("",), limits: Limits | None = None) -> None:
        self._wanted = tuple(folder.strip("/") for folder in wanted)
        self._limits = limits or Limits()
        self._files: dict[str, File] = {}
        self._links: dict[str, str] = {}
        self._folders: set[str] = set()
        self._total = 0

    def add(self, stream: BinaryIO, name: str) -> None:
        """Lay one layer over the others; `name` is how messages speak of it.

        `stream` must be able to seek.
        """
        added: set[str] = set()
        for entry, content in _entries(stream, name, self._limits):
            path = _entry_path(entry.name, name)
            if path is None:
                continue
            folder, base = posixpath.split(path)
            folder = self._follow(folder)
            path = posixpath.join(folder, base)
            if base == _OPAQUE:
                self._remove_below(folder, keep=added)
            elif base.startswith(_WHITEOUT):
                self._remove(posixpath.join(folder, base.removeprefix(_WHITEOUT)))
            else:
                added.add(path)
                self._place(path, entry, content, name)

    def folder(self, folder: str) -> Tree:
        """What lies below `folder`, links followed; empty when there is no such folder.

        Raises `InputError` for a link that leaves the image, goes round in a circle, or
        points to nothing that was kept.
        """
        root = self._follow(folder.strip("/"))
        prefix = f"{root}/" if root else ""
        found: dict[str, File] = {}
        for path in [*self._files, *self._links]:
            if not path.startswith(prefix):
                continue
            target = self._follow(path)
            if (file := self._files.get(target)) is not None:
                found[path[len(prefix) :]] = file
            elif target not in self._folders:
                raise InputError(
                    f"image: `{path}` is a link to `{self._links[path]}`, which is not there"
                )
        return Tree(found)

    def elsewhere(self) -> tuple[str, ...]:
        """Where wanted folders really lie when links lead to places that were not kept."""
        targets = (self._follow(folder) for folder in self._wanted)
        return tuple(target for target in targets if not self._keeps(target))

    def _place(self, path: str, entry: tarfile.TarInfo, content: BinaryIO, name: str) -> None:
        if entry.isdir():
            self._drop(path)
            self._folders.add(path)
        elif entry.issym():
            self._remove(path)
            self._links[path] = entry.linkname
            self._add_folders(path)
        elif not self._keeps(path):
            self._drop(path)
            self._add_folders(path)
        elif entry.islnk():
            target = _entry_path(entry.linkname, name)
            file = self._files.get(target or "")
            if file is None:
                raise InputError(
                    f"{name}: `{path}` is a hard link to `{_shown(entry.linkname)}`, "
                    "which is not there"
                )
            self._store(path, file, name)
        elif entry.isreg():
            if entry.size > self._limits.file_size:
                raise InputError(
                    f"{name}: `{path}` is {entry.size / 1e6:.0f} MB large, more than the "
                    f"{self._limits.file_size / 1e6:.0f} MB that are read"
                )
            self._store(path, File(content.read(), entry.mode & 0o777), name)

    def _store(self, path: str, file: File, name: str) -> None:
        self._remove(path)
        self._files[path] = file
        self._add_folders(path)
        self._total += len(file.data)
        if self._total > self._limits.total_size:
            raise InputError(
                f"{name}: its files are larger than the "
                f"{self._limits.total_size / 1e6:.0f} MB that are read"
            )

    def _keeps(self, path: str) -> bool:
        return any(
            not folder or path == folder or path.startswith(f"{folder}/") for folder in self._wanted
        )

    def _drop(self, path: str) -> None:
        """Forget a file or link of a lower layer that something else replaces."""
        self._links.pop(path, None)
        if (old := self._files.pop(path, None)) is not None:
            self._total -= len(old.data)

    def _remove(self, path: str) -> None:
        self._drop(path)
        if path in self._folders:
            self._folders.discard(path)
            self._remove_below(path)

    def _add_folders(self, path: str) -> None:
        while (path := posixpath.dirname(path)) and path not in self._folders:
            self._drop(path)  # a file of a lower layer where there is a folder now
            self._folders.add(path)

    def _remove_below(self, folder: str, keep: Iterable[str] = ()) -> None:
        prefix = f"{folder}/" if folder else ""
        kept = set(keep)
        for path in [*self._files, *self._links]:
            if path.startswith(prefix) and path not in kept:
                self._drop(path)

    def _follow(self, path: str) -> str:
        """`path` with every link in it replaced by what it points to."""
        start, done, rest, hops = path, "", path.split("/"), 0
        while rest:
            part = rest.pop(0)
            if part in ("", "."):
                continue
            if part == "..":
                if not done:
                    raise InputError(f"image: the link `{start}` leaves the image")
                done = posixpath.dirname(done)
                continue
            here = posixpath.join(done, part)
            target = self._links.get(here)
            if target is None:
                done = here
                continue
            hops += 1
            if hops > _MAX_LINKS:
                raise InputError(f"image: the link `{start}` goes round in a circle")
            if target.startswith("/"):
                done = ""
            rest = [*target.split("/"), *rest]
        return done


def unpack(layers: Iterable[tuple[Descriptor, bytes]], limits: Limits | None = None) -> Tree:
    """All files of a small image that is in memory, its layers lowest first."""
    files = Files(limits=limits)
    for descriptor, data in layers:
        files.add(io.BytesIO(data), f"layer {descriptor.digest}")
    return files.folder("")


def _folders(tree: Mapping[str, File]) -> set[str]:
    found: set[str] = set()
    for path in tree:
        while path := posixpath.dirname(path):
            if path in found:
                break
            found.add(path)
    return found


def header(
    path: str, *, size: int = 0, mode: int = 0o644, kind: bytes = b"0", mtime: int = 0
) -> bytes:
    """The POSIX header of one entry, owned by 0:0.

    Written here and not by `tarfile`, whose bytes differ between releases of Python.
    """
    name = path.encode("utf-8", "surrogateescape")
    extended = b""
    if len(name) > _NAME_SIZE or not name.isascii():
        record = _pax_record(b"path", name)
        extended = (
            header("PaxHeaders", size=len(record), mode=0o644, kind=b"x", mtime=mtime)
            + record
            + padding(len(record))
        )
        name = b"long-name"  # readers take the one before it
    fields = b"".join(
        (
            name.ljust(_NAME_SIZE, b"\0"),
            b"%07o\0" % mode,
            b"%07o\0" % 0,
            b"%07o\0" % 0,
            b"%011o\0" % size,
            b"%011o\0" % mtime,
            b" " * 8,
            kind,
            bytes(100),
            b"ustar\00000",
            bytes(64),
            b"%07o\0" % 0,
            b"%07o\0" % 0,
        )
    ).ljust(_BLOCK, b"\0")
    return extended + fields[:148] + b"%06o\0 " % sum(fields) + fields[156:]


def padding(size: int) -> bytes:
    """What follows `size` bytes of content in an archive."""
    return bytes(-size % _BLOCK)


def _pax_record(key: bytes, value: bytes) -> bytes:
    """`LENGTH key=value` and a newline, where the length counts its own digits."""
    size = len(key) + len(value) + 3
    while len(str(size)) + len(key) + len(value) + 3 != size:
        size = len(str(size)) + len(key) + len(value) + 3
    return b"%d %s=%s\n" % (size, key, value)


def _entry_path(text: str, name: str) -> str | None:
    """The path of an entry below the root; None for the root itself."""
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise InputError(f"{name}: the entry `{_shown(text)}` leaves the image")
    if "\0" in text:
        raise InputError(f"{name}: the entry `{_shown(text)}` is no file name")
    return "/".join(parts) or None


def _shown(text: str) -> str:
    safe = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return safe if len(safe) <= 200 else f"{safe[:200]}…"


class _Archive(io.RawIOBase):
    """The uncompressed bytes of a layer, counted, with a budget for what is not file content."""

    def __init__(self, source: BinaryIO, name: str, limits: Limits) -> None:
        self._source = source
        self._name = name
        self._limits = limits
        self._total = 0
        self._header: int | None = None

    def expect_header(self) -> None:
        self._header = self._limits.header_size + _CHUNK

    def expect_content(self) -> None:
        self._header = None

    def read(self, size: int = -1, /) -> bytes:
        data = self._source.read(size)
        self._total += len(data)
        if self._total > self._limits.archive_size:
            raise InputError(
                f"{self._name}: it unpacks to more than the "
                f"{self._limits.archive_size / 1e9:.1f} GB that are read"
            )
        if self._header is not None:
            self._header -= len(data)
            if self._header < 0:
                raise InputError(f"{self._name}: the header of an entry is too large")
        return data


def _entries(
    stream: BinaryIO, name: str, limits: Limits
) -> Iterator[tuple[tarfile.TarInfo, BinaryIO]]:
    """Each entry with its content, which is readable until the next one is asked for."""
    archive = _Archive(_decompressed(stream, name), name, limits)
    try:
        archive.expect_header()
        with tarfile.open(fileobj=archive, mode="r|", bufsize=_CHUNK, errorlevel=2) as tar:
            for count in range(limits.entries + 1):
                archive.expect_header()
                entry = tar.next()
                if entry is None:
                    return
                if count == limits.entries:
                    raise InputError(f"{name}: it has more than {limits.entries} entries")
                archive.expect_content()
                if entry.issparse():
                    raise InputError(f"{name}: `{_shown(entry.name)}` is a sparse file")
                content = tar.extractfile(entry) if entry.isreg() else None
                source = cast("BinaryIO", content) if content is not None else io.BytesIO()
                yield entry, source
                while source.read(_CHUNK):
                    pass
                # Otherwise each entry of a big archive stays in memory.
                tar.members.clear()  # type: ignore[attr-defined]
    except (
        tarfile.TarError,
        zlib.error,
        gzip.BadGzipFile,
        EOFError,
        ValueError,
        OverflowError,
        struct.error,
    ) as error:
        raise InputError(f"{name}: it is no intact archive: {_shown(str(error))}") from None


def _decompressed(stream: BinaryIO, name: str) -> BinaryIO:
    """The archive inside `stream`; the content decides, since media types are often wrong."""
    start = stream.read(4)
    stream.seek(0)
    if start.startswith(_GZIP_MAGIC):
        return cast("BinaryIO", gzip.GzipFile(fileobj=stream, mode="rb"))
    if start.startswith(_ZSTD_MAGIC):
        raise InputError(
            f"{name}: it is compressed with zstd, which olmkit does not read",
            hint="copy the image with gzip layers: `skopeo copy --dest-compress-format gzip …`",
        )
    return stream
