"""Tables of the packages, channels and bundles of a catalog.

The rows and their order are those of `opm alpha list`, whose text scripts read.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from olmkit.base.version_constraints import VersionConstraint
from olmkit.catalog import inlined
from olmkit.catalog.graph import links as graph
from olmkit.catalog.model import Bundle, Catalog, Channel, Entry, Package
from olmkit.kube.objects import mapping
from olmkit.kube.objects import text as text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """The filter of a list: name patterns with `*` and `?`, and a version range.

    Without patterns all names match. `heads` and `deprecated` restrict the list to such entries.
    """

    packages: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    versions: VersionConstraint | None = None
    heads: bool = False
    deprecated: bool = False

    def packages_of(self, catalog: Catalog, name: str) -> Iterator[Package]:
        """Return the matching packages, or the one with `name`."""
        return (one for one in catalog.chosen(name) if fits(one.name, self.packages))

    def channels_of(self, package: Package) -> Iterator[Channel]:
        """Yield the matching channels, by name."""
        for name, channel in sorted(package.channels.items()):
            if fits(name, self.channels):
                yield channel

    def has(self, entry: Entry, head: Entry | None) -> bool:
        """Return whether an entry of a channel with that head is listed."""
        bundle = entry.bundle
        if self.heads and (head is None or entry.name != head.name):
            return False
        if self.deprecated and (bundle is None or bundle.deprecation is None):
            return False
        return self.versions is None or (
            bundle is not None
            and bundle.version is not None
            and bundle.version.version in self.versions
        )


ALL: Final = Filter()


def fits(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a name matches one of the patterns, or there are none."""
    return not patterns or any(fnmatch.fnmatchcase(name, one) for one in patterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageRow:
    """`display_name` is that of the default channel's head, if the catalog inlines it."""

    name: str
    display_name: str
    default_channel: str
    channels: int = 0
    bundles: int = 0
    deprecation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelRow:
    package: str
    channel: str
    head: str
    is_default: bool = False
    entries: int = 0
    deprecation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleRow:
    package: str
    channel: str
    bundle: str
    replaces: str
    skips: tuple[str, ...]
    skip_range: str
    image: str
    version: str = ""
    is_head: bool = False
    deprecation: str = ""


def packages(catalog: Catalog, name: str = "", filter_: Filter = ALL) -> Iterator[PackageRow]:
    """Yield each package, by name; only the one with `name` if it is given."""
    for package in filter_.packages_of(catalog, name):
        if filter_.deprecated and package.deprecation is None:
            continue
        channel = package.channels.get(package.default_channel)
        head = graph.head(channel) if channel else None
        yield PackageRow(
            name=package.name,
            display_name=_display_name(head.bundle) if head and head.bundle else "",
            default_channel=package.default_channel,
            channels=len(package.channels),
            bundles=len(package.bundles),
            deprecation=package.deprecation or "",
        )


def channels(catalog: Catalog, package: str = "", filter_: Filter = ALL) -> Iterator[ChannelRow]:
    """Yield each channel, by package and name."""
    for found in filter_.packages_of(catalog, package):
        for channel in filter_.channels_of(found):
            if filter_.deprecated and channel.deprecation is None:
                continue
            head = graph.head(channel)
            yield ChannelRow(
                package=found.name,
                channel=channel.name,
                head=head.name if head else "",
                is_default=channel.name == found.default_channel,
                entries=len(channel.entries),
                deprecation=channel.deprecation or "",
            )


def bundles(
    catalog: Catalog, package: str = "", filter_: Filter = ALL, *, by_version: bool = False
) -> Iterator[BundleRow]:
    """Return all entries by package, channel and bundle, or with the newest version first."""
    for found in filter_.packages_of(catalog, package):
        for channel in filter_.channels_of(found):
            head = graph.head(channel)
            for entry in _sort_entries(channel, by_version=by_version):
                bundle = entry.bundle
                if filter_.has(entry, head):
                    yield BundleRow(
                        package=found.name,
                        channel=channel.name,
                        bundle=entry.name,
                        replaces=entry.replaces,
                        skips=entry.skips,
                        skip_range=entry.skip_range,
                        image=bundle.image if bundle else "",
                        version=str(bundle.version) if bundle and bundle.version else "",
                        is_head=head is not None and entry.name == head.name,
                        deprecation=(bundle.deprecation or "") if bundle else "",
                    )


def _sort_entries(channel: Channel, *, by_version: bool) -> Sequence[Entry]:
    if by_version:
        return graph.sort_by_version(channel.entries)
    return [entry for _, entry in sorted(channel.entries.items())]


def text(header: tuple[str, ...], rows: Iterable[tuple[str, ...]], *, trimmed: bool = False) -> str:
    """Format columns two spaces apart, the last one ragged; `trimmed` removes outer spaces."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) + 2 for column in range(len(header) - 1)]
    padded = (
        "".join(f"{cell:<{width}}" for cell, width in zip(line, (*widths, 0), strict=True))
        for line in lines
    )
    return "".join(f"{line.rstrip() if trimmed else line}\n" for line in padded)


def _display_name(bundle: Bundle) -> str:
    """Return the display name of the inlined CSV of a bundle; empty if there is none."""
    csv = inlined.csv(bundle)
    return text_of(mapping((csv or {}).get("spec")).get("displayName"))
