"""Parts of catalogs that include files of opm select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.changes import include_file, inclusion
from olmkit.catalog.model import Catalog


def channel(package: str, name: str, *entries: str) -> dict[str, Any]:
    """A channel; an entry is `NAME`, `NAME>REPLACED` or `NAME>REPLACED^SKIPPED`."""
    listed = []
    for text in entries:
        text, _, skipped = text.partition("^")
        entry, _, replaced = text.partition(">")
        listed.append({"name": entry, "replaces": replaced, "skips": [skipped] * bool(skipped)})
    return {"schema": "olm.channel", "package": package, "name": name, "entries": listed}


def bundle(name: str, *properties: dict[str, Any]) -> dict[str, Any]:
    package, _, version = name.partition(".v")
    identity = {"type": "olm.package", "value": {"packageName": package, "version": version}}
    return {"schema": "olm.bundle", "package": package, "name": name, "image": "i"} | {
        "properties": [identity, *properties]
    }


def catalog(*values: dict[str, Any]) -> Catalog:
    names = dict.fromkeys(one["package"] for one in values)
    packages = [
        {"schema": "olm.package", "name": name, "defaultChannel": "stable"} for name in names
    ]
    return model.from_blobs(Blob.of(value) for value in (*packages, *values))


def taken(found: Catalog, text: str) -> dict[str, dict[str, Sequence[str]]]:
    wanted = include_file.read(documents.load(text.encode(), "include.yaml"))
    return {
        package: {name: sorted(names) for name, names in part.channels.items()}
        for package, part in inclusion.parts(found, wanted).items()
    }


def gvk(kind: str, *, required: bool = False) -> dict[str, Any]:
    value = {"group": "g", "version": "v1", "kind": kind}
    return {"type": "olm.gvk.required" if required else "olm.gvk", "value": value}


LAMP = catalog(
    channel("a", "stable", "a.v1.0.0", "a.v1.1.0>a.v1.0.0", "a.v1.2.0>a.v1.0.0^a.v1.1.0"),
    channel("a", "fast", "a.v1.2.0", "a.v2.0.0>a.v1.2.0"),
    *map(bundle, ("a.v1.0.0", "a.v1.1.0", "a.v1.2.0", "a.v2.0.0")),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[{name: a}]",
            {
                "stable": ["a.v1.0.0", "a.v1.1.0", "a.v1.2.0"],
                "fast": ["a.v1.2.0", "a.v2.0.0"],
            },
        ),
        (
            "[{name: a, channels: [{name: stable}]}]",
            {"stable": ["a.v1.0.0", "a.v1.1.0", "a.v1.2.0"]},
        ),
        # The path from a skipped version to the head avoids the version that it replaces.
        (
            "[{name: a, channels: [{name: stable, versions: [1.1.0]}]}]",
            {"stable": ["a.v1.1.0", "a.v1.2.0"]},
        ),
        (
            "[{name: a, channels: [{name: stable, bundles: [a.v1.2.0]}]}]",
            {"stable": ["a.v1.2.0"]},
        ),
        # A range only includes the versions in it.
        (
            "[{name: a, channels: [{name: stable, range: '<1.2.0'}]}]",
            {"stable": ["a.v1.0.0", "a.v1.1.0"]},
        ),
        # Versions of a package are searched in all channels; one channel is sufficient.
        (
            "[{name: a, versions: [1.2.0, 1.0.0]}]",
            {"stable": ["a.v1.0.0", "a.v1.1.0", "a.v1.2.0"], "fast": ["a.v1.2.0", "a.v2.0.0"]},
        ),
        (
            "[{name: a, range: '>=1.2.0'}]",
            {"stable": ["a.v1.2.0"], "fast": ["a.v1.2.0", "a.v2.0.0"]},
        ),
    ],
)
def test_packages_channels_and_versions_are_selected(
    text: str, expected: dict[str, list[str]]
) -> None:
    assert taken(LAMP, f"packages: {text}") == {"a": expected}


def test_another_default_channel_replaces_one_that_is_not_kept() -> None:
    text = "packages: [{name: a, channels: [{name: fast}], defaultChannel: fast}]"

    wanted = include_file.read(documents.load(text.encode(), "include.yaml"))

    assert inclusion.parts(LAMP, wanted)["a"].default_channel == "fast"


def test_required_bundles_are_included_with_their_upgrades() -> None:
    wanted = {"type": "olm.package.required"}
    found = catalog(
        channel("a", "stable", "a.v1.0.0"),
        bundle("a.v1.0.0", gvk("B", required=True)),
        channel("b", "stable", "b.v1.0.0", "b.v2.0.0>b.v1.0.0"),
        channel("b", "beta", "b.v2.0.0"),
        bundle("b.v1.0.0", gvk("B")),
        bundle(
            "b.v2.0.0",
            gvk("B"),
            wanted | {"value": {"packageName": "c", "versionRange": "<2.0.0"}},
        ),
        channel("c", "stable", "c.v1.0.0", "c.v1.1.0>c.v1.0.0", "c.v2.0.0>c.v1.1.0"),
        *map(bundle, ("c.v1.0.0", "c.v1.1.0", "c.v2.0.0")),
        channel("d", "stable", "d.v1.0.0"),
        bundle("d.v1.0.0", gvk("B")),
    )

    assert taken(found, "packages: [{name: a}]") == {
        "a": {"stable": ["a.v1.0.0"]},
        "b": {"stable": ["b.v2.0.0"]},
        "c": {"stable": ["c.v1.1.0", "c.v2.0.0"]},
    }
    # A selected bundle already provides the API.
    assert list(taken(found, "packages: [{name: a}, {name: d}]")) == ["a", "d"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("packages: []", "no packages are named"),
        ("packages: [{name: a}, {name: a}]", "package `a` is listed more than once"),
        ("packages: [{channels: []}]", "a package has no name"),
        ("packages: [{name: a, channels: [{}]}]", "a channel of package `a` has no name"),
        ("packages: [{name: a, versions: ['1.0']}]", "`1.0` is not a semantic version"),
        ("packages: [{name: a, range: x}]", "`x` is not a version range"),
        ("packages: [{name: a, range: '>1.0.0', bundles: [b]}]", "excludes versions and bundles"),
        (
            "packages: [{name: a, range: '>1.0.0', channels: [{name: s}]}]",
            "has a range and channels",
        ),
        (
            "packages: [{name: a, range: '>1.0.0', channels: [{name: s, range: '>1.0.0'}]}]",
            "has a range, and so has one of its channels",
        ),
        ("packages: [{name: a, chanels: []}]", "unknown key"),
        (
            "packages: [{name: z}, {name: a, versions: [9.0.0]}]",
            "package `z` is not in the catalog; package `a` has no version 9.0.0",
        ),
        ("packages: [{name: a, channels: [{name: fast}]}]", "default channel"),
        ("packages: [{name: a, range: '>3.0.0'}]", "`a` has no version in `>3.0.0`"),
        (
            "packages: [{name: a, channels: [{name: fast, range: '<1.0.0'}]}]",
            "channel `fast` of package `a` has no version in `<1.0.0`",
        ),
    ],
)
def test_invalid_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        taken(LAMP, text)
