"""Upgrade graphs: which bundle can follow which.

A channel is a graph whose edges come from three fields that overlap (`replaces`,
`skips`, `skipRange`). Everything here works on the model and never on blobs, so
that templates, validation and resolution agree on one meaning of "head" and
"path". Heads and chains ignore `skipRange`, as in every OLM.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from olmkit.base.versions import InvalidRangeError, VersionRange
from olmkit.catalog.model import Channel, Entry


class EdgeKind(StrEnum):
    REPLACES = "replaces"
    SKIPS = "skips"
    SKIP_RANGE = "skipRange"
    SAME_VERSION = "same version"
    """Not an edge: OLM v1 also accepts a bundle of the installed version under another name."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An upgrade to the entry `new` from `old`, which may be missing in the channel."""

    old: str
    new: str
    kind: EdgeKind


@dataclass(frozen=True, slots=True)
class Chain:
    """The path down from a head by `replaces`.

    `names` starts with the head; the last one need not be an entry of the channel, and may be
    empty. `cycle` is the path from a name back to itself, empty if there is none.
    """

    names: tuple[str, ...]
    cycle: tuple[str, ...] = ()


def heads(channel: Channel) -> tuple[str, ...]:
    """Return the entries that no other entry of the channel replaces or skips, sorted."""
    incoming = replaced_names(channel) | skipped_names(channel)
    return tuple(sorted(name for name in channel.entries if name not in incoming))


def head(channel: Channel) -> Entry | None:
    """Return the only head; None if there are none or several."""
    found = heads(channel)
    return channel.entries[found[0]] if len(found) == 1 else None


def replaced_names(channel: Channel) -> frozenset[str]:
    """Return every name that an entry replaces."""
    return frozenset(entry.replaces for entry in channel.entries.values() if entry.replaces)


def skipped_names(channel: Channel) -> frozenset[str]:
    """Return every name that an entry skips."""
    return frozenset(name for entry in channel.entries.values() for name in entry.skips)


def chain(channel: Channel, start: Entry) -> Chain:
    """Return the chain down from `start`, which ends before a skipped name."""
    passed_over = skipped_names(channel)
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


def stranded_entries(channel: Channel, reached: Chain) -> tuple[str, ...]:
    """Return the entries that no chain and no skip leads to, sorted."""
    return tuple(sorted(channel.entries.keys() - set(reached.names) - skipped_names(channel)))


def edges(channel: Channel) -> Iterator[Edge]:
    """Yield every upgrade the channel offers, entry by entry: skips, skip range, replaces.

    A skip range gives an edge for each entry of the channel whose version is in it; an invalid one
    gives none.
    """
    for entry in channel.entries.values():
        yield from edges_to(channel, entry)


def edges_to(channel: Channel, entry: Entry) -> Iterator[Edge]:
    """Yield the upgrades that end at `entry`."""
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
    """Return the entry's skip range; None if it has no valid one."""
    return _range(entry.skip_range) if entry.skip_range else None


@functools.lru_cache(maxsize=4096)
def _range(text: str) -> VersionRange | None:
    try:
        return VersionRange.parse(text)
    except InvalidRangeError:
        return None


def sort_by_version(entries: Mapping[str, Entry]) -> tuple[Entry, ...]:
    """Return the entries from the newest to the oldest; equal versions by name."""
    ordered = sorted(entries.values(), key=lambda entry: entry.name)
    return tuple(sorted(ordered, key=lambda entry: entry.version.key, reverse=True))
