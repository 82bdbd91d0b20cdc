"""The next upgrade from each installable bundle, for both generations of OLM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from olmkit.base.diagnostics import InputError
from olmkit.catalog.graph import upgrades
from olmkit.catalog.graph.upgrades import BrokenChannelError, Start, UpgradePath
from olmkit.catalog.model import Catalog, Channel, Package


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstHop:
    """The next bundle after an installed one. `olm`: the generations that choose it."""

    package: str
    channel: str
    before: str
    after: str
    olm: tuple[str, ...]


def new(catalog: Catalog, old: Catalog | None) -> tuple[FirstHop, ...]:
    """Return the next upgrades from versions of both catalogs that the old one did not have."""
    known = {_key(one) for one in _first_hops(old, None)} if old is not None else set()
    return tuple(one for one in _first_hops(catalog, old) if _key(one) not in known)


def _key(one: FirstHop) -> tuple[str, ...]:
    return (one.package, one.channel, one.before, one.after)


def _first_hops(catalog: Catalog, old: Catalog | None) -> Iterator[FirstHop]:
    for _, package in sorted(catalog.packages.items()):
        earlier = old.packages.get(package.name) if old else None
        for name, channel in sorted(package.channels.items()):
            before = earlier.channels.get(name) if earlier else None
            entries = {**(before.entries if before else {}), **channel.entries}
            starts = [upgrades.start_of(entries, entry) for entry in entries]
            found: dict[tuple[str, str], tuple[str, ...]] = {}
            for olm, paths in (
                ("v0", _paths_of_v0(channel, starts)),
                ("v1", _paths_of_v1(package, channel, starts)),
            ):
                for path in paths:
                    if path.hops:
                        pair = (path.start.name, path.hops[0].entry.name)
                        found[pair] = (*found.get(pair, ()), olm)
            for (one, other), generations in found.items():
                yield FirstHop(
                    package=package.name, channel=name, before=one, after=other, olm=generations
                )


def _paths_of_v0(channel: Channel, starts: list[Start]) -> list[UpgradePath]:
    try:
        return upgrades.upgrade_paths(channel, starts)
    except BrokenChannelError:
        return []


def _paths_of_v1(package: Package, channel: Channel, starts: list[Start]) -> list[UpgradePath]:
    try:
        return upgrades.paths_of_v1(package, (channel.name,), starts)
    except InputError:  # the channel has no bundle
        return []
