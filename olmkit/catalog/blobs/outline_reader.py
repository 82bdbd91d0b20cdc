"""Read the outlines of a whole catalog file by file, with little memory.

The output of tools (a sequence of JSON objects with the usual fields) is split and decoded directly
into typed records. For anything else, the exact reader of `olmkit.catalog.blobs.fbc` reads the file
again. It supports every odd form and creates all errors, so both readers give the same result.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic, InputError, Location
from olmkit.base.json import reader as json_reader
from olmkit.base.json.reader import JsonError
from olmkit.base.tree import Tree
from olmkit.catalog.blobs import blob as blobs
from olmkit.catalog.blobs import fbc, icons, ignore, outline, properties, stream
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.fbc import Report
from olmkit.catalog.blobs.icons import Icon
from olmkit.catalog.blobs.outline import (
    BundleOutline,
    ChannelOutline,
    DeprecationOutline,
    DeprecationsOutline,
    EntryOutline,
    FilePlace,
    Files,
    Outline,
    PackageOutline,
    RelatedImage,
)
from olmkit.catalog.blobs.properties import BrokenTextError, ValueText
from olmkit.catalog.blobs.stream import Part


class _OddError(Exception):
    """The fast reader does not support this form; the exact one does."""


def load(
    tree: Tree,
    prefix: str = "",
    *,
    report: Report,
    faults: list[Diagnostic],
    keep: bool = False,
) -> Iterator[Outline]:
    """Yield the outlines of all files below `prefix`, in the order of the reference's walk.

    With `keep`, outlines from the exact reader keep the blob, for callers that need more of it and
    should not read it again.

    `report` receives oddities that are not errors. If a file cannot be read, its errors are added
    to `faults`, and the next file is read.
    """
    files = Files(tree)
    root = prefix.strip("/") + "/" if prefix.strip("/") else ""
    for path in ignore.catalog_files(tree, root):
        try:
            yield from load_file(tree, path, files=files, report=report, keep=keep)
        except InputError as error:
            faults.extend(error.diagnostics or (_unreadable(path, error),))


def load_file(
    tree: Tree, path: str, *, files: Files, report: Report, keep: bool = False
) -> Sequence[Outline]:
    """Return the outlines of one file, or raise `InputError` if a document is not a blob."""
    try:
        return list(_fast(tree.chunks(path), path, files))
    except _OddError:
        pass
    data = tree.data(path)
    if keep:
        return list(outline.outline_blobs(fbc.load_stream(data, path, report=report)))
    return list(_exact(data, path, files, report))


def _unreadable(path: str, error: InputError) -> Diagnostic:
    return findings.create(
        "FBC003",
        error.message,
        at=Location(path=path),
        hint=error.hint or "remove it, or name it in an `.indexignore` file",
    )


def _exact(data: bytes, path: str, files: Files, report: Report) -> Iterator[Outline]:
    lines = _Lines()
    for blob in fbc.load_stream(data, path, report=report):
        part = blob.place
        start, end = (part.start, part.end) if part else (0, len(data))
        line, column = lines.at(data, start)
        place = FilePlace(path, blob.index, start, end, line, column, files)
        yield _normalize(blob, place) if blob.settled else outline.outline_blob(blob, place)


def _normalize(blob: Blob, place: FilePlace) -> Outline:
    try:
        return _outline(blob.text, place)
    except (_OddError, BrokenTextError, InputError, RecursionError):
        return outline.outline_blob(blob, place)


class _Lines:
    """Counts lines incrementally, so that a file is scanned once."""

    def __init__(self) -> None:
        self._offset = 0
        self._line = 0

    def at(self, data: bytes, offset: int) -> tuple[int, int]:
        """Return line and column of a byte, from 0."""
        self._line += data.count(b"\n", self._offset, offset)
        self._offset = offset
        before = data[data.rfind(b"\n", 0, offset) + 1 : offset]
        return self._line, len(before.decode("utf-8", "replace"))


def _fast(chunks: Iterable[bytes], path: str, files: Files) -> Iterator[Outline]:
    for index, (text, start, line, column) in enumerate(_objects(chunks)):
        place = FilePlace(path, index, start, start + len(text), line, column, files)
        try:
            yield _outline(text, place)
        except (BrokenTextError, InputError, RecursionError):
            raise _OddError from None


def _objects(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, int, int, int]]:
    """Yield the objects of a JSON stream, and their start: byte, line, column, from 0.

    An indented object ends at the first closing brace that starts a line, a compact one at the end
    of its line. A wrong split results in invalid JSON, which the decoder detects.
    """
    pieces = iter(chunks)
    buffer = bytearray()
    offset = position = searched = 0  # `offset` is that of the buffer in the file
    line = line_begin = 0  # -1 between objects, until the end of a line
    found = False
    while True:
        begin = position
        position = json_reader.skip_space(buffer, begin)
        if breaks := buffer.count(b"\n", begin, position):
            line += breaks
            line_begin = offset + buffer.rfind(b"\n", begin, position) + 1
        end = _end(buffer, position, max(position, searched))
        if end < 0:
            piece = next(pieces, b"")
            if piece:
                del buffer[:position]
                offset += position
                searched, position = max(0, len(buffer) - 1), 0
                buffer += piece
                continue
            end = len(buffer)
        if position == end:
            if offset + end and not found:
                raise _OddError  # only white space, which is a document for the reference
            return
        if buffer[position] != ord("{") or line_begin < 0:
            raise _OddError
        with memoryview(buffer) as view:
            text = bytes(view[position:end])
        yield text, offset + position, line, offset + position - line_begin
        line += text.count(b"\n")
        line_begin = -1
        found = True
        position = searched = end


def _end(buffer: bytearray, position: int, searched: int) -> int:
    """Return the end of the object that starts at `position`; -1 if it is beyond the buffer."""
    if len(buffer) - position < 2:
        return -1
    if buffer[position + 1] in b"\r\n":
        end = buffer.find(b"\n}", searched)
        return end + 2 if end >= 0 else -1
    return buffer.find(b"\n", searched)


def _outline(text: bytes, place: FilePlace) -> Outline:
    try:
        found = _record.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return outline.outline_blob(_blob_of(text), place)
    match found:
        case _Bundle():
            return _bundle(found, place)
        case _Channel():
            _check_properties(found.properties)
            return ChannelOutline(
                name=found.name,
                package=found.package,
                entries=tuple(_entry(entry) for entry in found.entries or ()),
                place=place,
            )
        case _Package():
            _check_properties(found.properties)
            return PackageOutline(
                name=found.name,
                default_channel=found.default_channel or "",
                icon=_icon(found.icon),
                place=place,
            )
        case _:
            return DeprecationsOutline(
                package=found.package,
                entries=tuple(_deprecation(entry) for entry in found.entries or ()),
                place=place,
            )


def _blob_of(text: bytes) -> Blob:
    """Return a blob with fields that are not in the records, possibly of a custom schema."""
    try:
        value = json_reader.read_doubles(text)
    except JsonError:
        raise _OddError from None
    return blobs.parse_part(
        Part(value=value, path="", index=0, data=text, start=0, end=len(text), json=True)
    )


def _bundle(found: _Bundle, place: FilePlace) -> BundleOutline:
    return BundleOutline(
        name=found.name,
        package=found.package,
        image=found.image or "",
        properties=properties.parse(
            ((item.type or "", _text(item)) for item in found.properties or ()),
            check_object=_check_object,
        ),
        related_images=tuple(
            RelatedImage(item.name or "", item.image or "") for item in found.related_images or ()
        ),
        place=place,
    )


def _entry(found: _Entry) -> EntryOutline:
    return EntryOutline(
        name=found.name or "",
        replaces=found.replaces or "",
        skips=tuple(found.skips or ()),
        skip_range=found.skip_range or "",
    )


def _deprecation(found: _Deprecation) -> DeprecationOutline:
    reference = found.reference or _Reference()
    return DeprecationOutline(
        schema=reference.schema or "", name=reference.name or "", message=found.message or ""
    )


def _icon(found: _Icon | None) -> Icon | None:
    if found is None:
        return None
    return icons.from_data(_base64(found.base64data or ""), found.mediatype or "")


def _check_object(text: ValueText) -> None:
    """Accept an inlined manifest if it is JSON, whose content is not read here."""
    if text is None:
        raise _OddError
    try:
        found = _object.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _OddError from None
    if not stream.looks_like_json(_base64(found.data if found else None)):
        raise _OddError


def _check_properties(found: list[_Property] | None) -> None:
    """Check that unparsed properties are valid JSON too."""
    for item in found or ():
        text = _text(item)
        if text is not None:
            properties.check_json(text)


def _text(item: _Property) -> ValueText:
    return None if item.value is msgspec.UNSET else item.value


def _base64(text: str | None) -> bytes:
    try:
        return binascii.a2b_base64(text or "", strict_mode=True)
    except (binascii.Error, ValueError):
        raise _OddError from None


class _Record(msgspec.Struct, forbid_unknown_fields=True, rename="camel", gc=False):
    """Fields as written; unknown fields and other letter cases are left to the exact reader."""


class _Property(_Record):
    type: str | None = None
    value: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Icon(_Record):
    base64data: str | None = None
    mediatype: str | None = None


class _Entry(_Record):
    name: str | None = None
    replaces: str | None = None
    skips: list[str] | None = None
    skip_range: str | None = None


class _RelatedImage(_Record):
    name: str | None = None
    image: str | None = None


class _Reference(_Record):
    schema: str | None = None
    name: str | None = None


class _Deprecation(_Record):
    reference: _Reference | None = None
    message: str | None = None


class _Object(_Record):
    data: str | None = None


class _Package(_Record, tag_field="schema", tag="olm.package"):
    name: str = ""
    package: str = ""
    default_channel: str | None = None
    icon: _Icon | None = None
    description: str | None = None
    properties: list[_Property] | None = None


class _Channel(_Record, tag_field="schema", tag="olm.channel"):
    name: str = ""
    package: str = ""
    entries: list[_Entry] | None = None
    properties: list[_Property] | None = None


class _Bundle(_Record, tag_field="schema", tag="olm.bundle"):
    name: str = ""
    package: str = ""
    image: str | None = None
    properties: list[_Property] | None = None
    related_images: list[_RelatedImage] | None = None


class _Deprecations(_Record, tag_field="schema", tag="olm.deprecations"):
    name: str = ""
    package: str = ""
    entries: list[_Deprecation] | None = None


_record: Final = msgspec.json.Decoder(_Package | _Channel | _Bundle | _Deprecations)
_object: Final = msgspec.json.Decoder(_Object | None)
