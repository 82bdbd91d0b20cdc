"""The model: the meaning of blobs together, including invalid ones."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.versions import Version, VersionRelease
from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.model import Catalog


def _package(name: str = "cog", **fields: Any) -> dict[str, Any]:
    return {"schema": "olm.package", "name": name, "defaultChannel": "stable", **fields}


def _channel(name: str, *entries: str, package: str = "cog") -> dict[str, Any]:
    listed = [{"name": entry} for entry in entries]
    return {"schema": "olm.channel", "package": package, "name": name, "entries": listed}


def _bundle(name: str, *versions: str, **fields: Any) -> dict[str, Any]:
    identities = [
        {"type": "olm.package", "value": {"packageName": "cog", "version": version}}
        for version in versions
    ]
    return {
        "schema": "olm.bundle",
        "package": "cog",
        "name": name,
        "properties": identities,
        **fields,
    }


def _built(*values: dict[str, Any]) -> Catalog:
    return model.from_blobs(Blob.of(value) for value in values)


def test_blobs_are_linked_in_any_order() -> None:
    catalog = _built(
        _bundle("a", "1.0.0"), _channel("stable", "a", "b"), _channel("fast", "a"), _package()
    )

    package = catalog.packages["cog"]
    assert package.default_channel == "stable"
    assert list(package.channels) == ["stable", "fast"]
    entry = package.channels["stable"].entries["a"]
    assert entry.bundle is package.bundles["a"]
    assert entry.version == VersionRelease(Version(1, 0, 0))
    assert package.channels["stable"].entries["b"].bundle is None
    assert [channel.name for channel in catalog.entries_of["cog", "a"]] == ["stable", "fast"]


def test_of_several_blobs_with_one_name_the_first_counts() -> None:
    catalog = _built(
        _package(),
        _package(defaultChannel="fast"),
        _channel("stable", "a", "a"),
        _channel("stable", "b"),
        _bundle("a", "1.0.0"),
        _bundle("a", "2.0.0"),
    )

    package = catalog.packages["cog"]
    assert package.default_channel == "stable"
    assert list(package.channels["stable"].entries) == ["a"]
    assert package.channels["stable"].entries["a"].index == 0
    assert str(package.bundles["a"].version) == "1.0.0"
    assert len(catalog.outlines.packages) == 2
    assert len(catalog.outlines.bundles) == 2


def test_blobs_without_an_owner_are_kept_separately() -> None:
    catalog = _built(_channel("stable", "a"), _package(""), {"schema": "vendor.note"})

    assert catalog.packages == {}
    assert [channel.name for channel in catalog.outlines.channels] == ["stable"]
    assert [custom.schema for custom in catalog.outlines.customs] == ["vendor.note"]


@pytest.mark.parametrize("versions", [(), ("1.0.0", "1.0.0"), ("v1",)])
def test_the_version_of_a_bundle_is_optional(versions: tuple[str, ...]) -> None:
    catalog = _built(_package(), _channel("stable", "a"), _bundle("a", *versions))

    assert catalog.packages["cog"].bundles["a"].version is None
    assert catalog.packages["cog"].channels["stable"].entries["a"].version == model.NO_VERSION


def test_deprecations_are_assigned_to_packages_channels_and_bundles() -> None:
    catalog = _built(
        _package(),
        _channel("stable", "a"),
        _bundle("a", "1.0.0"),
        {
            "schema": "olm.deprecations",
            "package": "cog",
            "entries": [
                {"reference": {"schema": "olm.package"}, "message": "p"},
                {"reference": {"schema": "olm.channel", "name": "stable"}, "message": "c"},
                {"reference": {"schema": "olm.bundle", "name": "a"}, "message": ""},
            ],
        },
    )

    package = catalog.packages["cog"]
    assert package.deprecation == "p"
    assert package.channels["stable"].deprecation == "c"
    assert package.bundles["a"].deprecation == ""


def test_packages_are_selected_by_name() -> None:
    catalog = _built(_package("b"), _package("a"))

    assert [package.name for package in catalog.chosen()] == ["a", "b"]
    assert [package.name for package in catalog.chosen("b")] == ["b"]
    with pytest.raises(InputError, match="package `c` not found") as raised:
        catalog.chosen("c")
    assert raised.value.hint == "the catalog has `a`, `b`"
