"""Find entries that OLM v0 never upgrades to although they are on an upgrade path.

Another entry hides such an entry: it skips it, so that OLM never selects it, or it is nearer to the
head and is the next upgrade from every version that leads to the entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from olmkit.catalog.graph import links, obstacles, upgrades
from olmkit.catalog.graph.links import EdgeKind
from olmkit.catalog.graph.upgrades import Start, UpgradePath
from olmkit.catalog.model import Channel, Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """An entry that is never installed, and `by`: the entries that skip or precede it.

    `kinds`: how those follow the versions that lead to it; empty if they skip the entry itself.
    """

    entry: Entry
    by: tuple[str, ...]
    kinds: tuple[EdgeKind, ...] = ()

    @property
    def is_skipped(self) -> bool:
        return not self.kinds


def find_shadows(channel: Channel, paths: Sequence[UpgradePath]) -> tuple[Shadow, ...]:
    """Return the shadowed entries of a channel; `paths` start at all installable entries.

    An entry without incoming upgrades is not shadowed, because installs may start there. Entries
    that OLM never selects (`obstacles`) do not count either, nor does an entry below which a
    version is stranded.
    """
    first = {path.start.name: path.hops[0] for path in paths if path.hops}
    reached = {hop.entry.name for hop in first.values()}
    newest = paths[0].newest if paths else ""
    skippers = _skippers(channel)
    found = []
    for entry in channel.entries.values():
        if entry.name == newest or entry.name in reached or obstacles.entry_obstacle(entry):
            continue
        before = [path.start for path in paths if _leads(path.start, entry)]
        if not before:
            continue
        if entry.name in skippers:
            found.append(Shadow(entry=entry, by=skippers[entry.name]))
        elif all(start.name in first for start in before):
            instead = [first[start.name] for start in before]
            found.append(
                Shadow(
                    entry=entry,
                    by=tuple(dict.fromkeys(hop.entry.name for hop in instead)),
                    kinds=tuple(dict.fromkeys(hop.by for hop in instead)),
                )
            )
    return tuple(found)


def _leads(start: Start, entry: Entry) -> bool:
    if start.name == entry.name:
        return False
    version = start.version.version if start.version else None
    return upgrades.edge(entry, links.skip_range(entry), start.name, version) is not None


def _skippers(channel: Channel) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for entry in channel.entries.values():
        for name in entry.skips:
            found[name] = (*found.get(name, ()), entry.name)
    return found
