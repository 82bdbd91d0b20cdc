"""Graphs above a bundle."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.graph import reduction
from olmkit.catalog.model import Package


def _packages() -> tuple[Package, ...]:
    entries = [
        {"name": "a.v1"},
        {"name": "a.v2", "replaces": "a.v1", "skipRange": "<2.0.0"},
        {"name": "a.v3", "replaces": "a.v2", "skips": ["a.v1"], "skipRange": ">=1.0.0 <3.0.0"},
        {"name": "a.v4", "replaces": "a.v1"},
        {"name": "a.v5"},
    ]
    values = [
        {"schema": "olm.package", "name": "a", "defaultChannel": "s"},
        {"schema": "olm.channel", "package": "a", "name": "s", "entries": entries},
        {"schema": "olm.channel", "package": "a", "name": "old", "entries": [{"name": "a.v1"}]},
        *(
            {
                "schema": "olm.bundle",
                "package": "a",
                "name": f"a.v{number}",
                "properties": [
                    {
                        "type": "olm.package",
                        "value": {"packageName": "a", "version": f"{number}.0.0"},
                    }
                ],
            }
            for number in range(1, 6)
        ),
        {"schema": "olm.package", "name": "b"},
    ]
    return model.from_blobs(Blob.of(value) for value in values).chosen()


def test_edges_from_below_the_bundle_are_removed() -> None:
    (package,) = reduction.from_bundle(_packages(), "a.v2")

    assert list(package.channels) == ["s"]
    entries = package.channels["s"].entries
    # All edges of `a.v4` come from below; `a.v5` never had an edge.
    assert list(entries) == ["a.v2", "a.v3", "a.v5"]
    assert (entries["a.v2"].replaces, entries["a.v2"].skip_range) == ("", "")
    assert (entries["a.v3"].replaces, entries["a.v3"].skips) == ("a.v2", ())
    assert entries["a.v3"].skip_range == ">=1.0.0 <3.0.0"


def test_an_unknown_bundle_is_refused() -> None:
    with pytest.raises(InputError, match=r"no bundle `a\.v9`"):
        reduction.from_bundle(_packages(), "a.v9")
