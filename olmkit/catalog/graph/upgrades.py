"""Upgrade paths: the bundles that OLM offers after a bundle, hop by hop to the end.

OLM v0 follows the single chain of `replaces` from a channel's head, leaves out skipped entries, and
chooses the entry nearest to the head that replaces or skips the installed bundle, or has its
version in the skip range; versions are not compared. It ignores entries that it never selects
(`obstacles`), such as one with the property `olm.deprecated`. OLM v1 chooses the highest such
version in all allowed channels, deprecated ones last.
"""

from __future__ import annotations

import contextlib
import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, TypeVar

from olmkit.base.diagnostics import InputError
from olmkit.base.version_constraints import VersionConstraint
from olmkit.base.versions import InvalidVersionError, Version, VersionRange, VersionRelease
from olmkit.catalog.graph import links, obstacles
from olmkit.catalog.graph.links import EdgeKind
from olmkit.catalog.graph.obstacles import Obstacle
from olmkit.catalog.model import NO_VERSION, Bundle, Channel, Entry, Package


class BrokenChannelError(InputError):
    """OLM v0 cannot determine the newest entry of a channel, and resolves nothing.

    `fault` is `no-head`, `several-heads`, `cycle` or `slash`.
    """

    def __init__(self, fault: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.fault = fault


class ChainElement(Protocol):
    """An element of a channel's chain."""

    @property
    def name(self) -> str: ...
    @property
    def replaces(self) -> str: ...
    @property
    def skips(self) -> tuple[str, ...]: ...


L = TypeVar("L", bound=ChainElement)


class End(StrEnum):
    """The end of a path: the newest entry, an older dead end, or a cycle."""

    NEWEST = "newest"
    STRANDED = "stranded"
    CIRCLE = "circle"


@dataclass(frozen=True, slots=True)
class Start:
    """The installed bundle. `version`, which skip ranges need, is None if unknown."""

    name: str
    version: VersionRelease | None = None


@dataclass(frozen=True, slots=True)
class Hop:
    """One upgrade: the chosen entry, and the kind of edge."""

    entry: Entry
    by: EdgeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradePath:
    """All hops from `start`. `newest` is the bundle that OLM would install in a new namespace.

    `newest` is empty if there is none. `obstacles` are the entries that would follow the last one
    but that OLM never selects, nearest to the head first.
    """

    start: Start
    hops: tuple[Hop, ...]
    end: End
    newest: str
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def last(self) -> str:
        return self.hops[-1].entry.name if self.hops else self.start.name


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeQuery:
    """A request to OLM v1: channels (none: all), versions, and the installed bundle.

    `is_free`: the installed bundle does not matter (`upgradeConstraintPolicy: SelfCertified`).
    """

    channels: Sequence[str] = ()
    range: VersionConstraint | None = None
    installed: Start | None = None
    is_free: bool = False


def order(channel: Channel) -> tuple[Entry, ...]:
    """Return the entries that OLM v0 chooses from, the head first. Raises `BrokenChannelError`."""
    if "/" in channel.name:
        # OLM splits an identifier of catalog, namespace, channel and name at each slash.
        raise BrokenChannelError(
            "slash",
            f"channel `{channel.name}` of package `{channel.package}` has a slash in its name, "
            "so OLM v0 cannot install from it",
            hint="rename the channel",
        )
    return order_of(channel.entries.values(), channel.package, channel.name)


def order_of(entries: Iterable[L], package: str, channel: str) -> tuple[L, ...]:
    """Return the entries in the one chain from head to tail.

    Skipped entries are followed but left out; entries that no `replaces` leads to are not in it.
    Raises `BrokenChannelError` unless there is exactly one chain.
    """
    place = f"channel `{channel}` of package `{package}`"
    listed = list(entries)
    by_name = {one.name: one for one in listed}
    passed_over = {name for one in listed for name in one.skips}
    gone = {id(by_name.get(name)) for name in (*passed_over, *(one.replaces for one in listed))}
    heads = [one for one in listed if id(one) not in gone]
    if not heads:
        raise BrokenChannelError(
            "no-head", f"{place} has no head: every entry is replaced or skipped"
        )
    chains = [tuple(chain(by_name, head, place)) for head in heads]
    if len(chains) > 1:
        raise BrokenChannelError(
            "several-heads",
            f"{place} has {len(chains)} heads: {', '.join(head.name for head in heads)}",
            hint="let the newest replace or skip the others",
        )
    return tuple(one for one in chains[0] if one.name not in passed_over)


def newest(ordered: Iterable[Entry]) -> Entry | None:
    """Return the first of the entries that OLM v0 can select."""
    return next((one for one in ordered if not obstacles.entry_obstacle(one)), None)


def followers(entries: Iterable[Entry], start: Start) -> Iterator[Hop]:
    """Yield the entries that can follow the installed one, in order."""
    version = start.version.version if start.version else None
    for entry in entries:
        by = edge(entry, links.skip_range(entry), start.name, version)
        if by is not None:
            yield Hop(entry, by)


def successor(entries: Iterable[Entry], start: Start) -> Hop | None:
    """Return the first entry that can follow the installed one and that OLM v0 can select."""
    found = followers(entries, start)
    return next((one for one in found if not obstacles.entry_obstacle(one.entry)), None)


def edge(
    entry: ChainElement, skip_range: VersionRange | None, name: str, version: Version | None
) -> EdgeKind | None:
    """Return the kind of edge to an entry from a bundle of that name and version; None for none."""
    if entry.replaces and entry.replaces == name:
        return EdgeKind.REPLACES
    if name in entry.skips:
        return EdgeKind.SKIPS
    if skip_range is not None and version is not None and version in skip_range:
        return EdgeKind.SKIP_RANGE
    return None


def upgrade_path(channel: Channel, start: Start) -> UpgradePath:
    """Return the upgrade path of OLM v0 in a channel from the installed bundle.

    All requirements of the bundles are assumed to be met. Raises `BrokenChannelError`.
    """
    (found,) = upgrade_paths(channel, (start,))
    return found


def upgrade_paths(channel: Channel, starts: Iterable[Start]) -> list[UpgradePath]:
    """Return the path from each of several entries, or raise `BrokenChannelError`."""
    ordered = order(channel)
    head = newest(ordered)
    tops = _tops(ordered)

    @functools.cache  # paths meet, and are the same from there
    def next_of(at: Start) -> Hop | None:
        return successor(ordered, at)

    def path_from(start: Start) -> UpgradePath:
        found = _walk(start, head.name if head else "", tops, next_of)
        at = Start(found.last, found.hops[-1].entry.version) if found.hops else start
        blocked = (
            Obstacle(one.entry.name, reason)
            for one in followers(ordered, at)
            if one.entry.name != at.name and (reason := obstacles.entry_obstacle(one.entry))
        )
        return replace(found, obstacles=tuple(blocked))

    return [path_from(one) for one in starts]


def stranded_entries(channel: Channel) -> frozenset[str]:
    """Return the entries with a bundle from which OLM v0 does not reach the newest one.

    Raises `BrokenChannelError`.
    """
    ordered = order(channel)
    arrives = dict.fromkeys(_tops(ordered), True)
    for entry in channel.entries.values():
        way: dict[str, None] = {}
        at: Entry | None = entry
        while at is not None and at.name not in arrives and at.name not in way:
            way[at.name] = None
            hop = successor(ordered, start_of(channel.entries, at.name))
            at = hop.entry if hop is not None else None
        found = at is not None and arrives.get(at.name, False)
        arrives.update(dict.fromkeys(way, found))
    return frozenset(
        one.name for one in channel.entries.values() if one.bundle and not arrives[one.name]
    )


def _tops(ordered: Sequence[Entry]) -> frozenset[str]:
    """Return the newest entry that OLM v0 can select, and the entries above it."""
    head = newest(ordered)
    above = [one.name for one in ordered]
    return frozenset(above[: above.index(head.name) + 1] if head else above)


def offers_of_v1(package: Package, query: UpgradeQuery) -> tuple[Bundle, ...]:
    """Return the bundles that OLM v1 may choose, the best first.

    The order is by version, the highest first, and deprecated bundles last. The installed bundle is
    among them, or another of the same version.
    """
    entries = _entries_by_name(package, query.channels)
    installed = query.installed

    def is_offered(bundle: Bundle) -> bool:
        if query.channels and bundle.name not in entries:
            return False
        if bundle.version is None or (query.range and bundle.version.version not in query.range):
            return False
        if installed is None or query.is_free:
            return True
        if installed.version and _build(bundle.version) == _build(installed.version):
            return True
        return any(followers(entries.get(bundle.name, ()), installed))

    found = [one for _, one in sorted(package.bundles.items()) if is_offered(one)]
    return tuple(sorted(found, key=_rank, reverse=True))


def path_of_v1(package: Package, channels: Sequence[str], start: Start) -> UpgradePath:
    """Return the path of OLM v1 from the installed bundle, in the given channels or in all.

    Raises `InputError` if they contain no bundle.
    """
    (found,) = paths_of_v1(package, channels, (start,))
    return found


def paths_of_v1(
    package: Package, channels: Sequence[str], starts: Iterable[Start]
) -> list[UpgradePath]:
    """Return the paths from several entries, or raise `InputError` for empty channels."""
    entries = _entries_by_name(package, channels)
    fresh = offers_of_v1(package, UpgradeQuery(channels=channels))
    if not fresh:
        raise InputError(f"package `{package.name}` has no bundle to install")

    @functools.cache  # as above
    def next_of(at: Start) -> Hop | None:
        offers = offers_of_v1(package, UpgradeQuery(channels=channels, installed=at))
        if not offers:
            return None
        best = offers[0]
        listed = entries.get(best.name, ())
        if at.version is None or best.version is None or _build(at.version) != _build(best.version):
            return next(followers(listed, at), None)
        if not listed or any(one.name == at.name for one in offers):
            return None
        return Hop(listed[0], EdgeKind.SAME_VERSION)

    best = fresh[0].name
    return [_walk(start, best, frozenset({best}), next_of) for start in starts]


def start_of(entries: Mapping[str, Entry], name: str, version: Version | None = None) -> Start:
    """Return the installed entry with this name; `version` is used if it is not an entry."""
    entry = entries.get(name)
    if entry is not None and entry.bundle is not None:
        return Start(name, entry.version)
    return Start(name, VersionRelease(version) if version is not None else None)


def _walk(
    start: Start, newest: str, tops: frozenset[str], next_of: Callable[[Start], Hop | None]
) -> UpgradePath:
    hops: list[Hop] = []
    seen: set[str] = set()
    at = start
    end = None
    while end is None:
        hop = next_of(at)
        if hop is None or hop.entry.name == at.name:
            end = End.NEWEST if at.name in tops else End.STRANDED
        elif hop.entry.name in seen:
            end = End.CIRCLE
        else:
            hops.append(hop)
            seen.add(hop.entry.name)
            at = Start(hop.entry.name, hop.entry.version)
    return UpgradePath(start=start, hops=tuple(hops), end=end, newest=newest)


def chain(by_name: Mapping[str, L], head: L, place: str) -> Iterator[L]:
    """Yield the entries from a head down by `replaces`, including skipped ones.

    Raises `BrokenChannelError` for a repeated entry; `place` describes where that is.
    """
    visited: set[str] = set()
    entry: L | None = head
    while entry is not None:
        if entry.name in visited:
            raise BrokenChannelError(
                "cycle",
                f"{place} has a cycle: below `{head.name}`, `{entry.name}` occurs twice",
            )
        visited.add(entry.name)
        yield entry
        entry = by_name.get(entry.replaces)


def shortest_path_of_v1(packages: Sequence[Package], query: UpgradeQuery) -> tuple[Bundle, ...]:
    """Return OLM v1's shortest path from the installed bundle into the range; empty if none."""
    start, wanted = query.installed, query.range
    if start is None:
        return ()
    paths: dict[str, tuple[Bundle, ...]] = {start.name: ()}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        ask = UpgradeQuery(channels=query.channels, installed=at)
        for bundle in (one for found in packages for one in offers_of_v1(found, ask)):
            if bundle.name in paths or bundle.version is None:
                continue
            paths[bundle.name] = (*paths[at.name], bundle)
            if wanted is None or bundle.version.version in wanted:
                return paths[bundle.name]
            waiting.append(Start(bundle.name, bundle.version))
    return ()


def _entries_by_name(package: Package, channels: Sequence[str]) -> dict[str, list[Entry]]:
    """Return the entries of each bundle in some channels, or in all."""
    found: dict[str, list[Entry]] = {}
    for name, channel in package.channels.items():
        if not channels or name in channels:
            for entry in channel.entries.values():
                found.setdefault(entry.name, []).append(entry)
    return found


def _rank(bundle: Bundle) -> tuple[object, ...]:
    return (bundle.deprecation is None, _build(bundle.version or NO_VERSION))


def _build(version: VersionRelease) -> tuple[object, ...]:
    """Return the version that OLM v1 compares: build metadata counts as the release."""
    if version.release is None:
        with contextlib.suppress(InvalidVersionError):
            version = VersionRelease.of_rebuild(version.version)
    return version.key
