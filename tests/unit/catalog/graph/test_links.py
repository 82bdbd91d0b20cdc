"""Upgrade graphs: heads, chains, stranded entries, edges."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.graph import links as graph
from olmkit.catalog.graph.links import Chain, Edge, EdgeKind
from olmkit.catalog.model import Channel


def _channel(*entries: dict[str, Any]) -> Channel:
    blobs = [
        Blob.of({"schema": "olm.package", "name": "cog", "defaultChannel": "stable"}),
        Blob.of(
            {"schema": "olm.channel", "package": "cog", "name": "stable", "entries": [*entries]}
        ),
        *(
            Blob.of(
                {
                    "schema": "olm.bundle",
                    "package": "cog",
                    "name": entry["name"],
                    "image": "a/b:1",
                    "properties": [
                        {
                            "type": "olm.package",
                            "value": {"packageName": "cog", "version": f"{number}.0.0"},
                        }
                    ],
                }
            )
            for number, entry in enumerate(entries)
        ),
    ]
    return model.from_blobs(blobs).packages["cog"].channels["stable"]


def _entry(name: str, replaces: str = "", *skips: str, skip_range: str = "") -> dict[str, Any]:
    return {"name": name, "replaces": replaces, "skips": list(skips), "skipRange": skip_range}


def test_the_head_is_the_entry_that_no_other_entry_replaces_or_skips() -> None:
    channel = _channel(_entry("a"), _entry("b", "a"), _entry("c", "b", "x"), _entry("x"))

    assert graph.heads(channel) == ("c",)
    head = graph.head(channel)
    assert head is not None
    assert graph.chain(channel, head) == Chain(("c", "b", "a", ""))
    assert graph.stranded_entries(channel, graph.chain(channel, head)) == ()


def test_skip_ranges_create_no_head_and_no_chain() -> None:
    channel = _channel(_entry("a"), _entry("b", skip_range=">=0.0.0 <1.0.0"))

    assert graph.heads(channel) == ("a", "b")
    assert graph.head(channel) is None
    assert list(graph.edges(channel)) == [Edge("a", "b", EdgeKind.SKIP_RANGE)]


def test_an_entry_that_replaces_itself_is_not_a_head() -> None:
    assert graph.heads(_channel(_entry("a", "a"))) == ()


def test_a_chain_can_end_at_a_missing_entry() -> None:
    channel = _channel(_entry("b", "gone"))

    assert graph.chain(channel, channel.entries["b"]) == Chain(("b", "gone"))


def test_a_chain_ends_before_a_skipped_entry() -> None:
    channel = _channel(_entry("a"), _entry("b", "a"), _entry("c", "b", "b"))

    reached = graph.chain(channel, channel.entries["c"])

    assert reached == Chain(("c",))
    assert graph.stranded_entries(channel, reached) == ("a",)


def test_a_cycle_is_reported_from_its_first_name_to_itself() -> None:
    channel = _channel(_entry("a", "b"), _entry("b", "a"), _entry("c", "b"))

    reached = graph.chain(channel, channel.entries["c"])

    assert reached.cycle == ("b", "a", "b")


def test_a_cycle_of_skipped_entries_is_not_reported() -> None:
    channel = _channel(_entry("a", "b"), _entry("b", "a"), _entry("c", "", "a", "b"))

    assert graph.chain(channel, channel.entries["c"]) == Chain(("c", ""))


def test_edges_are_skips_then_skip_range_then_replaces() -> None:
    channel = _channel(_entry("a"), _entry("b", "a", "a", skip_range="<1.0.0"))

    assert list(graph.edges_to(channel, channel.entries["b"])) == [
        Edge("a", "b", EdgeKind.SKIPS),
        Edge("a", "b", EdgeKind.SKIP_RANGE),
        Edge("a", "b", EdgeKind.REPLACES),
    ]


def test_an_invalid_skip_range_has_no_edge() -> None:
    channel = _channel(_entry("a"), _entry("b", skip_range="^1.0.0"))

    assert list(graph.edges(channel)) == []


def test_entries_are_ordered_from_the_newest_to_the_oldest() -> None:
    channel = _channel(_entry("z"), _entry("m"), _entry("a"))

    ordered = [entry.name for entry in graph.sort_by_version(channel.entries)]

    assert ordered == ["a", "m", "z"]


NAMES = ["a", "b", "c", "d"]


@pytest.mark.property
@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            st.sampled_from([*NAMES, "", "gone"]),
            st.lists(st.sampled_from([*NAMES, "gone"]), max_size=2),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda entry: entry[0],
    )
)
def test_every_entry_of_a_valid_channel_is_reached_or_skipped(
    entries: list[tuple[str, str, list[str]]],
) -> None:
    channel = _channel(*(_entry(name, replaces, *skips) for name, replaces, skips in entries))
    head = graph.head(channel)
    if head is None:
        return

    reached = graph.chain(channel, head)

    assert reached.names[0] == head.name
    assert len(set(reached.names)) == len(reached.names)
    lost = graph.stranded_entries(channel, reached)
    assert set(channel.entries) == (
        set(channel.entries) & (set(reached.names) | graph.skipped_names(channel)) | set(lost)
    )
    if reached.cycle:
        assert reached.cycle[0] == reached.cycle[-1]
