"""Directories of package manifests, read as catalog builders read them."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.bundles import package_manifests

CSV = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"
PACKAGE = (
    "packageName: cog\nchannels:\n- {name: stable, currentCSV: cog.v1.0.0}\n"
    "defaultChannel: stable\n"
)


def folder(package: str = PACKAGE, csv: str = "spec: {version: 1.0.0}\n") -> Tree:
    files = {
        "cog.package.yaml": package,
        "1.0.0/csv.yaml": f"{CSV}metadata: {{name: cog.v1.0.0}}\n{csv}",
    }
    return Tree({path: text.encode() for path, text in files.items()})


def test_positions_are_those_of_the_directory() -> None:
    read = package_manifests.read(folder(), "deploy")

    assert (read.package, read.default_channel, read.heads) == (
        "cog",
        "stable",
        {"stable": "cog.v1.0.0"},
    )
    (source,) = read.sources
    assert source.version == "1.0.0"
    assert str(source.csv.at("metadata", "name")) == "deploy/1.0.0/csv.yaml:3:18"


def test_a_wrong_value_is_refused_with_its_place() -> None:
    with pytest.raises(InputError) as caught:
        package_manifests.read(folder(csv="spec: {version: [1]}\n"), "deploy")

    places = [found.at.path for found in caught.value.diagnostics if found.at]
    assert places == ["deploy/1.0.0/csv.yaml"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cog.v1.0.0", "cog.v2.0.0", "deploy/cog.package.yaml:3:30: no version has"),
        ("name: stable, ", "", "a channel has no name"),
        ("defaultChannel: stable", "defaultChannel: fast", "the package has no channel `fast`"),
        ("- {", "- {name: stable, currentCSV: cog.v1.0.0}\n- {", "is listed twice"),
    ],
)
def test_a_package_that_names_a_missing_csv_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        package_manifests.read(folder(PACKAGE.replace(old, new, 1)), "deploy")
