"""A catalog that is read back from its server."""

from __future__ import annotations

from olmkit.catalog import served
from olmkit.catalog.graph import upgrades


def test_edges_and_versions_are_those_that_olm_sees() -> None:
    packages = [{"name": "cache", "defaultChannelName": "stable"}]
    common = {"packageName": "cache", "channelName": "stable"}
    bundles = [
        {**common, "csvName": "cache.v1", "version": "1.0.0", "bundlePath": "r/cache:1"},
        {**common, "csvName": "cache.v2", "version": "2.0.0", "replaces": "cache.v1"},
        {**common, "csvName": "cache.v3", "version": "3.0.0", "replaces": "cache.v2",
         "skips": ["cache.v2"], "skipRange": "<3.0.0"},
        {**common, "channelName": "old", "csvName": "cache.v1", "version": "1.0.0"},
    ]  # fmt: skip

    found = served.catalog(packages, bundles).chosen("cache")[0]

    assert found.default_channel == "stable"
    assert sorted(found.channels) == ["old", "stable"]
    assert found.bundles["cache.v1"].image == "r/cache:1"
    stable = found.channels["stable"]
    way = upgrades.upgrade_path(stable, upgrades.start_of(stable.entries, "cache.v1"))
    assert [hop.entry.name for hop in way.hops] == ["cache.v3"]


def test_the_requirements_of_a_bundle_are_its_properties() -> None:
    required = {"type": "olm.package.required", "value": '{"packageName":"db"}'}
    bundle = {"packageName": "cache", "channelName": "stable", "csvName": "cache.v1",
              "version": "1.0.0", "properties": [
                  required, {"type": "olm.package", "value": "{}"},
                  {"type": "olm.csv.metadata", "value": "{}"}, {"type": "x", "value": "{"},
                  {"type": "deep", "value": "[" * 100_000}]}  # fmt: skip
    packages = [{"name": "cache", "defaultChannelName": "stable"}]

    found = served.catalog(packages, [bundle]).chosen("cache")[0].bundles["cache.v1"]

    assert [(kind, str(value)[:20]) for kind, value in found.properties] == [
        ("olm.package", "{'packageName': 'cac"),
        ("olm.package.required", "{'packageName': 'db'"),
        ("x", "{"),
        ("deep", "[" * 20),
    ]
