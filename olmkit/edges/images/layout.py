"""OCI layouts on disk: a folder to read and write, or one tar file to read.

Every file is complete as soon as it has its name: content is first written to a temporary file next
to it, `index.json` is replaced as a whole and under a lock, and names are added last. An
interrupted command leaves a valid layout.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tarfile
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.base.streams import closing
from olmkit.edges.disk import disk_error, open_regular, write_atomically
from olmkit.oci import archives
from olmkit.oci.content import (
    MAX_LAYOUT_INDEX_SIZE,
    MAX_MANIFEST_SIZE,
    Descriptor,
    Digest,
    ImageIndex,
    MediaType,
    parse_layout_index,
    parse_manifest,
)
from olmkit.oci.limits import ReadBudget
from olmkit.oci.store import ContentError, Opener, check_content, read_manifest

REF_NAME = "org.opencontainers.image.ref.name"
_MARKER = "oci-layout"
_INDEX = "index.json"
_VERSION = b'{"imageLayoutVersion":"1.0.0"}'
_CHUNK = 1024 * 1024
# Names of incomplete files.
_LEFTOVERS = (".olmkit-", ".part-", f".{_MARKER}.", f".{_INDEX}.")
_OLD = 3600.0  # seconds; writing a single blob never takes an hour


class _Files(Protocol):
    """The files of a layout in a folder or an archive."""

    def open(self, name: str) -> BinaryIO | None: ...


class LayoutReader:
    """A read-only `Store`; `shown` is its name in messages."""

    def __init__(self, files: _Files, shown: str) -> None:
        self._files = files
        self._shown = shown
        # A cache of the index: a mirror of a catalog has thousands of entries, and the referrers of
        # each of them are requested.
        self._entries: tuple[tuple[str, Descriptor], ...] | None = None
        self._names: dict[str, Descriptor] = {}
        self._subjects: dict[Digest, dict[Digest, Descriptor]] | None = None

    async def exists(self, descriptor: Descriptor) -> bool:
        stream = self._files.open(_blob_name(descriptor.digest))
        if stream is None:
            return False
        with stream:
            return stream.seek(0, os.SEEK_END) == descriptor.size

    async def fetch(self, descriptor: Descriptor, offset: int = 0) -> AsyncIterator[bytes]:
        stream = self._files.open(_blob_name(descriptor.digest))
        if stream is None:
            raise ContentError(
                f"layout `{self._shown}` lacks the content `{descriptor.digest}`",
                hint="the layout is incomplete: create it again",
            )
        with stream:
            for chunk in _chunks(stream, offset):
                yield chunk

    async def push(self, descriptor: Descriptor, content: Opener) -> None:  # noqa: ARG002
        raise self._read_only()

    async def tag(self, descriptor: Descriptor, tag: str) -> None:  # noqa: ARG002
        raise self._read_only()

    async def tags(self) -> tuple[str, ...]:
        return tuple(sorted({name for name, _ in self.entries() if name}))

    async def resolve(self, selector: str) -> Descriptor:
        """Return the image with a tag or digest; without either, the only one."""
        entries = self.entries()
        if not selector:
            images = {entry.digest: entry for _, entry in entries}
            if len(images) == 1:
                return next(iter(images.values()))
            raise self._select(entries)
        for name, entry in entries:
            if selector in (name, str(entry.digest)):
                return entry
        if ":" in selector and (found := self.by_digest(selector)) is not None:
            return found
        raise self._select(entries, selector)

    async def tagged(self, tag: str) -> Descriptor | None:
        """Return the descriptor of `tag`; None if the layout does not have it."""
        if not self._names:
            for name, entry in self.entries():
                self._names.setdefault(name, entry)
        return self._names.get(tag)

    async def referrers(self, subject: Digest) -> tuple[Descriptor, ...]:
        """Return the listed manifests whose subject is `subject`."""
        if self._subjects is None:
            self._subjects = await self._read_subjects()
        return tuple(self._subjects.get(subject, {}).values())

    async def _read_subjects(self) -> dict[Digest, dict[Digest, Descriptor]]:
        """Return subjects, each with the listed manifests that name it."""
        found: dict[Digest, dict[Digest, Descriptor]] = {}
        for entry in {entry.digest: entry for _, entry in self.entries()}.values():
            if not entry.is_manifest:
                continue
            manifest = await read_manifest(self, entry)
            if manifest.subject is not None:
                listed = found.setdefault(manifest.subject.digest, {})
                listed[entry.digest] = replace(entry, annotations={})
        return found

    async def attach(self, descriptor: Descriptor) -> None:  # noqa: ARG002
        raise self._read_only()

    def entries(self) -> tuple[tuple[str, Descriptor], ...]:
        """Return names and images in the layout's index, which is read once."""
        if self._entries is None:
            self._entries = self.read_entries()
        return self._entries

    def _forget(self) -> None:
        """Discard the index, so that it is read again."""
        self._entries = self._subjects = None
        self._names = {}

    def read_entries(self) -> tuple[tuple[str, Descriptor], ...]:
        """Return the same from the file itself."""
        stream = self._files.open(_INDEX)
        if stream is None:
            raise ConfigurationError(f"`{self._shown}` is not an OCI layout: it has no `{_INDEX}`")
        with stream:
            data = stream.read(MAX_LAYOUT_INDEX_SIZE + 1)
        try:
            index = parse_layout_index(data)
        except InputError as error:
            raise InputError(f"`{self._shown}/{_INDEX}`: {error.message}") from None
        return tuple((entry.annotations.get(REF_NAME, ""), entry) for entry in index.manifests)

    def by_digest(self, selector: str) -> Descriptor | None:
        """Return the manifest with a digest, which need not have a name."""
        try:
            digest = Digest.parse(selector)
        except InputError:
            return None
        stream = self._files.open(_blob_name(digest))
        if stream is None:
            return None
        with stream:
            data = stream.read(MAX_MANIFEST_SIZE + 1)
        if not digest.matches(data):
            raise ContentError(f"content `{digest}` in layout `{self._shown}` is damaged")
        return Descriptor(media_type=parse_manifest(data).media_type, digest=digest, size=len(data))

    def _select(
        self, entries: tuple[tuple[str, Descriptor], ...], selector: str = ""
    ) -> ConfigurationError:
        names = [name or str(entry.digest) for name, entry in entries]
        shown = ", ".join(f"`{name}`" for name in sorted(set(names))[:20])
        if selector:
            message = f"layout `{self._shown}` has no image `{selector}`"
        elif names:
            message = f"layout `{self._shown}` has several images"
        else:
            message = f"layout `{self._shown}` has no image"
        return ConfigurationError(message, hint=f"it has {shown}" if names else "")

    def _read_only(self) -> ConfigurationError:
        return ConfigurationError(f"`{self._shown}` is read-only")


class Layout(LayoutReader):
    """A `Store` for an OCI layout folder, which is created by the first push."""

    def __init__(self, folder: Path) -> None:
        super().__init__(_Folder(folder), str(folder))
        self.folder = folder
        # Written but perhaps not yet on disk: this is ensured once, before a name is added.
        self._pending: list[Path] = []

    async def push(self, descriptor: Descriptor, content: Opener) -> None:
        path = self.folder / _blob_name(descriptor.digest)
        try:
            self._prepare()
            with temporary(path, durable=False) as stream:
                async with closing(check_content(descriptor, content(0))) as chunks:
                    async for chunk in chunks:
                        stream.write(chunk)
            self._pending.append(path)
        except OSError as error:
            raise disk_error(path, error) from error

    async def tag(self, descriptor: Descriptor, tag: str) -> None:
        """Let `tag` refer to an image; with an empty tag, list the image without a name."""
        await self.tag_all({tag: descriptor})

    async def tag_all(self, names: Mapping[str, Descriptor]) -> None:
        """Let each name refer to an image, in one change of the index."""
        path = self.folder / _INDEX
        try:
            self._prepare()
            self._settle()
            with _lock(self.folder):
                _sweep(self.folder)
                self._forget()  # another process may have written it
                entries = list(self.entries()) if path.exists() else []
                kept = [
                    entry
                    for name, entry in entries
                    if name not in names or (not name and entry.digest != names[name].digest)
                ]
                named = [
                    replace(descriptor, annotations={REF_NAME: tag} if tag else {})
                    for tag, descriptor in names.items()
                ]
                index = ImageIndex(
                    media_type=MediaType.OCI_INDEX,
                    manifests=tuple(sorted([*kept, *named], key=_index_order)),
                )
                data = index.format()
                if not path.exists() or path.read_bytes() != data:
                    write_atomically(path, data)
                self._forget()
        except OSError as error:
            raise disk_error(path, error) from error

    def is_there(self) -> bool:
        """Return whether the folder is already a layout."""
        return (self.folder / _INDEX).exists()

    async def attach(self, descriptor: Descriptor) -> None:
        """Add a manifest to the index without a name, unless it is already listed."""
        if all(entry.digest != descriptor.digest for _, entry in self.entries()):
            await self.tag(descriptor, "")

    def _settle(self) -> None:
        """Wait until all pushed files are on disk."""
        while self._pending:
            with self._pending[-1].open("rb") as stream:
                os.fsync(stream.fileno())
            self._pending.pop()

    def _prepare(self) -> None:
        marker = self.folder / _MARKER
        if marker.exists():
            return
        if (self.folder / _INDEX).exists() or _is_other_folder(self.folder):
            raise ConfigurationError(
                f"`{self.folder}` is a folder with other content, not an OCI layout",
                hint="name an empty or a new folder",
            )
        (self.folder / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)
        write_atomically(marker, _VERSION)


def open_archive(path: Path) -> LayoutReader:
    """Return an OCI layout in a tar file, read in place."""
    return LayoutReader(Archive(path), str(path))


class Archive:
    """The regular files of an uncompressed tar archive, by name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._members = _archive_members(path)

    def open(self, name: str) -> BinaryIO | None:
        place = self._members.get(name)
        return None if place is None else cast("BinaryIO", _Window(self._path, *place))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._members)

    def place(self, name: str) -> tuple[int, int] | None:
        """Return the offset and size of a file; for a link, those of its target."""
        return self._members.get(name)


class _Folder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, name: str) -> BinaryIO | None:
        path = self._folder / name
        try:
            return open_regular(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise disk_error(path, error) from error


class _Window:
    """A part of a file as a separate file, with only the methods that readers of layouts need."""

    def __init__(self, path: Path, start: int, size: int) -> None:
        self._stream = open_regular(path)
        self._start = start
        self._size = size
        self._position = 0

    def read(self, size: int = -1, /) -> bytes:
        left = max(self._size - self._position, 0)
        self._stream.seek(self._start + self._position)
        data = self._stream.read(left if size < 0 else min(size, left))
        self._position += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> _Window:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _archive_members(path: Path) -> dict[str, tuple[int, int]]:
    members: dict[str, tuple[int, int]] = {}
    try:
        with open_regular(path) as stream:
            if stream.read(2) == b"\x1f\x8b":
                raise InputError(
                    f"`{path}` is compressed", hint=f"unpack it first: `gunzip {path.name}`"
                )
            stream.seek(0)
            shown = f"archive `{path}`"
            for entry in archives.members(stream, shown, ReadBudget()):
                archives.check_length(entry.name, shown)
                if entry.isreg():
                    members[entry.name.removeprefix("./")] = (entry.offset_data, entry.size)
                elif entry.issym():
                    archives.check_length(entry.linkname, shown)
                    _add_link(members, entry)
    except FileNotFoundError:
        raise ConfigurationError(f"`{path}` does not exist") from None
    except IsADirectoryError:
        raise InputError(f"`{path}` is a folder, not an archive") from None
    except OSError as error:
        raise disk_error(path, error) from error
    return members


def _add_link(members: dict[str, tuple[int, int]], entry: tarfile.TarInfo) -> None:
    """Add a link: older `docker save` links equal layers; only links to earlier files count."""
    folder = os.path.dirname(entry.name)  # noqa: PTH120 - a name in an archive, not on the disk
    target = os.path.normpath(os.path.join(folder, entry.linkname))  # noqa: PTH118 - as above
    if target in members:
        members[entry.name.removeprefix("./")] = members[target]


def _blob_name(digest: Digest) -> str:
    return f"blobs/{digest.algorithm}/{digest.encoded}"


def _index_order(entry: Descriptor) -> tuple[str, str]:
    return (entry.annotations.get(REF_NAME, ""), str(entry.digest))


def _is_other_folder(folder: Path) -> bool:
    return folder.is_dir() and any(
        path.name != "blobs" and not path.name.startswith(_LEFTOVERS) for path in folder.iterdir()
    )


def _sweep(folder: Path) -> None:
    """Remove files of killed commands that are so old that no process writes them."""
    now = time.time()
    for place in (folder, folder / "blobs" / "sha256"):
        for path in place.iterdir():
            if path.name.startswith(_LEFTOVERS):
                with contextlib.suppress(OSError):
                    if now - path.stat().st_mtime > _OLD:
                        path.unlink()


def _chunks(stream: BinaryIO, offset: int) -> Iterator[bytes]:
    try:
        stream.seek(offset)
        while chunk := stream.read(_CHUNK):
            yield chunk
    except OSError as error:
        raise RemoteError(f"cannot read a layout: {(error.strerror or '').lower()}") from error


@contextlib.contextmanager
def temporary(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Create a file that gets its name when it is complete and, with `durable`, on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Allow only one process at a time; the lock ends with the process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
