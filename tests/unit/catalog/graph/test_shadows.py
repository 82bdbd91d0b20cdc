"""Entries at which no upgrade of OLM v0 stops."""

from __future__ import annotations

from typing import Any

from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.graph import shadows, upgrades
from olmkit.catalog.graph.links import EdgeKind
from olmkit.catalog.model import Channel


def entry(name: str, replaces: str = "", *skips: str, skip_range: str = "") -> dict[str, Any]:
    return {"name": name, "replaces": replaces, "skips": list(skips), "skipRange": skip_range}


def channel(*entries: dict[str, Any], hidden: str = "") -> Channel:
    """The number in the name of a bundle is its version; OLM never selects the one `hidden`."""
    blobs = [
        Blob.of({"schema": "olm.package", "name": "cog", "defaultChannel": "c"}),
        Blob.of({"schema": "olm.channel", "package": "cog", "name": "c", "entries": list(entries)}),
    ]
    for one in entries:
        version = f"{one['name'].lstrip('v')}.0.0"
        properties = [
            {"type": "olm.package", "value": {"packageName": "cog", "version": version}},
            *([{"type": "olm.deprecated", "value": {}}] if one["name"] == hidden else []),
        ]
        blobs.append(Blob.of({
            "schema": "olm.bundle", "package": "cog", "name": one["name"], "image": "a/b:1",
            "properties": properties,
        }))  # fmt: skip
    return model.from_blobs(blobs).packages["cog"].channels["c"]


def shadowed(found: Channel) -> dict[str, tuple[str, ...]]:
    """Return the shadowed entries, each with the entries in front of it and their successors."""
    starts = [upgrades.start_of(found.entries, name) for name in found.entries]
    return {
        one.entry.name: (*one.by, *one.kinds)
        for one in shadows.find_shadows(found, upgrades.upgrade_paths(found, starts))
    }


CHAIN = (entry("v1"), entry("v2", "v1"), entry("v3", "v2"))


def test_in_a_plain_chain_every_entry_is_a_step() -> None:
    assert shadowed(channel(*CHAIN)) == {}


def test_a_skip_range_of_the_head_shadows_all_entries_between() -> None:
    found = shadowed(channel(*CHAIN, entry("v4", "v3", skip_range="<4.0.0")))

    assert found == {
        "v2": ("v4", EdgeKind.SKIP_RANGE),
        "v3": ("v4", EdgeKind.SKIP_RANGE),
    }


def test_a_skip_range_that_begins_above_the_first_entry_leaves_a_step() -> None:
    found = shadowed(channel(*CHAIN, entry("v4", "v3", skip_range=">=2.0.0 <4.0.0")))

    assert found == {"v3": ("v4", EdgeKind.SKIP_RANGE)}


def test_a_skipped_entry_is_shadowed_only_if_an_edge_leads_to_it() -> None:
    assert shadowed(channel(entry("v1"), entry("v2", "v1"), entry("v3", "v1", "v2"))) == {
        "v2": ("v3",)
    }
    assert shadowed(channel(entry("v1"), entry("v2"), entry("v3", "v1", "v2"))) == {}


def test_skips_of_the_head_shadow_an_entry_that_replaces_the_same_one() -> None:
    found = shadowed(channel(entry("v1"), entry("v2", "v1"), entry("v3", "v2", "v1")))

    assert found == {"v2": ("v3", EdgeKind.SKIPS)}


def test_an_entry_that_olm_never_selects_is_not_shadowed() -> None:
    assert shadowed(channel(*CHAIN, hidden="v2")) == {}


def test_a_channel_without_entries_has_no_shadows() -> None:
    assert shadows.find_shadows(channel(entry("v1")), ()) == ()
