"""The upgrade graph of an index database: rows of edges → `replaces` and `skips`.

A bundle has one row for each entry that it replaces or skips in a channel, and no column
distinguishes the two. The rows that can be reached from the lowest depth, from `replaces` to
`replaces`, are the chain. Its edges are `replaces`, and all other edges are `skips`, in the order
of their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from olmkit.catalog.database.tables import EntryRow


class Node(NamedTuple):
    """A bundle in a channel."""

    package: str
    channel: str
    bundle: str


@dataclass(frozen=True, slots=True)
class Links:
    """What a bundle replaces in a channel, and what it skips there."""

    replaces: str
    skips: tuple[str, ...]


def links(entries: Sequence[EntryRow]) -> dict[Node, Links]:
    """Return the links of each bundle in each channel, in the order of their first rows."""
    by_id = {entry.id: entry for entry in entries}
    chain = _chain(entries, by_id)
    replaces: dict[Node, str] = {}
    skips: dict[Node, list[str]] = {}
    for entry in sorted(entries, key=lambda one: one.id):
        node = Node(entry.package, entry.channel, entry.bundle)
        replaces.setdefault(node, "")
        target = by_id.get(entry.replaces) if entry.replaces is not None else None
        if target is None:
            continue
        if entry.id in chain:
            # Of several, the reference uses the last by name.
            replaces[node] = max(replaces[node], target.bundle)
        else:
            # The reference joins them with commas, and splits them there again.
            skips.setdefault(node, []).extend(target.bundle.split(","))
    return {node: Links(replaces[node], tuple(skips.get(node, ()))) for node in replaces}


def _chain(entries: Sequence[EntryRow], by_id: dict[int, EntryRow]) -> set[int]:
    least = min((entry.depth for entry in entries if entry.depth is not None), default=None)
    waiting = [entry.id for entry in entries if entry.depth == least and least is not None]
    chain: set[int] = set()
    while waiting:
        id_ = waiting.pop()
        if id_ in chain or id_ not in by_id:
            continue
        chain.add(id_)
        target = by_id[id_].replaces
        if target is not None:
            waiting.append(target)
    return chain
