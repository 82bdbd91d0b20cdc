"""Parts of catalogs: heads, ranges with the versions between, and what depends on them."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.version_constraints import VersionConstraint
from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.changes import filtering
from olmkit.catalog.changes.filtering import PackageSelection

BUNDLES = [
    Blob.of({
        "schema": "olm.bundle", "package": "cog", "name": f"cog.v{version}", "image": "a/b:1",
        "properties": [
            {"type": "olm.package", "value": {"packageName": "cog", "version": f"{version}.0.0"}}
        ],
    })
    for version in range(1, 7)
]  # fmt: skip


def entry(version: int, replaces: int = 0, *skips: int) -> dict[str, Any]:
    found: dict[str, Any] = {"name": f"cog.v{version}"}
    if replaces:
        found["replaces"] = f"cog.v{replaces}"
    return found | ({"skips": [f"cog.v{one}" for one in skips]} if skips else {})


def channel(name: str, *entries: dict[str, Any]) -> Blob:
    return Blob.of({
        "schema": "olm.channel", "package": "cog", "name": name, "entries": list(entries),
        "note": "kept",
    })  # fmt: skip


PACKAGE = Blob.of({"schema": "olm.package", "name": "cog", "defaultChannel": "stable"})
# v5 replaces v3 and skips v4; v1 to v3 and v6 are on the chain.
STABLE = channel(
    "stable", entry(1), entry(2, 1), entry(3, 2), entry(4, 3), entry(5, 3, 4), entry(6, 5)
)
FAST = channel("fast", entry(6))
OLD = Blob.of({
    "schema": "olm.deprecations", "package": "cog",
    "entries": [
        {"reference": {"schema": "olm.package"}, "message": "all"},
        {"reference": {"schema": "olm.channel", "name": "fast"}, "message": "fast"},
        {"reference": {"schema": "olm.bundle", "name": "cog.v1"}, "message": "v1"},
    ],
})  # fmt: skip
NOTE = Blob.of({"schema": "vendor.note", "text": "of no package"})
OTHER = Blob.of({"schema": "olm.package", "name": "pot", "defaultChannel": "stable"})
BLOBS = [PACKAGE, STABLE, FAST, *BUNDLES, OLD, NOTE, OTHER]


def kept(wanted: PackageSelection) -> list[Blob]:
    return list(filtering.filter_blobs(BLOBS, filtering.parts(model.from_blobs(BLOBS), [wanted])))


def entries(wanted: PackageSelection, name: str = "stable") -> list[int]:
    """Return the versions of a channel that are kept."""
    for blob in kept(wanted):
        if (blob.schema, blob.name) == ("olm.channel", name):
            return [int(one["name"].removeprefix("cog.v")) for one in blob.value["entries"]]
    return []


def cog(text: str = "", **fields: Any) -> PackageSelection:
    return PackageSelection(
        package="cog", range=VersionConstraint.parse(text) if text else None, **fields
    )


@pytest.mark.parametrize(
    ("wanted", "versions"),
    [
        (cog(), [6]),
        (cog(is_full=True), [1, 2, 3, 4, 5, 6]),
        (cog(">=2.0.0, <4.0.0"), [2, 3]),
        (cog(">=2.0.0"), [2, 3, 4, 5, 6]),
        (cog("4.0.0"), [4, 5]),
        (cog("2.0.0 || 6.0.0"), [2, 3, 5, 6]),
        (cog(bundles=("cog.v3", "cog.v2")), [2, 3]),
    ],
    ids=str,
)
def test_of_a_channel_the_head_or_a_range_with_the_versions_between_is_kept(
    wanted: PackageSelection, versions: list[int]
) -> None:
    assert entries(wanted) == versions


def test_a_version_between_that_is_not_in_the_range_is_reported() -> None:
    found = filtering.parts(model.from_blobs(BLOBS), [cog("2.0.0 || 6.0.0")])
    assert found["cog"].extra == ("cog.v5", "cog.v3")


def test_edges_and_unknown_fields_are_kept_and_references_to_removed_bundles_are_removed() -> None:
    found = {(blob.schema, blob.name): blob for blob in kept(cog(">=5.0.0, <6.0.0"))}

    assert found["olm.channel", "stable"].value["entries"] == [entry(5, 3, 4)]
    assert found["olm.channel", "stable"].value["note"] == "kept"
    assert [name for schema, name in found if schema == "olm.bundle"] == ["cog.v5"]
    assert ("olm.channel", "fast") not in found
    assert [one["message"] for one in found["olm.deprecations", ""].value["entries"]] == ["all"]
    assert ("vendor.note", "") in found
    assert ("olm.package", "pot") not in found


def test_a_removed_default_channel_needs_a_replacement() -> None:
    with pytest.raises(InputError, match='"stable" of package `cog` was filtered out'):
        kept(cog(channels={"fast": None}))
    found = kept(cog(channels={"fast": None}, default_channel="fast"))
    assert found[0].value["defaultChannel"] == "fast"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (PackageSelection(package="pott"), "package `pott` not found"),
        (cog(channels={"slow": None}), "no channel `slow`"),
        (cog(bundles=("cog.v9",)), "no bundle `cog.v9`"),
        (cog(">=9.0.0"), "was filtered out"),
    ],
)
def test_a_missing_package_or_version_cannot_be_kept(wanted: PackageSelection, words: str) -> None:
    with pytest.raises(InputError, match=words):
        kept(wanted)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (channel("stable", entry(1), entry(2)), "not have exactly one head"),
        (channel("stable", entry(1, 2), entry(2, 1), entry(3, 2)), "has a cycle"),
    ],
)
def test_a_channel_without_order_cannot_have_a_range(broken: Blob, words: str) -> None:
    with pytest.raises(InputError, match=words):
        filtering.parts(model.from_blobs([PACKAGE, broken, *BUNDLES]), [cog(">=1.0.0")])
