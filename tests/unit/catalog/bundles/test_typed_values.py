"""Values with the wrong type are refused with their place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.bundles import source_bundle

Cog = Callable[..., Tree]


@pytest.mark.parametrize(
    ("old", "new", "message", "place"),
    [
        ("version: 1.0.0\n", "version: 1.0\n", "`spec.version` must be a string", "7:12"),
        ("  name: cog", "  labels: {a: 1}\n  name: cog", "`metadata.labels.a` must be", "4:15"),
        ("  name: cog", "  creationTimestamp: now\n  name: cog", "must be a time", "4:22"),
        ("spec:\n", "Spec:\n", "the ClusterServiceVersion has no `spec`", "1:1"),
        ("name: cogs.example.org", "name: cogs", "couldn't parse plural.group", "10:16"),
        ("kind: Cog}", "kind: Cogs}", "couldn't find example.org/v1/Cogs (cogs)", "10:9"),
        ("kind: Cog}", "kind: 5}", "cannot unmarshal number", "10:53"),
        (
            "      - {name: cogs.example.org, version: v1, kind: Cog}",
            "      -",
            "is empty",
            "10:8",
        ),
        ("  displayName: Cog\n", "  release: [1]\n", "release field must be", "6:12"),
        ("kind: ClusterServiceVersion", "kind: CSV", "no csv in bundle", ""),
    ],
)
def test_a_csv_that_no_catalog_accepts_is_refused_with_its_place(
    cog: Cog, old: str, new: str, message: str, place: str
) -> None:
    with pytest.raises(InputError) as raised:
        source_bundle.read(cog(None, old, new), "b")

    fault = raised.value.diagnostics[-1]
    assert message in fault.message
    assert fault.at is not None
    assert str(fault.at) == (f"b/manifests/csv.yaml:{place}" if place else "b/manifests")
