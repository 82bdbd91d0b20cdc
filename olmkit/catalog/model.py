"""The model of a catalog: packages with channels, channels with entries, entries with bundles.

The model is built from everything that could be read, valid or not, so that rules can report all
errors at once. If two blobs have the same name, the first counts; blobs without a place in the
model are only in `Catalog.outlines`. A catalog is valid if `olmkit.rules.catalogs` finds no error
in it; serving and resolving check that first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from olmkit.base.diagnostics import InputError
from olmkit.base.names import similar_package
from olmkit.base.versions import BuildRelease, InvalidVersionError, Version, VersionRelease
from olmkit.catalog.blobs import outline, wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.outline import (
    BlobPlace,
    BundleOutline,
    ChannelOutline,
    CustomOutline,
    DeprecationsOutline,
    EntryOutline,
    Outline,
    PackageOutline,
    RelatedImage,
)
from olmkit.catalog.blobs.properties import Properties

_MOST_NAMED = 9  # maximum number of names in a hint

NO_VERSION = VersionRelease(Version(0, 0, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A bundle of a package. `version` is None if it is missing or invalid."""

    name: str
    package: str
    image: str
    version: VersionRelease | None
    properties: Properties
    related_images: tuple[RelatedImage, ...]
    deprecation: str | None
    place: BlobPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A bundle in a channel, and its upgrade edges. `bundle` is None if it is missing."""

    name: str
    replaces: str
    skips: tuple[str, ...]
    skip_range: str
    bundle: Bundle | None
    index: int

    @property
    def version(self) -> VersionRelease:
        """Return the bundle's version; 0.0.0 if there is none."""
        return (self.bundle.version if self.bundle else None) or NO_VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A channel; entries in the order of the file, the first of each name."""

    name: str
    package: str
    entries: Mapping[str, Entry]
    deprecation: str | None
    place: BlobPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package; channels and bundles by name, in the order of the files."""

    name: str
    default_channel: str
    channels: Mapping[str, Channel]
    bundles: Mapping[str, Bundle]
    deprecation: str | None
    place: BlobPlace

    def bundle(self, named: str) -> Bundle | None:
        """Return the bundle of that name, else the first by name with that version."""
        wanted = Version.read(named)
        found = self.bundles.get(named)
        if found is not None or wanted is None:
            return found
        of_version = (
            bundle
            for _, bundle in sorted(self.bundles.items())
            if bundle.version is not None and str(bundle.version.version) == str(wanted)
        )
        return next(of_version, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlines:
    """Everything that was read, each kind in the order of the files."""

    packages: tuple[PackageOutline, ...] = ()
    channels: tuple[ChannelOutline, ...] = ()
    bundles: tuple[BundleOutline, ...] = ()
    deprecations: tuple[DeprecationsOutline, ...] = ()
    customs: tuple[CustomOutline, ...] = ()


@dataclass(frozen=True)
class Catalog:
    """The packages by name, in the order of the files, and their blobs."""

    packages: Mapping[str, Package]
    outlines: Outlines = field(default=Outlines(), kw_only=True)

    def chosen(self, name: str = "") -> tuple[Package, ...]:
        """Return the packages by name, or only the one with `name`, or raise `InputError`."""
        if not name:
            return tuple(package for _, package in sorted(self.packages.items()))
        if name not in self.packages:
            raise InputError(f"package `{name}` not found", self.hint_for(name))
        return (self.packages[name],)

    def hint_for(self, missing: str) -> str:
        """Return a hint for the name of a package that the catalog does not have."""
        near = similar_package(missing, self.packages)
        if near:
            return f"did you mean `{near}`?"
        if len(self.packages) > _MOST_NAMED:
            return "run `olmkit catalog list packages` with the catalog to see its packages"
        return f"the catalog has {', '.join(f'`{one}`' for one in sorted(self.packages)) or 'none'}"

    @cached_property
    def entries_of(self) -> Mapping[tuple[str, str], tuple[Channel, ...]]:
        """Return the channels with an entry for a bundle, by package and bundle name."""
        found: dict[tuple[str, str], list[Channel]] = {}
        for package in self.packages.values():
            for channel in package.channels.values():
                for name in channel.entries:
                    found.setdefault((package.name, name), []).append(channel)
        return {key: tuple(channels) for key, channels in found.items()}


def from_blobs(blobs: Iterable[Blob]) -> Catalog:
    """Return the model of blobs. Raises `InputError` if a field has a wrong type."""
    return build(outline.outline_blobs(blobs))


def build(outlines: Iterable[Outline]) -> Catalog:
    """Return the model of outlines."""
    read = _group_by_kind(outlines)
    messages = _Messages(read.deprecations)
    bundles: dict[str, dict[str, Bundle]] = {}
    for found in read.bundles:
        of_package = bundles.setdefault(found.package, {})
        if found.name not in of_package:
            of_package[found.name] = _bundle(found, messages)
    channels: dict[str, dict[str, Channel]] = {}
    for written in read.channels:
        in_package = channels.setdefault(written.package, {})
        if written.name not in in_package:
            in_package[written.name] = _channel(written, bundles.get(written.package, {}), messages)
    packages: dict[str, Package] = {}
    for package in read.packages:
        if not package.name or package.name in packages:
            continue
        packages[package.name] = Package(
            name=package.name,
            default_channel=package.default_channel,
            channels=channels.get(package.name, {}),
            bundles=bundles.get(package.name, {}),
            deprecation=messages.of(package.name, wire.PACKAGE, ""),
            place=package.place,
        )
    return Catalog(packages, outlines=read)


def version_of(properties: Properties) -> VersionRelease | None:
    """Return the version in a bundle's only `olm.package` property; None if there is none."""
    if len(properties.identities) != 1:
        return None
    identity = properties.identities[0]
    try:
        return VersionRelease(
            Version.parse(identity.version),
            BuildRelease.parse(identity.release) if identity.release else None,
        )
    except InvalidVersionError:
        return None


class _Messages:
    """Deprecation messages by package, schema and name; the last of several counts."""

    def __init__(self, found: Iterable[DeprecationsOutline]) -> None:
        self._messages = {
            (blob.package, entry.schema, entry.name): entry.message
            for blob in found
            for entry in blob.entries
        }

    def of(self, package: str, schema: str, name: str) -> str | None:
        return self._messages.get((package, schema, name))


def _bundle(found: BundleOutline, messages: _Messages) -> Bundle:
    return Bundle(
        name=found.name,
        package=found.package,
        image=found.image,
        version=version_of(found.properties),
        properties=found.properties,
        related_images=found.related_images,
        deprecation=messages.of(found.package, wire.BUNDLE, found.name),
        place=found.place,
    )


def _channel(found: ChannelOutline, bundles: Mapping[str, Bundle], messages: _Messages) -> Channel:
    entries: dict[str, Entry] = {}
    for index, entry in enumerate(found.entries):
        if entry.name not in entries:
            entries[entry.name] = _entry(entry, bundles.get(entry.name), index)
    return Channel(
        name=found.name,
        package=found.package,
        entries=entries,
        deprecation=messages.of(found.package, wire.CHANNEL, found.name),
        place=found.place,
    )


def _entry(found: EntryOutline, bundle: Bundle | None, index: int) -> Entry:
    return Entry(
        name=found.name,
        replaces=found.replaces,
        skips=found.skips,
        skip_range=found.skip_range,
        bundle=bundle,
        index=index,
    )


def _group_by_kind(outlines: Iterable[Outline]) -> Outlines:
    packages: list[PackageOutline] = []
    channels: list[ChannelOutline] = []
    bundles: list[BundleOutline] = []
    deprecations: list[DeprecationsOutline] = []
    customs: list[CustomOutline] = []
    for found in outlines:
        match found:
            case PackageOutline():
                packages.append(found)
            case ChannelOutline():
                channels.append(found)
            case BundleOutline():
                bundles.append(found)
            case DeprecationsOutline():
                deprecations.append(found)
            case CustomOutline():
                customs.append(found)
    return Outlines(
        packages=tuple(packages),
        channels=tuple(channels),
        bundles=tuple(bundles),
        deprecations=tuple(deprecations),
        customs=tuple(customs),
    )
