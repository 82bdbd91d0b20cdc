"""`catalog path` compared with `catalog resolve`, hop by hop, on every world.

A path assumes that requirements are met, so catalogs have none here; everything else of a
world counts: order, skips, ranges, errors of channels, and bundles that OLM never selects.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.catalog.blobs import properties
from olmkit.catalog.graph import upgrades
from olmkit.catalog.graph.upgrades import BrokenChannelError, End
from olmkit.catalog.model import Channel
from olmkit.olm.resolver import catalog_entries, solve
from olmkit.olm.resolver.resolution import (
    CatalogEntries,
    CatalogKey,
    Installed,
    ResolverInput,
    ResolverProperty,
    Subscription,
)
from olmkit.olm.resolver.solve import SolvedInstall
from tests.conformance.resolution.worlds import catalog_of, worlds

REQUIREMENTS = {
    properties.GVK_REQUIRED,
    properties.PACKAGE_REQUIRED,
    properties.LABEL_REQUIRED,
    properties.CONSTRAINT,
}
KEY = CatalogKey("catalog", "olm")
MOST_STEPS = 20


def sources(world: dict[str, Any]) -> Iterator[tuple[dict[str, Channel], CatalogEntries]]:
    """Return each catalog of a world without requirements, by channel and as entries."""
    for one in world["catalogs"]:
        stripped = {**one, "bundles": [without_requirements(bundle) for bundle in one["bundles"]]}
        catalog = catalog_of(stripped)
        if any(
            identity.package != bundle.package
            for package in catalog.packages.values()
            for bundle in package.bundles.values()
            for identity in bundle.properties.identities
        ):
            continue  # a Subscription to another package would also choose from it
        names = [
            (channel.name, name)
            for package in catalog.packages.values()
            for channel in package.channels.values()
            for name in channel.entries
        ]
        if len(set(names)) < len(names):
            continue  # OLM cannot tell two such bundles apart, which the graph does not show
        channels = {
            f"{package.name}/{channel.name}": channel
            for package in catalog.packages.values()
            for channel in package.channels.values()
        }
        yield (
            channels,
            CatalogEntries(key=KEY, entries=tuple(catalog_entries.catalog_entries(catalog, KEY))),
        )


def without_requirements(bundle: dict[str, Any]) -> dict[str, Any]:
    kept = [one for one in bundle.get("properties", ()) if one["type"] not in REQUIREMENTS]
    return {**bundle, "properties": kept}


def next_of(source: CatalogEntries, channel: Channel, start: str) -> list[str] | None:
    """Return the CSVs of the next installation, or None if OLM cannot resolve."""
    entries = {one.name: one for one in source.entries if one.package == channel.package}
    there = []
    if start:
        found = tuple(ResolverProperty(*one) for one in entries[start].properties)
        there.append(Installed(name=start, version=entries[start].version, properties=found))
    scene = ResolverInput(
        namespace="olm",
        global_namespace="olm",
        sources=[source],
        installed=there,
        subscriptions=[
            Subscription(
                name="one",
                package=channel.package,
                channel=channel.name,
                catalog=KEY,
                installed_csv=start,
                current_csv=start,
            )
        ],
    )
    (answer,) = solve.resolve(scene)
    if not isinstance(answer, SolvedInstall):
        return None
    return [step.csv for step in answer.steps] if answer.moves else []


class Resolutions:
    """The hops in a channel. One that several starts have in common is resolved once."""

    def __init__(self, source: CatalogEntries, channel: Channel) -> None:
        self._next = functools.cache(functools.partial(next_of, source, channel))

    def hops(self, start: str) -> list[str] | None:
        """Return the CSVs that OLM installs one after the other, or None if it cannot resolve."""
        first = self._next(start)
        if first is None:
            return [] if start else None
        if not start:
            return first
        hops = list(first)
        while len(hops) < MOST_STEPS and hops and (more := self._next(hops[-1])):
            hops += more
        return hops


def path_of(channel: Channel, start: str) -> list[str] | None:
    """Return the same from the graph alone."""
    try:
        if not start:
            first = upgrades.newest(upgrades.order(channel))
            return [first.name] if first else None
        found = upgrades.upgrade_path(channel, upgrades.start_of(channel.entries, start))
    except BrokenChannelError:
        return [] if start else None
    hops = [hop.entry.name for hop in found.hops]
    if found.end is End.CIRCLE:
        again = upgrades.start_of(channel.entries, found.last)
        hop = upgrades.successor(upgrades.order(channel), again)
        assert hop is not None
        circle = hops[hops.index(hop.entry.name) :]
        while len(hops) < MOST_STEPS:
            hops += circle
    return hops[:MOST_STEPS]


def test_a_path_has_the_hops_of_resolutions(vectors: Path) -> None:
    compared, blocked = 0, 0
    different: dict[str, tuple[Any, Any]] = {}
    for world, _ in worlds(vectors / "resolve"):
        for channels, source in sources(world):
            for place, channel in channels.items():
                resolutions = Resolutions(source, channel)
                for start in ("", *channel.entries):
                    ours, theirs = path_of(channel, start), resolutions.hops(start)
                    compared += 1
                    blocked += theirs is None
                    if ours != theirs:
                        different[f"{world['id']} {place} {start}"] = (ours, theirs)
    assert different == {}
    assert compared > 1000
    assert blocked


@pytest.mark.parametrize("is_blocked", [False, True])
def test_worlds_have_bundles_that_are_never_selected(vectors: Path, *, is_blocked: bool) -> None:
    found = any(
        any(one["type"] == properties.DEPRECATED for one in bundle.get("properties", ()))
        == is_blocked
        for world, _ in worlds(vectors / "resolve")
        for catalog in world["catalogs"]
        for bundle in catalog["bundles"]
    )
    assert found
