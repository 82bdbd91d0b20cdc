"""Outlines: blobs without their large values."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.blobs import outline
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.icons import Icon
from olmkit.catalog.blobs.outline import (
    BundleOutline,
    ChannelOutline,
    CustomOutline,
    DeprecationOutline,
    DeprecationsOutline,
    EntryOutline,
    FilePlace,
    Files,
    PackageOutline,
    RelatedImage,
)


def test_a_package_keeps_the_type_of_its_icon() -> None:
    blob = Blob.of(
        {
            "schema": "olm.package",
            "name": "cog",
            "icon": {"base64data": "iVBORw0KGgo=", "mediatype": "image/png"},
        }
    )

    assert outline.outline_blob(blob) == PackageOutline(
        name="cog", default_channel="", icon=Icon("image/png", "image/png", 8), place=blob
    )


def test_a_channel_has_its_entries() -> None:
    entries = [{"name": "a", "replaces": "b", "skips": ["c"], "skipRange": "<1.0.0"}, None]
    blob = Blob.of({"schema": "olm.channel", "name": "s", "package": "p", "entries": entries})

    found = outline.outline_blob(blob)

    assert isinstance(found, ChannelOutline)
    assert found.entries == (
        EntryOutline(name="a", replaces="b", skips=("c",), skip_range="<1.0.0"),
        EntryOutline(name=""),
    )


def test_a_bundle_has_its_properties_and_images() -> None:
    blob = Blob.of(
        {
            "schema": "olm.bundle",
            "name": "a",
            "package": "p",
            "image": "i",
            "properties": [{"type": "olm.bundle.object", "value": {"data": "e30="}}, {"type": "x"}],
            "relatedImages": [{"image": "j"}],
        }
    )

    found = outline.outline_blob(blob)

    assert isinstance(found, BundleOutline)
    assert found.properties.objects == 1
    assert [fault.index for fault in found.properties.faults] == [1]
    assert found.related_images == (RelatedImage("", "j"),)


def test_deprecations_and_custom_blobs_are_shortened() -> None:
    entries = [{"reference": {"schema": "olm.bundle", "name": "a"}, "message": "m"}]
    deprecations = Blob.of({"schema": "olm.deprecations", "package": "p", "entries": entries})
    custom = Blob.of({"schema": "v", "package": "p", "name": "n", "x": [1]})

    assert list(outline.outline_blobs([deprecations, custom])) == [
        DeprecationsOutline(
            package="p",
            entries=(DeprecationOutline(schema="olm.bundle", name="a", message="m"),),
            place=deprecations,
        ),
        CustomOutline(schema="v", package="p", name="n", place=custom),
    ]


def test_a_field_of_a_wrong_type_is_refused() -> None:
    blob = Blob.of({"schema": "olm.package", "name": "a", "icon": 5})

    with pytest.raises(InputError, match="parse package: json: cannot unmarshal number"):
        outline.outline_blob(blob)


def test_a_position_in_a_file_is_found_again() -> None:
    text = b'{"schema": "olm.package",\n "name": "cog"}'
    files = Files(Tree({"c.json": b"\n\n  " + text + b"\n"}))
    place = FilePlace("c.json", 0, 4, 4 + len(text), 2, 2, files)

    assert str(place.at("schema")) == "c.json:3:14"
    assert str(place.at("name")) == "c.json:4:10"
    assert outline.blob_at(place).name == "cog"


def test_a_generated_blob_is_its_own_source() -> None:
    blob = Blob.of({"schema": "v"})

    assert outline.blob_at(blob) is blob
