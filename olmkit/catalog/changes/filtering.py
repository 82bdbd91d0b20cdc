"""A part of a catalog: some packages, channels and versions, for a mirror.

Edges of kept entries are not changed: the oldest entry may replace a removed one. For a range of
versions, a part of the chain of `replaces` is kept: from the highest entry in the range down to the
lowest, including entries between them that are not in the range.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from olmkit.base.diagnostics import InputError
from olmkit.base.version_constraints import VersionConstraint
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.graph import links as graph
from olmkit.catalog.graph import upgrades
from olmkit.catalog.model import Catalog, Channel, Entry, Package


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSelection:
    """The selection of a package: the default is all channels, and heads without a range.

    An empty `package` means all packages of the catalog. `bundles`: exactly these. `is_full`: all
    versions. `default_channel` replaces one that is not kept.
    """

    package: str
    default_channel: str = ""
    range: VersionConstraint | None = None
    channels: Mapping[str, VersionConstraint | None] = field(default_factory=dict)
    bundles: tuple[str, ...] = ()
    is_full: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The selected entries of a package by channel. `extra` are between requested versions."""

    default_channel: str
    channels: Mapping[str, frozenset[str]]
    extra: tuple[str, ...] = ()

    @property
    def bundles(self) -> frozenset[str]:
        return frozenset(name for names in self.channels.values() for name in names)


def parts(catalog: Catalog, selections: Iterable[PackageSelection]) -> dict[str, Part]:
    """Return the selected bundles by package.

    Raises `InputError` for a missing package, channel or bundle, for a channel without an order,
    and if no default channel remains.
    """
    return {
        package.name: _part(package, one)
        for one in selections
        for package in catalog.chosen(one.package)
    }


def filter_blobs(blobs: Iterable[Blob], by_package: Mapping[str, Part]) -> Iterator[Blob]:
    """Yield the blobs of the parts; blobs without a package are kept."""
    for blob in blobs:
        package = blob.name if blob.schema == "olm.package" else blob.package
        part = by_package.get(package)
        if not package:
            yield blob
        elif part is not None:
            found = _filter_blob(blob, part)
            if found is not None:
                yield found


def _part(package: Package, selection: PackageSelection) -> Part:
    missing = [name for name in selection.channels if name not in package.channels]
    if missing:
        available = ", ".join(f"`{name}`" for name in sorted(package.channels))
        raise InputError(
            f"package `{package.name}` has no channel `{missing[0]}`", hint=f"it has {available}"
        )
    unknown = [name for name in selection.bundles if name not in package.bundles]
    if unknown:
        raise InputError(f"package `{package.name}` has no bundle `{unknown[0]}`")
    extra: dict[str, None] = {}
    channels: dict[str, frozenset[str]] = {}
    for name in selection.channels or package.channels:
        channel = package.channels[name]
        range_ = selection.channels.get(name) or selection.range
        if selection.bundles:
            names = frozenset(channel.entries).intersection(selection.bundles)
        elif range_ is not None:
            names, between = _entries_in_range(channel, range_)
            extra |= dict.fromkeys(between)
        else:
            names = frozenset(channel.entries) if selection.is_full else _head(channel)
        if names:
            channels[name] = names
    default = default_channel(package, channels, selection.default_channel)
    return Part(default_channel=default, channels=channels, extra=tuple(extra))


def default_channel(package: Package, channels: Container[str], requested: str = "") -> str:
    """Return the default channel of the result, or raise `InputError` if it was removed."""
    default = requested or package.default_channel
    if default not in channels:
        raise InputError(
            f'the default channel "{default}" of package `{package.name}` was filtered out',
            hint=f"keep `{default}` too, or set `defaultChannel` of the package in a file for "
            "`--config`",
        )
    return default


def _head(channel: Channel) -> frozenset[str]:
    return frozenset({_only_head(channel).name})


def _only_head(channel: Channel) -> Entry:
    found = graph.head(channel)
    if found is None:
        raise InputError(
            f"channel `{channel.name}` of package `{channel.package}` does not have exactly "
            f"one head",
            hint="run `olmkit catalog validate` for details",
        )
    return found


def _entries_in_range(
    channel: Channel, range_: VersionConstraint
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the kept entries of a range, and those among them that are not in the range."""

    def is_in(entry: Entry) -> bool:
        return entry.bundle is not None and entry.version.version in range_

    nodes = _chain(channel)
    chain = {node.name for node in nodes}
    skipped_below = [
        [
            channel.entries[name]
            for name in node.skips
            if name in channel.entries and name not in chain
        ]
        for node in nodes
    ]
    counts: list[int] = []
    for node, skipped in zip(reversed(nodes), reversed(skipped_below), strict=True):
        below = counts[-1] if counts else 0
        counts.append(below + is_in(node) + sum(map(is_in, skipped)))
    counts.reverse()
    most = counts[0]
    top = max((at for at, count in enumerate(counts) if count == most), default=0)
    taken = [at for at in range(top, len(nodes)) if counts[at] > 0]
    names = {nodes[at].name for at in taken}
    names |= {entry.name for at in taken for entry in skipped_below[at] if is_in(entry)}
    between = tuple(nodes[at].name for at in taken if not is_in(nodes[at]))
    return frozenset(names), between


def _chain(channel: Channel) -> list[Entry]:
    """Return the entries from the head down by `replaces`, including skipped ones."""
    place = f"channel `{channel.name}` of package `{channel.package}`"
    return list(upgrades.chain(channel.entries, _only_head(channel), place))


def _filter_blob(blob: Blob, part: Part) -> Blob | None:
    match blob.schema:
        case "olm.package":
            if blob.fields["defaultChannel"] == part.default_channel:
                return blob
            return Blob.of({**blob.value, "defaultChannel": part.default_channel})
        case "olm.channel":
            names = part.channels.get(blob.name)
            if names is None:
                return None
            entries = [one for one in blob.value["entries"] if one["name"] in names]
            return Blob.of({**blob.value, "entries": entries})
        case "olm.bundle":
            return blob if blob.name in part.bundles else None
        case "olm.deprecations":
            return _deprecations(blob, part)
        case _:
            return blob


def _deprecations(blob: Blob, part: Part) -> Blob | None:
    there = {"olm.package": None, "olm.channel": part.channels, "olm.bundle": part.bundles}
    entries = [
        one
        for one in blob.value.get("entries") or ()
        if (names := there.get(one["reference"]["schema"])) is None
        or one["reference"].get("name") in names
    ]
    return Blob.of({**blob.value, "entries": entries}) if entries else None
