"""The difference between two catalogs."""

from __future__ import annotations

from typing import Any

from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.changes import difference
from olmkit.catalog.changes.difference import Difference, Field, Kind
from olmkit.catalog.model import Catalog

PACKAGE = {"schema": "olm.package", "name": "cog", "defaultChannel": "stable"}
CHANNEL = {
    "schema": "olm.channel",
    "package": "cog",
    "name": "stable",
    "entries": [{"name": "cog.v1"}, {"name": "cog.v2", "replaces": "cog.v1"}],
}
BUNDLE = {"schema": "olm.bundle", "package": "cog", "image": "a/b:1", "properties": []}
BLOBS = (PACKAGE, CHANNEL, BUNDLE | {"name": "cog.v1"}, BUNDLE | {"name": "cog.v2"})


def catalog(*blobs: dict[str, Any]) -> Catalog:
    return model.from_blobs([Blob.of(blob) for blob in blobs])


def differences(*now: dict[str, Any]) -> list[Difference]:
    return list(difference.compare_catalogs(catalog(*BLOBS), catalog(*now)))


def test_equal_catalogs_have_no_differences() -> None:
    assert differences(*BLOBS) == []
    assert differences(*reversed(BLOBS)) == []


def test_an_addition_or_removal_is_one_difference() -> None:
    pot = {"schema": "olm.package", "name": "pot", "defaultChannel": "fast"}
    assert differences(*BLOBS, pot) == [
        Difference(
            kind=Kind.ADDED,
            package="pot",
            fields=(Field(name="defaultChannel", old="", new="fast"),),
        )
    ]
    assert differences() == [Difference(kind=Kind.REMOVED, package="cog")]


def test_entries_differ_by_their_edges() -> None:
    entries = [
        {"name": "cog.v2", "skips": ["cog.v1"], "skipRange": "<2.0.0"},
        {"name": "cog.v3", "replaces": "cog.v2"},
    ]
    found = differences(PACKAGE, CHANNEL | {"entries": entries}, *BLOBS[2:])

    assert [(one.kind, one.entry or one.channel) for one in found] == [
        (Kind.CHANGED, "stable"),
        (Kind.REMOVED, "cog.v1"),
        (Kind.CHANGED, "cog.v2"),
        (Kind.ADDED, "cog.v3"),
    ]
    assert found[0].fields == (Field(name="head", old="cog.v2", new="cog.v3"),)
    assert found[2].fields == (
        Field(name="replaces", old="cog.v1", new=""),
        Field(name="skips", old="", new="cog.v1"),
        Field(name="skipRange", old="", new="<2.0.0"),
    )


def test_bundles_differ_by_image_properties_and_deprecation() -> None:
    properties = [{"type": "olm.label", "value": {"label": "red"}}]
    changed = BUNDLE | {"name": "cog.v2", "image": "a/b:2", "properties": properties}
    reference = {"schema": "olm.bundle", "name": "cog.v1"}
    old = {
        "schema": "olm.deprecations",
        "package": "cog",
        "entries": [{"reference": reference, "message": "too old"}],
    }
    first, second = differences(*BLOBS[:3], changed, old)

    assert (first.bundle, first.fields) == (
        "cog.v1",
        (Field(name="deprecation", old="", new="too old"),),
    )
    assert second.fields == (
        Field(name="image", old="a/b:1", new="a/b:2"),
        Field(name="properties", old="", new='olm.label: {"label":"red"}'),
    )
