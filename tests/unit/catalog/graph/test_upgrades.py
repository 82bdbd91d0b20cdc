"""Upgrade paths in OLM v0 and OLM v1."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.version_constraints import VersionConstraint
from olmkit.base.versions import Version, VersionRelease
from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.graph import upgrades
from olmkit.catalog.graph.upgrades import BrokenChannelError, End, Start, UpgradePath
from olmkit.catalog.model import Channel, Package


def entry(name: str, replaces: str = "", *skips: str, skip_range: str = "") -> dict[str, Any]:
    return {"name": name, "replaces": replaces, "skips": list(skips), "skipRange": skip_range}


def package(*lists: Iterable[dict[str, Any]], deprecated: str = "") -> Package:
    """A package with channels `c0`, `c1` …; the number in the name of a bundle is its version."""
    names = {one["name"]: None for entries in lists for one in entries}
    blobs = [Blob.of({"schema": "olm.package", "name": "cog", "defaultChannel": "c0"})]
    for number, entries in enumerate(lists):
        channel = {"schema": "olm.channel", "package": "cog", "name": f"c{number}"}
        blobs.append(Blob.of({**channel, "entries": list(entries)}))
    for name in names:
        value = {"packageName": "cog", "version": f"{name.lstrip('v')}.0.0"}
        blobs.append(Blob.of({
            "schema": "olm.bundle", "package": "cog", "name": name, "image": "a/b:1",
            "properties": [{"type": "olm.package", "value": value}],
        }))  # fmt: skip
    if deprecated:
        reference = {"schema": "olm.bundle", "name": deprecated}
        blobs.append(Blob.of({
            "schema": "olm.deprecations", "package": "cog",
            "entries": [{"reference": reference, "message": "no more"}],
        }))  # fmt: skip
    return model.from_blobs(blobs).packages["cog"]


def channel(*entries: dict[str, Any]) -> Channel:
    return package(entries).channels["c0"]


def hops(upgrade_path: UpgradePath) -> list[str]:
    return [hop.entry.name for hop in upgrade_path.hops]


def walk(found: Channel, start: str) -> tuple[list[str], End]:
    upgrade_path = upgrades.upgrade_path(found, upgrades.start_of(found.entries, start))
    return hops(upgrade_path), upgrade_path.end


CHAIN = (entry("v1"), entry("v2", "v1"), entry("v3", "v2"))


def test_the_path_takes_the_possible_entry_nearest_to_the_head() -> None:
    found = channel(*CHAIN, entry("v4", "v3", "v1"))

    assert walk(found, "v1") == (["v4"], End.NEWEST)
    assert walk(found, "v2") == (["v3", "v4"], End.NEWEST)
    assert walk(found, "v4") == ([], End.NEWEST)
    assert walk(found, "v0") == ([], End.STRANDED)


def test_a_skip_range_applies_to_removed_versions() -> None:
    found = channel(*CHAIN, entry("v4", "v3", skip_range=">=0.1.0 <1.0.0"))
    start = Start("v0", VersionRelease(Version.parse("0.9.0")))

    assert hops(upgrades.upgrade_path(found, start)) == ["v4"]
    assert hops(upgrades.upgrade_path(found, Start("v0"))) == []


def test_a_skipped_entry_is_passed_and_never_selected() -> None:
    bridge = channel(entry("v1"), entry("v2", "v1"), entry("v3", "v2", "v2"))
    assert [one.name for one in upgrades.order(bridge)] == ["v3", "v1"]
    assert walk(bridge, "v1") == ([], End.STRANDED)
    assert walk(bridge, "v2") == (["v3"], End.NEWEST)
    # Below a skipped entry the chain continues, and ends if only that entry would follow.
    longer = channel(*CHAIN, entry("v4", "v3"), entry("v5", "v4", "v4"))
    assert walk(longer, "v1") == (["v2", "v3"], End.STRANDED)


def test_a_lower_entry_also_counts_and_can_lead_into_a_cycle() -> None:
    down = channel(entry("v1", skip_range="<=9.0.0"), entry("v2", "v1"))

    assert walk(down, "v2") == (["v1", "v2"], End.CIRCLE)


def test_an_entry_that_replaces_itself_is_not_an_upgrade() -> None:
    assert walk(channel(entry("v1", skip_range="<=1.0.0")), "v1") == ([], End.NEWEST)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ((entry("v1"), entry("v2")), "has 2 heads: v1, v2"),
        ((entry("v1", "v2"), entry("v2", "v1")), "has no head"),
        ((entry("v1", "v1"),), "has no head"),
        ((entry("v1", "v2"), entry("v2", "v1"), entry("v3", "v2")), "has a cycle"),
        ((), "has no head"),
    ],
)
def test_a_channel_without_a_single_chain_has_no_order(
    entries: tuple[dict[str, Any], ...], words: str
) -> None:
    with pytest.raises(BrokenChannelError, match=words):
        upgrades.order(channel(*entries))


def walk_of_v1(found: Package, start: str, *names: str) -> tuple[list[str], End]:
    entries = {name: one for line in found.channels.values() for name, one in line.entries.items()}
    upgrade_path = upgrades.path_of_v1(found, names, upgrades.start_of(entries, start))
    return hops(upgrade_path), upgrade_path.end


def test_olm_v1_selects_the_highest_successor_skipped_or_not() -> None:
    found = package((entry("v1"), entry("v2", "v1"), entry("v3", "v2", "v2")))

    assert walk_of_v1(found, "v1") == (["v2", "v3"], End.NEWEST)


def test_olm_v1_sees_all_channels_and_several_heads() -> None:
    found = package(CHAIN, (entry("v9", "v1"), entry("v5", "v1")))

    assert walk_of_v1(found, "v1") == (["v9"], End.NEWEST)
    assert walk_of_v1(found, "v1", "c0") == (["v2", "v3"], End.NEWEST)


def test_olm_v1_selects_deprecated_bundles_last_and_never_downgrades() -> None:
    found = package((entry("v1"), entry("v2", "v1"), entry("v3", "v1")), deprecated="v3")
    assert walk_of_v1(found, "v1") == (["v2"], End.NEWEST)

    down = package((entry("v1", skip_range="<=9.0.0"), entry("v2", "v1")))
    assert walk_of_v1(down, "v2") == ([], End.NEWEST)


def test_olm_v1_selects_the_installed_version_under_another_name() -> None:
    found = package((entry("v1"), entry("v2", "v1")))
    start = upgrades.start_of({}, "other.v1", Version.parse("1.0.0"))
    path = upgrades.path_of_v1(found, (), start)

    assert [(hop.entry.name, str(hop.by)) for hop in path.hops] == [
        ("v1", "same version"), ("v2", "replaces"),
    ]  # fmt: skip
    assert path.end is End.NEWEST


def test_olm_v1_prefers_the_best_bundle_and_only_of_the_given_channels() -> None:
    found = package(CHAIN, (entry("v1"), entry("v9", "v1"), entry("v5", "v1")))

    def names(query: upgrades.UpgradeQuery) -> list[str]:
        return [one.name for one in upgrades.offers_of_v1(found, query)]

    assert names(upgrades.UpgradeQuery()) == ["v9", "v5", "v3", "v2", "v1"]
    assert names(upgrades.UpgradeQuery(channels=("c0",))) == ["v3", "v2", "v1"]
    start = upgrades.start_of({}, "v1", Version.parse("1.0.0"))
    assert names(upgrades.UpgradeQuery(channels=("c0",), installed=start)) == ["v2", "v1"]
    limited = upgrades.UpgradeQuery(range=VersionConstraint.parse(">1, <9"))
    assert names(limited) == ["v5", "v3", "v2"]
    assert upgrades.path_of_v1(found, (), start).newest == "v9"
    free = upgrades.UpgradeQuery(channels=("c1",), installed=start, is_free=True)
    assert names(free) == ["v9", "v5", "v1"]


def test_a_path_of_olm_v1_that_ends_below_the_version_of_a_new_install_is_not_the_newest() -> None:
    found = package((entry("v1"), entry("v2", "v1"), entry("v9")))
    assert walk_of_v1(found, "v1")[0] == ["v2"]
    assert walk_of_v1(found, "v1")[1] is not End.NEWEST


def test_olm_v1_needs_a_bundle() -> None:
    with pytest.raises(InputError, match="no bundle"):
        upgrades.path_of_v1(package(()), (), Start("v1"))


def test_an_entry_that_olm_never_selects_is_passed_and_named() -> None:
    found = channel(*CHAIN)
    blocked = found.entries["v2"].bundle
    assert blocked is not None
    listed = dataclasses.replace(
        blocked.properties, order=(*blocked.properties.order, "olm.deprecated")
    )
    entry_of_v2 = dataclasses.replace(
        found.entries["v2"], bundle=dataclasses.replace(blocked, properties=listed)
    )
    found = dataclasses.replace(found, entries={**found.entries, "v2": entry_of_v2})

    path = upgrades.upgrade_path(found, upgrades.start_of(found.entries, "v1"))
    assert (hops(path), path.end, path.newest) == ([], End.STRANDED, "v3")
    assert [str(one) for one in path.obstacles] == [
        "`v2` is deprecated (property `olm.deprecated`)"
    ]
    assert walk(found, "v2") == (["v3"], End.NEWEST)

    over = dataclasses.replace(found.entries["v3"], skips=("v1",))
    around = dataclasses.replace(found, entries={**found.entries, "v3": over})
    assert walk(around, "v1") == (["v3"], End.NEWEST)


def test_a_channel_with_a_slash_in_its_name_has_no_order() -> None:
    with pytest.raises(BrokenChannelError, match="slash"):
        upgrades.order(dataclasses.replace(channel(*CHAIN), name="release/1"))


def test_an_entry_without_a_path_to_the_newest_is_stranded() -> None:
    found = channel(
        entry("v1"),
        entry("v2", "v1"),  # off the chain: no entry follows it
        entry("v3", "v1"),
        entry("v4", "v3", "v5"),
        entry("v0"),  # neither replaced nor in a range, but skipped
        entry("v6", "v4", "v2x", "v0", skip_range=">=4.0.0 <5.0.0"),
    )
    with pytest.raises(BrokenChannelError):
        upgrades.stranded_entries(found)  # v2 is a second head
    found = channel(
        entry("v1"),
        entry("v2", "v1", "v8"),
        entry("v3", "v1", "v2"),
        entry("v8", "v1"),
        entry("v4", "v3"),
    )
    # v8 could only upgrade to v2, which is skipped, so OLM v0 never selects it.
    assert upgrades.stranded_entries(found) == {"v8"}
    assert walk(found, "v8") == ([], End.STRANDED)
    for name in found.entries:
        assert (walk(found, name)[1] == End.STRANDED) == (name in upgrades.stranded_entries(found))


def test_a_skip_range_leads_back_to_the_newest() -> None:
    lost = (entry("v1"), entry("v2", "v1", "v8"), entry("v3", "v1", "v2"), entry("v8", "v1"))
    found = channel(*lost, entry("v4", "v3", skip_range="<9.0.0"))
    assert not upgrades.stranded_entries(found)


def test_the_shortest_path_of_olm_v1_into_a_range() -> None:
    found = package((entry("v1"), entry("v2", "v1"), entry("v3", "v2")), (entry("v4", "v2"),))
    start = upgrades.start_of({}, "v1", Version.parse("1.0.0"))

    def names(constraint: str, *channels: str) -> list[str]:
        query = upgrades.UpgradeQuery(
            channels=channels, installed=start, range=VersionConstraint.parse(constraint)
        )
        return [one.name for one in upgrades.shortest_path_of_v1([found], query)]

    assert names("3.x") == ["v2", "v3"]
    assert names(">2") == ["v2", "v4"]
    assert names("4.x", "c0") == []
    assert upgrades.shortest_path_of_v1([found], upgrades.UpgradeQuery()) == ()
