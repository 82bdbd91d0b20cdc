"""The graph of an index database: which edges are `replaces`, and which are `skips`."""

from __future__ import annotations

from olmkit.catalog.database.edges import Links, Node, links
from olmkit.catalog.database.tables import EntryRow


def row(id_: int, bundle: str, replaces: int | None, depth: int, channel: str = "a") -> EntryRow:
    return EntryRow(id_, channel, "p", bundle, replaces, depth)


def node(bundle: str, channel: str = "a") -> Node:
    return Node("p", channel, bundle)


def test_the_chain_from_the_head_is_replaces_and_the_other_edges_are_skips() -> None:
    rows = [
        row(1, "v3", 4, 0),
        row(2, "v3", 5, 1),
        row(3, "v3", 6, 2),
        row(4, "v2", 6, 1),
        row(5, "v1.5", None, 2),
        row(6, "v1", None, 3),
    ]

    assert links(rows) == {
        node("v3"): Links("v2", ("v1.5", "v1")),
        node("v2"): Links("v1", ()),
        node("v1.5"): Links("", ()),
        node("v1"): Links("", ()),
    }


def test_a_channel_whose_head_is_deeper_than_other_entries_has_no_chain() -> None:
    rows = [
        row(1, "v2", 2, 0),
        row(2, "v1", None, 1),
        row(3, "w2", 4, 1, "b"),
        row(4, "w1", None, 2, "b"),
    ]

    found = links(rows)

    assert found[node("v2")] == Links("v1", ())
    assert found[node("w2", "b")] == Links("", ("w1",))


def test_skips_are_in_the_order_of_their_rows_and_are_split_at_commas() -> None:
    rows = [
        row(1, "v3", None, 0),
        row(9, "v3", 5, 1),
        row(2, "v3", 6, 1),
        row(5, "b,c", None, 1),
        row(6, "a", None, 1),
    ]

    assert links(rows)[node("v3")].skips == ("a", "b", "c")


def test_edges_to_missing_entries_and_cycles_end() -> None:
    rows = [row(1, "v2", 2, 0), row(2, "v1", 1, 1), row(3, "v0", 77, 1), row(4, "none", None, 2)]

    assert links(rows) == {
        node("v2"): Links("v1", ()),
        node("v1"): Links("v2", ()),
        node("v0"): Links("", ()),
        node("none"): Links("", ()),
    }


def test_a_bundle_that_replaces_two_entries_of_the_chain_uses_the_last_by_name() -> None:
    rows = [row(1, "v3", 3, 0), row(2, "v3", 4, 0), row(3, "v1", None, 1), row(4, "v2", None, 1)]

    assert links(rows)[node("v3")] == Links("v2", ())
    assert links([]) == {}
