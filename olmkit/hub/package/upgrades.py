"""The bundle of a page, the table of versions, and the path from each version to the newest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Final, TypeVar

from olmkit.catalog.graph import links, upgrades
from olmkit.catalog.graph.upgrades import (
    BrokenChannelError,
    End,
    Start,
    UpgradePath,
    UpgradeQuery,
)
from olmkit.catalog.model import NO_VERSION, Bundle, Channel, Entry, Package
from olmkit.hub import paths
from olmkit.hub.pages.page_parts import Badge
from olmkit.hub.pages.version_pages import Hops, Step, VersionRow

_DEPRECATED = "olm.deprecated"
_MAX_SKIPS = 6
_MAX_STEPS = 24
_MAX_STARTS = 400
_REMEMBERED: Final = 64
_Given = TypeVar("_Given")
_Found = TypeVar("_Found")


def _cache_results(function: Callable[[_Given], _Found]) -> Callable[[_Given], _Found]:
    """Cache the last results: all pages of a package need the same ones."""
    kept: dict[int, tuple[_Given, _Found]] = {}

    @wraps(function)
    def remembering(given: _Given) -> _Found:
        # By identity, because packages are not hashable; cached objects keep their identity.
        found = kept.get(id(given))
        if found is None:
            if len(kept) >= _REMEMBERED:
                kept.clear()
            found = kept[id(given)] = (given, function(given))
        return found[1]

    return remembering


@_cache_results
def default_channel(package: Package) -> tuple[Channel | None, str]:
    """Return the default channel, else the one with the highest head and a note."""
    found = package.channels.get(package.default_channel)
    if found is not None:
        return found, ""
    ordered = channels(package)
    if not ordered:
        return None, "This package has no channel: OLM v0 cannot install it."
    return ordered[0], (
        f"The default channel `{package.default_channel}` is not in the catalog: this page shows "
        f"channel `{ordered[0].name}`."
    )


@_cache_results
def head(channel: Channel) -> Entry | None:
    """Return the head to show; of several, or in a cycle, the highest version."""
    names = links.heads(channel) or tuple(channel.entries)
    found = {name: channel.entries[name] for name in names if channel.entries[name].bundle}
    ordered = links.sort_by_version(found or dict(channel.entries))
    return ordered[0] if ordered else None


@_cache_results
def head_note(channel: Channel) -> str:
    """Return the problem with the heads of a channel; empty if it has exactly one."""
    found = links.heads(channel)
    if len(found) == 1 or not channel.entries:
        return ""
    if not found:
        return (
            f"Upgrades in channel `{channel.name}` form a cycle, so it has no head: OLM v0 "
            "refuses this channel."
        )
    listed = ", ".join(f"`{name}`" for name in found)
    return (
        f"Channel `{channel.name}` has {len(found)} heads ({listed}): OLM v0 refuses this channel, "
        "OLM v1 does not."
    )


@_cache_results
def channels(package: Package) -> tuple[Channel, ...]:
    """Return the default channel first, then by the version of the head, then by name."""

    def version(channel: Channel) -> object:
        found = head(channel)
        return (found.version if found else NO_VERSION).key

    by_name = sorted(package.channels.values(), key=lambda one: one.name)
    by_head = sorted(by_name, key=version, reverse=True)  # type: ignore[arg-type]
    return tuple(sorted(by_head, key=lambda one: one.name != package.default_channel))


def shown_bundle(package: Package) -> Bundle | None:
    """Return the bundle of the package's page: the head of its default channel."""
    channel, _ = default_channel(package)
    found = head(channel) if channel is not None else None
    if found is not None and found.bundle is not None:
        return found.bundle
    ordered = bundles(package)
    return ordered[0] if ordered else None


@_cache_results
def first_of_v1(package: Package) -> Bundle | None:
    """Return the bundle that OLM v1 installs if no channel is requested."""
    return next(iter(upgrades.offers_of_v1(package, UpgradeQuery())), None)


@_cache_results
def bundles(package: Package) -> tuple[Bundle, ...]:
    """Return all bundles, the highest version first, those without a version last, by name."""
    by_name = sorted(package.bundles.values(), key=lambda one: one.name)
    return tuple(
        sorted(
            by_name,
            key=lambda one: (one.version is not None, (one.version or NO_VERSION).key),
            reverse=True,
        )
    )


@_cache_results
def bundles_by_kind(package: Package) -> Mapping[tuple[str, str], tuple[Bundle, ...]]:
    """Return the bundles that state to provide a kind, by its group and name, the newest first."""
    found: dict[tuple[str, str], dict[str, Bundle]] = {}
    for bundle in bundles(package):
        for kind in bundle.properties.provided:
            found.setdefault((kind.group, kind.kind), {})[bundle.name] = bundle
    return {key: tuple(listed.values()) for key, listed in found.items()}


@_cache_results
def members(package: Package) -> Mapping[str, tuple[Channel, ...]]:
    """Return the channels of each bundle or entry."""
    found: dict[str, list[Channel]] = {}
    for channel in channels(package):
        for name in channel.entries:
            found.setdefault(name, []).append(channel)
    return {name: tuple(listed) for name, listed in found.items()}


@_cache_results
def stranded_bundles(channel: Channel) -> frozenset[str]:
    """Return the bundles without an upgrade path to the head; empty for an invalid channel."""
    try:
        return upgrades.stranded_entries(channel)
    except BrokenChannelError:
        return frozenset()


def is_deprecated(bundle: Bundle) -> bool:
    return bundle.deprecation is not None or _DEPRECATED in bundle.properties.order


def rows(package: Package, base: str, current: str = "") -> tuple[VersionRow, ...]:
    """Return a row for each bundle, and one for each entry without a bundle."""
    listed = members(package)
    heads = {channel.name: frozenset(links.heads(channel)) for channel in package.channels.values()}
    skipped = {channel.name: links.skipped_names(channel) for channel in package.channels.values()}

    versions = Counter(str(one.version) for one in package.bundles.values() if one.version)

    def label(name: str) -> str:
        """Return the version if only one bundle has it, else the name, which is much longer."""
        found = package.bundles.get(name)
        version = str(found.version) if found is not None and found.version else ""
        return version if versions[version] == 1 else name

    def row(name: str, bundle: Bundle | None) -> VersionRow:
        of = listed.get(name, ())
        badges = [
            Badge(label=f"head of {channel.name}", kind="accent")
            for channel in of
            if name in heads[channel.name]
        ]
        if bundle is not None and is_deprecated(bundle):
            badges.append(Badge(label="deprecated", kind="warn"))
        if of and all(name in skipped[channel.name] for channel in of):
            badges.append(Badge(label="skipped: OLM v0 does not select it"))
        badges += [
            Badge(label=f"stranded: no upgrade to the head of {channel.name}", kind="warn")
            for channel in of
            if name in stranded_bundles(channel)
        ]
        version = str(bundle.version) if bundle is not None and bundle.version else ""
        return VersionRow(
            label=version or name,
            bundle=name,
            href=paths.bundle(base, package.name, name) if bundle is not None else "",
            channels=tuple(channel.name for channel in of),
            edges=tuple(_edges(of, name, label)),
            badges=tuple(badges),
            deprecation=bundle.deprecation if bundle is not None else None,
            current=bool(current) and name == current,
        )

    made = [row(one.name, one) for one in bundles(package)]
    missing = sorted(name for name in listed if name not in package.bundles)
    return (*made, *(row(name, None) for name in missing))


def _edges(of: tuple[Channel, ...], name: str, label: Callable[[str], str]) -> Iterator[str]:
    """Yield the edges to an entry, with the channels of each if the entry is in several."""
    found: dict[str, list[str]] = {}
    for channel in of:
        for words in _edges_in(channel, name, label):
            found.setdefault(words, []).append(channel.name)
    for words, channels_ in found.items():
        yield words if len(of) == 1 else f"{words} ({', '.join(channels_)})"


def _edges_in(channel: Channel, name: str, label: Callable[[str], str]) -> Iterator[str]:
    entry = channel.entries[name]
    if entry.replaces:
        known = "" if entry.replaces in channel.entries else ", which is not in this channel"
        yield f"replaces {label(entry.replaces)}{known}"
    if entry.skips:
        shown_ = ", ".join(map(label, entry.skips[:_MAX_SKIPS]))
        more = len(entry.skips) - _MAX_SKIPS
        yield f"skips {shown_}{f' and {more} more' if more > 0 else ''}"
    if entry.skip_range:
        yield f"upgrades from each version in {entry.skip_range}"


def hops(package: Package, base: str) -> tuple[Hops, ...]:
    """Return the path of OLM v0 in the default channel from each version, newest first."""
    channel, _ = default_channel(package)
    if channel is None:
        return ()
    listed = [one for one in bundles(package) if one.name in members(package)][:_MAX_STARTS]
    starts = [Start(one.name, one.version) for one in listed]
    try:
        ways = upgrades.upgrade_paths(channel, starts)
    except BrokenChannelError:
        return ()

    def label(name: str) -> str:
        found = package.bundles.get(name)
        return str(found.version) if found is not None and found.version else name

    made = []
    for start, way in zip(starts, ways, strict=True):
        made.append(
            Hops(
                label=label(start.name),
                text=_describe_path(way, channel.name, label),
                steps=_steps(way, package, base, label),
                v1=_v1(package, start, label),
            )
        )
    return tuple(made)


def _steps(
    way: UpgradePath, package: Package, base: str, label: Callable[[str], str]
) -> tuple[Step, ...]:
    names = [hop.entry.name for hop in way.hops]
    made = [
        Step(
            label=label(name),
            href=paths.bundle(base, package.name, name) if name in package.bundles else "",
        )
        for name in names
    ]
    left = len(made) - _MAX_STEPS
    if left > 0:
        half = _MAX_STEPS // 2
        return (*made[:half], Step(label=f"{left} more"), *made[-half:])
    return tuple(made)


def _describe_path(way: UpgradePath, channel: str, label: Callable[[str], str]) -> str:
    count = len(way.hops)
    hops_ = "1 upgrade" if count == 1 else f"{count} upgrades"
    if way.end is End.CIRCLE:
        return f"upgrades in channel {channel} form a cycle."
    if way.end is End.STRANDED:
        if not count:
            return f"channel {channel} offers no upgrade from this version."
        return (
            f"OLM v0 gets to {label(way.last)} in {hops_}; from there, channel {channel} offers "
            "no upgrade."
        )
    if not count:
        return f"this is the newest version that OLM v0 installs from channel {channel}."
    return f"OLM v0 gets to {label(way.last)} in {hops_}."


def _v1(package: Package, start: Start, label: Callable[[str], str]) -> str:
    offers = upgrades.offers_of_v1(package, UpgradeQuery(installed=start))
    version = start.version
    newer = [
        one
        for one in offers[:1]
        if one.name != start.name and one.version is not None and one.version != version
    ]
    if not newer:
        return "OLM v1 offers no upgrade."
    return f"OLM v1 upgrades to {label(newer[0].name)}, if no channel is requested."
