"""Tables of the contents of a catalog."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from olmkit.base.version_constraints import VersionConstraint
from olmkit.catalog import listing, model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.listing import BundleRow, ChannelRow, Filter, PackageRow
from olmkit.catalog.model import Catalog


def _catalog(*manifests: Any) -> Catalog:
    objects = [
        {
            "type": "olm.bundle.object",
            "value": {"data": base64.b64encode(json.dumps(manifest).encode()).decode()},
        }
        for manifest in manifests
    ]
    values = [
        {"schema": "olm.package", "name": "cog", "defaultChannel": "stable"},
        {
            "schema": "olm.channel",
            "package": "cog",
            "name": "stable",
            "entries": [{"name": "b", "replaces": "a", "skips": ["x", "y"]}, {"name": "a"}],
        },
        {"schema": "olm.bundle", "package": "cog", "name": "b", "image": "i"}
        | {"properties": objects},
    ]
    return model.from_blobs(Blob.of(value) for value in values)


def test_rows_are_sorted() -> None:
    catalog = _catalog()

    assert list(listing.channels(catalog)) == [
        ChannelRow(package="cog", channel="stable", head="b", is_default=True, entries=2)
    ]
    assert [row.bundle for row in listing.bundles(catalog, "cog")] == ["a", "b"]
    assert list(listing.bundles(catalog))[1] == BundleRow(
        package="cog",
        channel="stable",
        bundle="b",
        replaces="a",
        skips=("x", "y"),
        skip_range="",
        image="i",
        is_head=True,
    )


@pytest.mark.parametrize(
    ("manifests", "name"),
    [
        ([], ""),
        ([{"kind": "Service"}], ""),
        ([{"kind": "ClusterServiceVersion", "spec": {"displayName": "Cog"}}], "Cog"),
        ([{"kind": "ClusterServiceVersion", "spec": {"displayName": 5}}], ""),
        ([{"kind": "ClusterServiceVersion", "spec": []}], ""),
    ],
)
def test_the_display_name_is_that_of_the_inlined_csv(manifests: list[Any], name: str) -> None:
    assert list(listing.packages(_catalog(*manifests))) == [
        PackageRow(name="cog", display_name=name, default_channel="stable", channels=1, bundles=1)
    ]


def test_columns_are_two_spaces_apart() -> None:
    text = listing.text(("A", "LONG", "C"), [("1", "", "3"), ("1234", "2", "")])

    assert text == "A     LONG  C\n1           3\n1234  2     \n"
    trimmed = listing.text(("A", "B"), [("1", "")], trimmed=True)
    assert trimmed == "A  B\n1\n"


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (Filter(), ["a", "b"]),
        (Filter(packages=("c*", "x")), ["a", "b"]),
        (Filter(packages=("C*",)), []),
        (Filter(channels=("fast",)), []),
        (Filter(heads=True), ["b"]),
        (Filter(deprecated=True), []),
        (Filter(versions=VersionConstraint.parse(">=0.0.0")), []),
    ],
)
def test_a_filter_omits_rows_that_do_not_match(wanted: Filter, names: list[str]) -> None:
    assert [row.bundle for row in listing.bundles(_catalog(), filter_=wanted)] == names
