"""Paths of upgrades beside the answers of OLM's own resolvers.

Of their worlds those count in which one Subscription and the graph decide alone: nothing
requires anything, and nothing else is installed.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.versions import Release, Version, VersionRelease
from olmkit.catalog import model, upgrades
from olmkit.catalog.blobs import Blob
from olmkit.catalog.model import Catalog, Channel
from olmkit.catalog.upgrades import BrokenChannelError, Start

BROKEN = {"several-heads", "no-head", "cycle"}


@pytest.fixture(scope="module")
def resolve(cases: Path) -> Path:
    return cases / "resolve"


def worlds(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each world with the answer of OLM v0."""
    for line in (folder / "scenarios.jsonl").read_text().splitlines():
        world = json.loads(line)
        yield world, world["answer"]
    with (
        gzip.open(folder / "worlds.jsonl.gz", "rt") as questions,
        gzip.open(folder / "answers.jsonl.gz", "rt") as answers,
    ):
        yield from zip(map(json.loads, questions), map(json.loads, answers), strict=True)


def catalog_of(world: dict[str, Any]) -> Catalog:
    """The first catalog of a world as file-based catalog."""
    blobs = []
    for package in world["packages"]:
        head = {"schema": "olm.package", "name": package["name"]}
        blobs.append(Blob.of({**head, "defaultChannel": package.get("defaultChannel", "")}))
        for channel in package["channels"]:
            head = {"schema": "olm.channel", "package": package["name"], "name": channel["name"]}
            blobs.append(Blob.of({**head, "entries": channel["entries"]}))
    for bundle in world["bundles"]:
        kept = {key: bundle.get(key) for key in ("name", "package", "properties")}
        blobs.append(Blob.of({"schema": "olm.bundle", "image": "a/b:1", **kept}))
    old = world.get("deprecations", ())
    return model.of_blobs(
        [*blobs, *(Blob.of({"schema": "olm.deprecations", **one}) for one in old)]
    )


def is_graph_alone(world: dict[str, Any], answer: dict[str, Any]) -> bool:
    """Whether nothing but the graph of one channel decides."""
    if (
        not answer["deterministic"]
        or len(world["subscriptions"]) != 1
        or len(world["catalogs"]) != 1
    ):
        return False
    (wish,), (catalog,) = world["subscriptions"], world["catalogs"]
    installed = wish.get("installedCSV")
    types = {one["type"] for bundle in catalog["bundles"] for one in bundle.get("properties", ())}
    old = ("providedAPIs", "requiredAPIs", "dependencies")
    return (
        bool(wish.get("channel"))
        and not wish.get("startingCSV")
        and wish.get("currentCSV", installed) == installed
        and [one["name"] for one in world.get("csvs", ())] == ([installed] if installed else [])
        and types <= {"olm.package", "olm.gvk", "olm.label"}
        and not any(_says_twice(bundle) for bundle in catalog["bundles"])
        and not any(key in bundle for bundle in catalog["bundles"] for key in old)
        and not any("unavailable" in one for one in catalog["packages"])
        and not catalog.get("health")
        and world.get("operatorGroups", 1) == 1
    )


def _says_twice(bundle: dict[str, Any]) -> bool:
    """Such a bundle stands in its own way."""
    said = [json.dumps(one, sort_keys=True) for one in bundle.get("properties", ())]
    return len(said) != len(set(said))


def channel_of(world: dict[str, Any]) -> Channel | None:
    (wish,) = world["subscriptions"]
    package = catalog_of(world["catalogs"][0]).packages.get(wish["package"])
    return package.channels.get(wish["channel"]) if package else None


def test_ways_are_those_of_olm_v0(resolve: Path) -> None:
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
        (wish,) = world["subscriptions"]
        if wish.get("installedCSV"):
            (csv,) = [one for one in world["csvs"] if not one.get("copied")]
            start = Start(csv["name"], VersionRelease(Version.parse(csv.get("version", "0.0.0"))))
            found = [hop.entry.name for hop in upgrades.way(channel, start).hops]
        else:
            found = [upgrades.order(channel)[0].name]
        if answer["hopsEnd"] == "limit":
            expected = expected[: len(found)]
        assert found == expected, world["id"]
    assert compared > 100


def test_ways_are_those_of_olm_v1(resolve: Path) -> None:
    compared = 0
    for line in (resolve / "scenarios-v1.jsonl").read_text().splitlines():
        world = json.loads(line)
        wish, answer = world["extension"], world["answer"]
        if len(world["catalogs"]) != 1 or set(wish) - {"package", "channels"}:
            continue
        if set(world["catalogs"][0]) & {"unavailable", "error"}:
            continue
        package = catalog_of(world["catalogs"][0]).packages.get(wish["package"])
        names = wish.get("channels") or (sorted(package.channels) if package else ())
        if package is None or not set(names) <= set(package.channels):
            continue
        channels = [package.channels[name] for name in names]
        installed = world.get("installed")
        start = Start("")
        if installed:
            release = Release.parse(installed["release"]) if installed.get("release") else None
            version = VersionRelease(Version.parse(installed["version"]), release)
            start = Start(installed["name"], version)
        if "dependency" in answer.get("error", ""):
            continue
        compared += 1
        way = upgrades.way_of_v1(channels, start)
        if "error" in answer:
            assert not way.hops, world["id"]
        elif installed and answer["version"] == installed["version"]:
            assert not way.hops, world["id"]  # the same under another name is no upgrade
        elif installed:
            assert way.hops[0].entry.name == answer["bundle"], world["id"]
        else:
            assert way.newest.name == answer["bundle"], world["id"]
    assert compared > 10
