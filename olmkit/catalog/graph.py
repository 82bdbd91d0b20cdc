"""Upgrade graphs: which bundle can follow which.

A channel is a graph whose edges come from three fields that overlap (`replaces`,
`skips`, `skipRange`). Everything here works on the model and never on blobs, so
that templates, validation and resolution agree on one meaning of "head" and
"path". Heads and chains know nothing of `skipRange`, as in every OLM.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from olmkit.base.versions import InvalidRangeError, Version, VersionRange
from olmkit.catalog.model import Channel, Entry


class EdgeKind(StrEnum):
    REPLACES = "replaces"
    SKIPS = "skips"
    SKIP_RANGE = "skipRange"


@dataclass(frozen=True, slots=True)
class Edge:
    """An upgrade from `old`, which may be no entry of the channel, to the entry `new`."""

    old: str
    new: str
    kind: EdgeKind


@dataclass(frozen=True, slots=True)
class Chain:
    """The way down from a head by `replaces`.

    `names` begins with the head; the last one may be no entry of the channel, and empty.
    `cycle` is the way from a name back to itself, empty when there is none.
    """

    names: tuple[str, ...]
    cycle: tuple[str, ...] = ()


def heads(channel: Channel) -> tuple[str, ...]:
    """The entries that nothing in the channel replaces or skips, sorted."""
    incoming = replaced(channel) | skipped(channel)
    return tuple(sorted(name for name in channel.entries if name not in incoming))


def head(channel: Channel) -> Entry | None:
    """The only head; None when there are none or several."""
    found = heads(channel)
    return channel.entries[found[0]] if len(found) == 1 else None


def replaced(channel: Channel) -> frozenset[str]:
    """Every name that an entry replaces."""
    return frozenset(entry.replaces for entry in channel.entries.values() if entry.replaces)


def skipped(channel: Channel) -> frozenset[str]:
    """Every name that an entry skips."""
    return frozenset(name for entry in channel.entries.values() for name in entry.skips)


def chain(channel: Channel, start: Entry) -> Chain:
    """The way down from `start`, which ends before a name that is skipped."""
    passed_over = skipped(channel)
    names = [start.name]
    visited = {start.name}
    entry: Entry | None = start
    while entry is not None:
        below = entry.replaces
        if below in passed_over:
            break
        names.append(below)
        if below in visited:
            return Chain(tuple(names[:-1]), cycle=tuple(names[names.index(below) :]))
        visited.add(below)
        entry = channel.entries.get(below)
    return Chain(tuple(names))


def way(channel: Channel, start: str, version: Version | None) -> tuple[str, ...]:
    """The entries that OLM goes through from `start` to the newest, without `start`.

    Each time it takes the one nearest to the head that can follow; from nothing, the head.
    `version`: that of `start`, for skip ranges, where it is no entry of the channel.
    """
    top = head(channel)
    if top is None:
        return ()
    if not start:
        return (top.name,)
    newest_first = chain(channel, top).names
    found: list[str] = []
    current = start
    while True:
        entry = channel.entries.get(current)
        if entry is not None and entry.bundle is not None:
            version = entry.version.version
        place = newest_first.index(current) if current in newest_first else len(newest_first)
        above = (channel.entries.get(name) for name in newest_first[:place])
        following = next((one for one in above if one and follows(one, current, version)), None)
        if following is None:
            return tuple(found)
        current = following.name
        found.append(current)


def follows(entry: Entry, name: str, version: Version | None) -> bool:
    """Whether the entry upgrades from the bundle of that name and version."""
    if name == entry.replaces or name in entry.skips:
        return True
    wanted = skip_range(entry)
    return wanted is not None and version is not None and version in wanted


def stranded(channel: Channel, reached: Chain) -> tuple[str, ...]:
    """The entries that no chain and no skip leads to, sorted."""
    return tuple(sorted(channel.entries.keys() - set(reached.names) - skipped(channel)))


def edges(channel: Channel) -> Iterator[Edge]:
    """Every upgrade the channel offers, entry by entry: skips, skip range, replaces.

    A skip range gives an edge for each entry of the channel whose version is in it; one that
    does not read gives none.
    """
    for entry in channel.entries.values():
        yield from edges_to(channel, entry)


def edges_to(channel: Channel, entry: Entry) -> Iterator[Edge]:
    """The upgrades that end at `entry`."""
    for name in entry.skips:
        yield Edge(name, entry.name, EdgeKind.SKIPS)
    wanted = skip_range(entry)
    if wanted is not None:
        for old in channel.entries.values():
            if old.bundle is not None and old.version.version in wanted:
                yield Edge(old.name, entry.name, EdgeKind.SKIP_RANGE)
    if entry.replaces:
        yield Edge(entry.replaces, entry.name, EdgeKind.REPLACES)


def skip_range(entry: Entry) -> VersionRange | None:
    """The entry's skip range; None when it has none that reads."""
    if not entry.skip_range:
        return None
    try:
        return VersionRange.parse(entry.skip_range)
    except InvalidRangeError:
        return None


def by_descending_version(entries: Mapping[str, Entry]) -> tuple[Entry, ...]:
    """The entries from the newest to the oldest; of equal ones by name."""
    ordered = sorted(entries.values(), key=lambda entry: entry.name)
    return tuple(sorted(ordered, key=lambda entry: entry.version.key, reverse=True))
