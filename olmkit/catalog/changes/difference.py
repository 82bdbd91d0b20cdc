"""Compare two catalogs: packages, channels, entries and bundles.

Names identify objects: an object with another name is a different object. The parts of a new or
removed object are not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from olmkit.base.json import text as json_text
from olmkit.catalog import listing
from olmkit.catalog.graph import links as graph
from olmkit.catalog.model import Bundle, Catalog, Channel, Entry, Package

T = TypeVar("T")


class Noun(StrEnum):
    PACKAGE = "package"
    CHANNEL = "channel"
    ENTRY = "entry"
    BUNDLE = "bundle"


class Kind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field: its old and new text; empty if there is none."""

    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference. The most specific name identifies its subject.

    A bundle has no channel, an entry has one. `fields` are the changed fields; for a new object,
    those with relevant values.
    """

    kind: Kind
    package: str
    channel: str = ""
    entry: str = ""
    bundle: str = ""
    fields: tuple[Field, ...] = ()

    @property
    def noun(self) -> Noun:
        """Return the kind of the object that differs."""
        if self.entry:
            return Noun.ENTRY
        if self.bundle:
            return Noun.BUNDLE
        return Noun.CHANNEL if self.channel else Noun.PACKAGE

    @property
    def name(self) -> str:
        """Return the name of the object itself."""
        return self.entry or self.bundle or self.channel or self.package


def compare_catalogs(old: Catalog, new: Catalog) -> Iterator[Difference]:
    """Yield the differences by package and name: the package, its channels, its bundles."""
    for name, before, now in _pairs(old.packages, new.packages):
        change = _change(before, now, _package)
        if change is not None:
            yield Difference(kind=change[0], package=name, fields=change[1])
        if before is not None and now is not None:
            yield from _compare_channels(name, before, now)
            yield from _compare_bundles(name, before, now)


def is_in_channel(one: Difference, catalogs: Iterable[Catalog], patterns: Sequence[str]) -> bool:
    """Return whether a change is about a matching channel, or its entries or bundles."""
    if not one.bundle:
        return bool(one.channel) and listing.fits(one.channel, patterns)
    return any(
        listing.fits(channel.name, patterns)
        for catalog in catalogs
        for channel in catalog.entries_of.get((one.package, one.bundle), ())
    )


def _compare_channels(package: str, old: Package, new: Package) -> Iterator[Difference]:
    for name, before, now in _pairs(old.channels, new.channels):
        change = _change(before, now, _channel)
        if change is not None:
            yield Difference(kind=change[0], package=package, channel=name, fields=change[1])
        if before is not None and now is not None:
            for entry, was, is_now in _pairs(before.entries, now.entries):
                found = _change(was, is_now, _entry)
                if found is not None:
                    yield Difference(
                        kind=found[0],
                        package=package,
                        channel=name,
                        entry=entry,
                        fields=found[1],
                    )


def _compare_bundles(package: str, old: Package, new: Package) -> Iterator[Difference]:
    for name, before, now in _pairs(old.bundles, new.bundles):
        change = _change(before, now, _bundle)
        if change is not None:
            yield Difference(kind=change[0], package=package, bundle=name, fields=change[1])


def _pairs(old: Mapping[str, T], new: Mapping[str, T]) -> Iterator[tuple[str, T | None, T | None]]:
    for name in sorted({*old, *new}):
        yield name, old.get(name), new.get(name)


def _change(
    old: T | None, new: T | None, fields: Callable[[T], dict[str, str]]
) -> tuple[Kind, tuple[Field, ...]] | None:
    """Return the kind of difference and the changed fields; None if there is none."""
    before = {} if old is None else fields(old)
    now = {} if new is None else fields(new)
    found = tuple(
        Field(name=name, old=before.get(name, ""), new=now.get(name, ""))
        for name in dict.fromkeys((*before, *now))
        if before.get(name, "") != now.get(name, "")
    )
    if old is None:
        return Kind.ADDED, found
    if new is None:
        return Kind.REMOVED, ()
    return (Kind.CHANGED, found) if found else None


def _package(package: Package) -> dict[str, str]:
    return {
        "defaultChannel": package.default_channel,
        "deprecation": package.deprecation or "",
    }


def _channel(channel: Channel) -> dict[str, str]:
    return {"head": ", ".join(graph.heads(channel)), "deprecation": channel.deprecation or ""}


def _entry(entry: Entry) -> dict[str, str]:
    return {
        "replaces": entry.replaces,
        "skips": ", ".join(sorted(entry.skips)),
        "skipRange": entry.skip_range,
    }


def _bundle(bundle: Bundle) -> dict[str, str]:
    properties = [
        f"{type_}: {json_text.compact(value, escape_html=False).decode()}"
        for type_, value in bundle.properties
    ]
    return {
        "version": str(bundle.version or ""),
        "image": bundle.image,
        "deprecation": bundle.deprecation or "",
        "relatedImages": ", ".join(sorted({one.image for one in bundle.related_images})),
        "properties": ", ".join(sorted(properties)),
    }
