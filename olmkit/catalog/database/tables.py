"""The rows of an index database as values.

The form of these databases changed thirteen times. A part that an old database does not have is
None here; `olmkit.catalog.database.history` computes it from the existing parts. Columns that no
catalog needs are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PackageRow:
    """A package and the name of its default channel."""

    name: str
    default_channel: str


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """A channel and its head."""

    name: str
    package: str
    head: str


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One edge of the graph: a bundle in a channel, and the entry that it replaces or skips.

    `depth` is the distance from the head of the channel.
    """

    id: int
    channel: str
    package: str
    bundle: str
    replaces: int | None
    depth: int | None


@dataclass(frozen=True, slots=True)
class BundleRow:
    """A bundle. `csv` is JSON text, `manifests` are JSON objects one after the other.

    Both are NULL for a bundle with an image that is not the head of a channel.
    """

    name: str | None
    csv: str | None = field(repr=False)
    manifests: str | None = field(repr=False)
    image: str | None
    version: str | None
    skip_range: str | None


@dataclass(frozen=True, slots=True)
class PropertyRow:
    """A property or a dependency of a bundle; `value` is JSON text."""

    bundle: str
    type: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ApiRow:
    """An API of a bundle, or in older databases of an entry, with the number `entry`."""

    bundle: str
    entry: int | None
    group: str
    version: str
    kind: str


@dataclass(frozen=True, slots=True)
class ImageRow:
    """An image that a bundle uses."""

    bundle: str
    image: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTables:
    """All rows of an index database, in the order of reading."""

    packages: tuple[PackageRow, ...] = ()
    channels: tuple[ChannelRow, ...] = ()
    entries: tuple[EntryRow, ...] = ()
    bundles: tuple[BundleRow, ...] = ()
    properties: tuple[PropertyRow, ...] | None = ()
    dependencies: tuple[PropertyRow, ...] | None = ()
    related_images: tuple[ImageRow, ...] | None = ()
    provided: tuple[ApiRow, ...] = ()
    required: tuple[ApiRow, ...] | None = ()
    has_images: bool = True
    has_versions: bool = True
