"""Blobs of the four OLM schemas as tools write them, decoded directly into typed records.

A record exists only for text with exactly the fields that tools write: correct names, correct
types, no unknown fields. `olmkit.catalog.blobs.shapes`, which supports every odd form, need not
read such a blob; the encoder writes the record like `shapes.dump`. Property values remain JSON
text.
"""

from __future__ import annotations

from typing import Final

import msgspec

from olmkit.base.json import text as json_text


class _Record(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """Fields in the order of `wire.SHAPES`; an empty field with a default is left out."""


class Property(_Record):
    type: str
    value: msgspec.Raw


class Entry(_Record):
    name: str
    replaces: str = ""
    skips: list[str] = []
    skip_range: str = ""


class RelatedImage(_Record):
    name: str
    image: str


class Reference(_Record):
    schema: str
    name: str = ""


class Deprecation(_Record):
    reference: Reference
    message: str


class Package(_Record, tag_field="schema", tag="olm.package"):
    """A package without an icon, whose base64 text the exact reader checks."""

    name: str
    default_channel: str
    description: str = ""
    properties: list[Property] = []


class Channel(_Record, tag_field="schema", tag="olm.channel"):
    name: str
    package: str
    entries: list[Entry]
    properties: list[Property] = []


class Bundle(_Record, kw_only=True, tag_field="schema", tag="olm.bundle"):
    name: str = ""
    package: str = ""
    image: str
    properties: list[Property] = []
    related_images: list[RelatedImage] = []


class Deprecations(_Record, tag_field="schema", tag="olm.deprecations"):
    package: str
    entries: list[Deprecation]


Record = Package | Channel | Bundle | Deprecations

_decoder: Final = msgspec.json.Decoder(Record)
_encoder: Final = msgspec.json.Encoder()


def read(text: bytes) -> Record | None:
    """Return the record of a blob; None for a blob of another form, which may also be valid."""
    try:
        record: Record = _decoder.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return record


def dump(record: Record) -> bytes:
    """Return the blob as one line of JSON, with its fields in the order of writing."""
    return json_text.escape_separators(_encoder.encode(record))
