"""Upgrade graphs as text; golden cases and vectors have complete graphs."""

from __future__ import annotations

from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.graph import drawing
from olmkit.catalog.model import Package

ODD = 'a"\\b'


def _packages() -> tuple[Package, ...]:
    values = [
        {"schema": "olm.package", "name": "cog", "defaultChannel": "stable"},
        {
            "schema": "olm.channel",
            "package": "cog",
            "name": "stable",
            "entries": [{"name": ODD, "replaces": "gone"}],
        },
        {"schema": "olm.channel", "package": "cog", "name": "empty", "entries": []},
    ]
    return model.from_blobs(Blob.of(value) for value in values).chosen()


def test_names_are_quoted_as_each_language_requires() -> None:
    assert '["a\\"\\\\b"]' in drawing.mermaid(_packages())
    assert '[label="a\\"\\\\b"]' in drawing.dot(_packages())


def test_a_missing_entry_is_dashed() -> None:
    assert '[label="gone" style=dashed]' in drawing.dot(_packages())


def test_lines_show_the_edges_to_each_entry() -> None:
    assert drawing.lines(_packages()) == (
        "cog (default channel stable)\n"
        "  empty\n"
        "  stable\n"
        '    a"\\b  head; replaces gone\n'
    )  # fmt: skip
