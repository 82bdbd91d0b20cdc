"""Upgrade paths compared with the answers of OLM's own resolvers.

Only worlds with one Subscription, without requirements and without other installed bundles
count: there, the graph alone decides.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.versions import BuildRelease, Version, VersionRelease
from olmkit.catalog.graph import upgrades
from olmkit.catalog.graph.upgrades import BrokenChannelError, Start
from olmkit.catalog.model import Channel
from tests.conformance.resolution.worlds import catalog_of, worlds

BROKEN = {"several-heads", "no-head", "cycle"}


@pytest.fixture(scope="module")
def resolve(vectors: Path) -> Path:
    return vectors / "resolve"


def is_graph_alone(world: dict[str, Any], answer: dict[str, Any]) -> bool:
    """Return whether only the graph of one channel decides."""
    if (
        not answer["deterministic"]
        or len(world["subscriptions"]) != 1
        or len(world["catalogs"]) != 1
    ):
        return False
    (subscription,), (catalog,) = world["subscriptions"], world["catalogs"]
    installed = subscription.get("installedCSV")
    types = {one["type"] for bundle in catalog["bundles"] for one in bundle.get("properties", ())}
    old = ("providedAPIs", "requiredAPIs", "dependencies")
    return (
        bool(subscription.get("channel"))
        and not subscription.get("startingCSV")
        and subscription.get("currentCSV", installed) == installed
        and [one["name"] for one in world.get("csvs", ())] == ([installed] if installed else [])
        and types <= {"olm.package", "olm.gvk", "olm.label"}
        and not any(_has_repeated_property(bundle) for bundle in catalog["bundles"])
        and not any(key in bundle for bundle in catalog["bundles"] for key in old)
        and not any("unavailable" in one for one in catalog["packages"])
        and not catalog.get("health")
        and world.get("operatorGroups", 1) == 1
    )


def _has_repeated_property(bundle: dict[str, Any]) -> bool:
    """Such a bundle conflicts with itself."""
    said = [json.dumps(one, sort_keys=True) for one in bundle.get("properties", ())]
    return len(said) != len(set(said))


def channel_of(world: dict[str, Any]) -> Channel | None:
    (subscription,) = world["subscriptions"]
    package = catalog_of(world["catalogs"][0]).packages.get(subscription["package"])
    return package.channels.get(subscription["channel"]) if package else None


def test_paths_are_those_of_olm_v0(resolve: Path) -> None:
    compared = 0
    for world, answer in worlds(resolve):
        if not is_graph_alone(world, answer):
            continue
        channel = channel_of(world)
        result = answer["results"][0]
        if channel is None or set(result.get("kinds", ())) - BROKEN:
            continue
        compared += 1
        if "error" in result:
            with pytest.raises(BrokenChannelError):
                upgrades.order(channel)
            continue
        rounds = [result, *answer["hops"]]
        expected = [step["csv"] for one in rounds for step in one.get("steps", ())]
        (subscription,) = world["subscriptions"]
        if subscription.get("installedCSV"):
            (csv,) = [one for one in world["csvs"] if not one.get("copied")]
            start = Start(csv["name"], VersionRelease(Version.parse(csv.get("version", "0.0.0"))))
            found = [hop.entry.name for hop in upgrades.upgrade_path(channel, start).hops]
        else:
            found = [upgrades.order(channel)[0].name]
        if answer["hopsEnd"] == "limit":
            expected = expected[: len(found)]
        assert found == expected, world["id"]
    assert compared > 100


def test_paths_are_those_of_olm_v1(resolve: Path) -> None:
    compared = 0
    for line in (resolve / "scenarios-v1.jsonl").read_text().splitlines():
        world = json.loads(line)
        subscription, answer = world["extension"], world["answer"]
        if len(world["catalogs"]) != 1 or set(subscription) - {"package", "channels"}:
            continue
        if set(world["catalogs"][0]) & {"unavailable", "error"}:
            continue
        package = catalog_of(world["catalogs"][0]).packages.get(subscription["package"])
        names = subscription.get("channels") or (sorted(package.channels) if package else ())
        if package is None or not set(names) <= set(package.channels):
            continue
        installed = world.get("installed")
        start = Start("")
        if installed:
            release = BuildRelease.parse(installed["release"]) if installed.get("release") else None
            version = VersionRelease(Version.parse(installed["version"]), release)
            start = Start(installed["name"], version)
        if "dependency" in answer.get("error", ""):
            continue
        compared += 1
        upgrade_path = upgrades.path_of_v1(package, names, start)
        if "error" in answer or (installed and answer["bundle"] == installed["name"]):
            assert not upgrade_path.hops, world["id"]
        elif installed:
            assert upgrade_path.hops[0].entry.name == answer["bundle"], world["id"]
        else:
            assert upgrade_path.newest == answer["bundle"], world["id"]
    assert compared > 10
