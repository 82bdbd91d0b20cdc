"""Where upgrades lead: what OLM offers after a bundle, hop by hop to where it ends.

OLM v0 follows the one chain of `replaces` from a channel's head, leaves out what is skipped,
and takes the entry nearest to the head that replaces or skips the installed bundle, or has
its version in the skip range; versions are not compared. OLM v1 takes the highest version
of all that do, in all channels it may look at, and those that are deprecated last.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from olmkit.base.diagnostics import InputError
from olmkit.base.versions import InvalidVersionError, Version, VersionRelease
from olmkit.catalog import graph
from olmkit.catalog.graph import EdgeKind
from olmkit.catalog.model import Channel, Entry


class BrokenChannelError(InputError):
    """Why OLM v0 cannot tell what is newest in a channel; it resolves nothing then."""


class End(StrEnum):
    """How a way ends: at the newest, at something older that nothing follows, or never."""

    NEWEST = "newest"
    STRANDED = "stranded"
    CIRCLE = "circle"


@dataclass(frozen=True, slots=True)
class Start:
    """What is installed. `version` is None when it is not known; it counts for skip ranges."""

    name: str
    version: VersionRelease | None = None


@dataclass(frozen=True, slots=True)
class Hop:
    """One upgrade: the entry that OLM takes, and by what it follows."""

    entry: Entry
    by: EdgeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """All hops from `start`. `newest` is what OLM would install where nothing is."""

    start: Start
    hops: tuple[Hop, ...]
    end: End
    newest: Entry

    @property
    def last(self) -> str:
        return self.hops[-1].entry.name if self.hops else self.start.name


def order(channel: Channel) -> tuple[Entry, ...]:
    """The entries that OLM v0 chooses from, the head first.

    Raises `BrokenChannelError` unless there is exactly one chain from head to tail. What is
    skipped is gone through and left out; what no `replaces` leads to is not in it.
    """
    place = f"channel `{channel.name}` of package `{channel.package}`"
    heads = _heads(channel)
    if not heads:
        raise BrokenChannelError(f"{place} has no head: every entry is replaced or skipped")
    passed_over = graph.skipped(channel)
    chains = [tuple(_chain(channel, head, place, passed_over)) for head in heads]
    if len(chains) > 1:
        raise BrokenChannelError(
            f"{place} has {len(chains)} heads: {', '.join(head.name for head in heads)}",
            hint="let the newest replace or skip the others",
        )
    return chains[0]


def successor(entries: Iterable[Entry], start: Start) -> Hop | None:
    """The first of the entries that can follow what is installed."""
    return next(
        (Hop(entry, kind) for entry in entries for kind in _kinds(entry, start)),
        None,
    )


def way(channel: Channel, start: Start) -> Way:
    """The way that OLM v0 goes in a channel from what is installed.

    As if all that its bundles need were there. Raises `BrokenChannelError`.
    """
    ordered = order(channel)
    return _walk(start, ordered[0], lambda at: successor(ordered, at))


def way_of_v1(channels: Iterable[Channel], start: Start) -> Way:
    """The way that OLM v1 goes from what is installed when it may look at those channels.

    Raises `InputError` when they hold no bundle.
    """
    by_name: dict[str, list[Entry]] = {}
    for channel in channels:
        for entry in channel.entries.values():
            if entry.bundle is not None:
                by_name.setdefault(entry.name, []).append(entry)
    first = [entries[0] for _, entries in sorted(by_name.items())]
    choices = sorted(first, key=_rank, reverse=True)
    if not choices:
        raise InputError("there is no bundle to install")

    def next_of(at: Start) -> Hop | None:
        for entry in choices:
            if at.version is not None and _build(entry.version) == _build(at.version):
                return None  # what is installed is a choice, too
            hop = successor(by_name[entry.name], at)
            if hop is not None:
                return hop
        return None

    return _walk(start, choices[0], next_of)


def start_of(entries: Mapping[str, Entry], name: str, version: Version | None = None) -> Start:
    """What is installed under that name; `version` where it is no entry any more."""
    entry = entries.get(name)
    if entry is not None and entry.bundle is not None:
        return Start(name, entry.version)
    return Start(name, VersionRelease(version) if version is not None else None)


def _walk(start: Start, newest: Entry, next_of: Callable[[Start], Hop | None]) -> Way:
    hops: list[Hop] = []
    seen: set[str] = set()
    at = start
    end = None
    while end is None:
        hop = next_of(at)
        if hop is None or hop.entry.name == at.name:
            end = End.NEWEST if at.name == newest.name else End.STRANDED
        elif hop.entry.name in seen:
            end = End.CIRCLE
        else:
            hops.append(hop)
            seen.add(hop.entry.name)
            at = Start(hop.entry.name, hop.entry.version)
    return Way(start=start, hops=tuple(hops), end=end, newest=newest)


def _heads(channel: Channel) -> list[Entry]:
    gone = graph.replaced(channel) | graph.skipped(channel)
    return [entry for entry in channel.entries.values() if entry.name not in gone]


def _chain(
    channel: Channel, head: Entry, place: str, passed_over: frozenset[str]
) -> Iterator[Entry]:
    visited: set[str] = set()
    entry: Entry | None = head
    while entry is not None:
        if entry.name in visited:
            raise BrokenChannelError(
                f"{place} goes round in circles: below `{head.name}`, `{entry.name}` comes twice"
            )
        visited.add(entry.name)
        if entry.name not in passed_over:
            yield entry
        entry = channel.entries.get(entry.replaces)


def _kinds(entry: Entry, start: Start) -> Iterator[EdgeKind]:
    if entry.replaces and start.name == entry.replaces:
        yield EdgeKind.REPLACES
    if start.name in entry.skips:
        yield EdgeKind.SKIPS
    wanted = graph.skip_range(entry)
    if wanted is not None and start.version is not None and start.version.version in wanted:
        yield EdgeKind.SKIP_RANGE


def _rank(entry: Entry) -> tuple[object, ...]:
    is_deprecated = entry.bundle is not None and entry.bundle.deprecation is not None
    return (not is_deprecated, _build(entry.version))


def _build(version: VersionRelease) -> tuple[object, ...]:
    """What OLM v1 compares: without a release the build metadata counts as one."""
    if version.release is None:
        with contextlib.suppress(InvalidVersionError):
            version = VersionRelease.of_rebuild(version.version)
    return version.key
