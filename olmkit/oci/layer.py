"""Layers: a `Tree` as a reproducible archive. Reading them is in `olmkit.oci.files`.

The archive depends only on the files: sorted names, time zero (or the given time), owner 0, modes
0644 and 0755, and a pinned compressor instead of the machine's, because builds of zlib write
different bytes (`docs/decisions/layer-compression.md`).
"""

from __future__ import annotations

import posixpath
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import deflate

from olmkit.base.tree import File, Tree
from olmkit.oci.content import Descriptor, Digest, MediaType

# Level 6 is within 2 % of the best one on real bundles and three times as fast.
_LEVEL = 6
# ID1 ID2, deflate, no flags, no time, no extra flags, unknown system: no data of this machine.
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_BLOCK = 512
END = bytes(2 * _BLOCK)  # of an archive
_NAME_SIZE = 100  # of the name in a POSIX header


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer as stored, and the digest of its uncompressed archive."""

    descriptor: Descriptor
    diff_id: Digest
    data: bytes


def write(tree: Tree, *, mtime: int = 0) -> Layer:
    """Write `tree` as a gzip-compressed layer; `mtime` is the Unix time of all entries."""
    return compress(write_archive(tree, mtime=mtime))


def compress(archive: bytes) -> Layer:
    """Return an archive as a gzip-compressed layer."""
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
    """Write `tree` as a tar archive, each folder before its contents."""
    parts: list[bytes] = []
    for path in sorted({*tree, *_folders(tree)}):
        file = tree.get(path)
        if file is None:
            parts.append(header(f"{path}/", mode=0o755, kind=b"5", mtime=mtime))
        else:
            parts += (
                header(path, size=len(file.data), mode=mode_of(file), mtime=mtime),
                file.data,
                padding(len(file.data)),
            )
    parts.append(END)
    return b"".join(parts)


def mode_of(file: File) -> int:
    """Return the permission bits of a file in a layer."""
    return 0o755 if file.mode & 0o100 else 0o644


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
    """Return the POSIX header of one entry, owned by 0:0.

    Written here and not by `tarfile`, whose bytes differ between releases of Python.
    """
    name = path.encode("utf-8", "surrogateescape")
    extended = b""
    if len(name) > _NAME_SIZE or not name.isascii():
        record = pax_record(b"path", name)
        extended = (
            header("PaxHeaders", size=len(record), mode=0o644, kind=b"x", mtime=mtime)
            + record
            + padding(len(record))
        )
        name = b"long-name"  # readers use the previous one
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
    """Return the padding after `size` bytes of content in an archive."""
    return bytes(-size % _BLOCK)


def pax_record(key: bytes, value: bytes) -> bytes:
    """Return `LENGTH key=value` and a newline, where the length includes its own digits."""
    size = len(key) + len(value) + 3
    while len(str(size)) + len(key) + len(value) + 3 != size:
        size = len(str(size)) + len(key) + len(value) + 3
    return b"%d %s=%s\n" % (size, key, value)
