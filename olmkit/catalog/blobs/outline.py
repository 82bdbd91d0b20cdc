"""Blobs of the four OLM schemas as values, without large data.

An outline has the parts of a blob that the model, the rules and the graph need, and the place of
the blob. Inlined manifests, icons and descriptions are left out: the outline of a catalog of 100 MB
has a few MB. `olmkit.catalog.blobs.outline_reader` reads outlines from files without loading whole
files into memory.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from olmkit.base.diagnostics import Location
from olmkit.base.documents import Document, Key
from olmkit.base.json import text as json_text
from olmkit.base.tree import Tree
from olmkit.catalog.blobs import blob as blobs_
from olmkit.catalog.blobs import icons, properties, stream, wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.icons import Icon
from olmkit.catalog.blobs.properties import Properties
from olmkit.catalog.blobs.shapes import ABSENT


class BlobPlace(Protocol):
    """The place of a blob, with details on request."""

    @property
    def path(self) -> str:
        """Return the file; empty if the blob was created in memory."""

    @property
    def index(self) -> int:
        """Return the number of the blob in its file."""

    def at(self, *keys: Key) -> Location:
        """Return the place of the value under `keys`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageOutline:
    """An `olm.package`."""

    name: str
    default_channel: str
    icon: Icon | None
    place: BlobPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryOutline:
    """One entry of an `olm.channel`."""

    name: str
    replaces: str = ""
    skips: tuple[str, ...] = ()
    skip_range: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelOutline:
    """An `olm.channel`."""

    name: str
    package: str
    entries: tuple[EntryOutline, ...]
    place: BlobPlace


@dataclass(frozen=True, slots=True)
class RelatedImage:
    name: str
    image: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleOutline:
    """An `olm.bundle`."""

    name: str
    package: str
    image: str
    properties: Properties
    related_images: tuple[RelatedImage, ...]
    place: BlobPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class DeprecationOutline:
    """One entry of `olm.deprecations`: the schema and name of its subject, and the message."""

    schema: str
    name: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeprecationsOutline:
    """An `olm.deprecations`."""

    package: str
    entries: tuple[DeprecationOutline, ...]
    place: BlobPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomOutline:
    """A blob of any other schema."""

    schema: str
    package: str
    name: str
    place: BlobPlace


Outline = PackageOutline | ChannelOutline | BundleOutline | DeprecationsOutline | CustomOutline


class Files:
    """Files of which parts are read again if a place in them is needed."""

    __slots__ = ("_document", "_tree", "_where")

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._where: FilePlace | None = None
        self._document: Document | None = None

    def document(self, place: FilePlace) -> Document:
        """Return the document at a place; the last one is cached, as findings come in clusters."""
        if self._where != place or self._document is None:
            self._where = place
            self._document = Document(None, path=place.path, data=self.text(place))
        return self._document

    def text(self, place: FilePlace) -> bytes:
        return self._tree.part(place.path, place.start, place.end)


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A range of bytes of a file that is not in memory; it starts in `line`, from 0."""

    path: str
    index: int
    start: int
    end: int
    line: int
    column: int
    files: Files

    def at(self, *keys: Key) -> Location:
        found = self.files.document(self).at(*keys)
        if found.line is None or found.end_line is None:
            return found
        return found._replace(
            line=found.line + self.line,
            column=_shift_column(found.line, found.column, self.column),
            end_line=found.end_line + self.line,
            end_column=_shift_column(found.end_line, found.end_column, self.column),
        )

    def blob(self) -> Blob:
        """Return the blob itself, read again."""
        text = self.files.text(self)
        part = next(stream.read(text, self.path, check=blobs_.identify, report=lambda _: None))
        return blobs_.parse_part(part)


def _shift_column(line: int, column: int | None, by: int) -> int | None:
    """Shift the column of a place in the first line, where the text does not start at column 0."""
    return column + by if column is not None and line == 1 else column


def blob_at(place: BlobPlace) -> Blob:
    """Return the blob at this place."""
    match place:
        case Blob():
            return place
        case FilePlace():
            return place.blob()
        case _:
            raise TypeError(f"{place!r} does not exist")


def outline_blobs(blobs: Iterable[Blob]) -> Iterator[Outline]:
    return map(outline_blob, blobs)


def outline_blob(blob: Blob, place: BlobPlace | None = None) -> Outline:
    """Return the outline of one blob; `place` is used if the blob has no place itself.

    Raises `InputError` if a field has a wrong type.
    """
    place = blob if place is None else place
    if blob.schema not in wire.SHAPES:
        return CustomOutline(schema=blob.schema, package=blob.package, name=blob.name, place=place)
    fields = blob.fields
    match blob.schema:
        case wire.PACKAGE:
            return PackageOutline(
                name=fields["name"],
                default_channel=fields["defaultChannel"],
                icon=_icon(fields["icon"]),
                place=place,
            )
        case wire.CHANNEL:
            return ChannelOutline(
                name=fields["name"],
                package=fields["package"],
                entries=tuple(_entry(entry) for entry in fields["entries"] or ()),
                place=place,
            )
        case wire.BUNDLE:
            return BundleOutline(
                name=fields["name"],
                package=fields["package"],
                image=fields["image"],
                properties=_properties(blob, fields),
                related_images=tuple(
                    RelatedImage(item["name"], item["image"])
                    for item in fields["relatedImages"] or ()
                ),
                place=place,
            )
        case _:
            return DeprecationsOutline(
                package=fields["package"],
                entries=tuple(
                    DeprecationOutline(
                        schema=entry["reference"]["schema"],
                        name=entry["reference"]["name"],
                        message=entry["message"],
                    )
                    for entry in fields["entries"] or ()
                ),
                place=place,
            )


def _entry(entry: dict[str, Any]) -> EntryOutline:
    return EntryOutline(
        name=entry["name"],
        replaces=entry["replaces"],
        skips=tuple(entry["skips"] or ()),
        skip_range=entry["skipRange"],
    )


def _icon(state: dict[str, Any] | None) -> Icon | None:
    if state is None:
        return None
    return icons.from_data(base64.b64decode(state["base64data"] or ""), state["mediatype"])


def _properties(blob: Blob, fields: dict[str, Any]) -> Properties:
    found = fields["properties"] or ()
    for index, item in enumerate(found):
        if item["type"] == properties.OBJECT:
            blobs_.bundle_object(blob, fields, index)
    return properties.parse(
        (
            (
                item["type"],
                None
                if item["value"] is ABSENT
                else json_text.compact(item["value"], escape_html=False),
            )
            for item in found
        ),
        check_object=lambda _: None,
    )
