"""Hash a folder like opm: FNV-1a of the tar archive that Go's `archive/tar` writes.

The bytes follow https://pkg.go.dev/archive/tar for headers without owner and time: USTAR if the
name fits, else PAX.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from olmkit.base.tree import Tree
from olmkit.oci import layer as layers

_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MASK: Final = (1 << 64) - 1
_NAME, _PREFIX = 100, 155
_FOLDER_MODE: Final = 0o755


def checksum(pieces: Iterable[bytes]) -> int:
    """Return the 64-bit FNV-1a hash (http://www.isthe.com/chongo/tech/comp/fnv/)."""
    value, prime, mask = _OFFSET, _PRIME, _MASK
    for piece in pieces:
        # Archives are padded with zeros, and each of them only multiplies.
        text = piece.rstrip(b"\0")
        for byte in text:
            value = ((value ^ byte) * prime) & mask
        value = value * pow(prime, len(piece) - len(text), mask + 1) & mask
    return value


def write(tree: Tree) -> Iterator[bytes]:
    """Yield the archive of a folder with the files of `tree` and the modes of a layer."""
    yield _header(".", _FOLDER_MODE, 0, folder=True)
    known: set[str] = set()
    # Names are compared folder by folder: `a/b` comes before `a.b`.
    for path in sorted(tree, key=lambda path: path.split("/")):
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            if folder not in known:
                known.add(folder)
                yield _header(folder, _FOLDER_MODE, 0, folder=True)
        chunks = list(tree.chunks(path))
        size = sum(map(len, chunks))
        yield _header(path, layers.mode_of(tree[path]), size, folder=False)
        yield from chunks
        yield layers.padding(size)
    yield layers.END


def _header(path: str, mode: int, size: int, *, folder: bool) -> bytes:
    name = path.encode("utf-8", "surrogateescape")
    kind = b"5" if folder else b"0"
    if len(name) <= _NAME and name.isascii():
        return _block(name, mode, size, kind)
    split = _split(name)
    if split is not None:
        return _block(split[1], mode, size, kind, prefix=split[0])
    record = layers.pax_record(b"path", name)
    parent, _, last = name.rpartition(b"/")
    title = b"/".join(part for part in (parent, b"PaxHeaders.0", last) if part)
    extended = _block(_ascii(title)[:_NAME].rstrip(b"/"), 0, len(record), b"x", devices=False)
    main = _block(_ascii(name)[:_NAME], mode, size, kind)
    return extended + record + layers.padding(len(record)) + main


def _split(name: bytes) -> tuple[bytes, bytes] | None:
    """Return prefix and name of a USTAR header; None if the name does not fit."""
    if not name.isascii():
        return None
    prefix, slash, _rest = name[: _PREFIX + 1].rpartition(b"/")
    last = name[len(prefix) + 1 :]
    if not slash or not prefix or not last or len(last) > _NAME or len(prefix) > _PREFIX:
        return None
    return prefix, last


def _ascii(name: bytes) -> bytes:
    return bytes(byte for byte in name if 0 < byte < 0x80)


def _block(
    name: bytes, mode: int, size: int, kind: bytes, *, prefix: bytes = b"", devices: bool = True
) -> bytes:
    device = b"%07o\0" % 0 if devices else bytes(8)
    fields = b"".join(
        (
            name.ljust(_NAME, b"\0"),
            b"%07o\0" % mode,
            b"%07o\0" % 0,
            b"%07o\0" % 0,
            b"%011o\0" % size,
            b"%011o\0" % 0,
            b" " * 8,
            kind,
            bytes(100),
            b"ustar\00000",
            bytes(64),
            device,
            device,
            prefix,
        )
    ).ljust(512, b"\0")
    return fields[:148] + b"%06o\0 " % sum(fields) + fields[156:]
