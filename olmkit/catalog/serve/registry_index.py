"""The index of a served catalog, and the stored parts of messages.

The index is small and kept in memory: names, edges, APIs, and the positions of the pieces of each
bundle's message. The pieces are large, and the reader decides where they are stored. Messages of
protocol buffers can be concatenated, so the part that is equal in every channel is stored once, and
a channel's own fields are added on request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

API = tuple[str, str, str]
"""Group, version and kind."""

Read = Callable[[int, int], bytes | memoryview]
"""Returns `length` bytes of the pieces from `offset`, which are valid until the next call."""

FORMAT: Final = 1
"""Increased when the index, the pieces or the meaning of either changes."""


# Structs and not dataclasses: thousands are decoded at start, as arrays and without overhead for
# the garbage collector.
class BundleRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The positions of the pieces of one bundle, and what can be queried without reading them.

    The pieces are one after the other from `offset`: `brief` bytes of small fields, `objects` bytes
    of inlined manifests, and up to `length` the CSV's text if it is not one of the manifests. The
    CSV's text is the `csv_length` bytes from `offset + csv_start`.
    """

    name: str
    has_image: bool
    provided: tuple[API, ...]
    offset: int
    brief: int
    objects: int
    length: int
    csv_start: int
    csv_length: int


class EntryRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One bundle in one channel; `bundle` counts the bundles of the package."""

    bundle: int
    replaces: str
    skips: tuple[str, ...]
    skip_range: str


class ChannelRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One channel; entries by bundle name."""

    name: str
    head: str
    deprecation: str | None
    entries: tuple[EntryRecord, ...]


class PackageRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One package; channels by name."""

    name: str
    default_channel: str
    deprecation: str | None
    bundles: tuple[BundleRecord, ...]
    channels: tuple[ChannelRecord, ...]


class CustomRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The position of one blob of a schema that is not OLM's own, as a `Struct` message."""

    schema: str
    package: str
    offset: int
    length: int


class Index(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A whole catalog; packages by name."""

    packages: tuple[PackageRecord, ...]
    customs: tuple[CustomRecord, ...]


def encode(index: Index) -> bytes:
    return msgspec.msgpack.encode(index)


def decode(data: bytes) -> Index:
    """Return the index of `encode`; raise `ValueError` if `data` is not one."""
    return msgspec.msgpack.decode(data, type=Index)
