"""Old schemas of index databases: missing values are derived from existing ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from olmkit.catalog.database import history
from olmkit.catalog.database.tables import BundleRow, IndexTables
from olmkit.edges import index_database
from tests import index_databases


def rows() -> dict[str, list[dict[str, Any]]]:
    """Like `cog`, with the manifests that every bundle had before there were images."""
    found = index_databases.cog()
    for bundle in found["operatorbundle"]:
        bundle["bundle"] = bundle["csv"]
    return found


@pytest.mark.parametrize("form", range(index_databases.NEWEST))
def test_every_schema_has_the_values_of_the_newest(tmp_path: Path, form: int) -> None:
    newest = index_database.read(index_databases.write(tmp_path / "new.db", rows()), "new.db")
    older = index_database.read(
        index_databases.write(tmp_path / "old.db", rows(), form=form), "old.db"
    )

    found = history.complete(older)

    expected = newest.bundles
    if form < 2:
        expected = tuple(
            BundleRow(one.name, one.csv, one.manifests, "", one.version, one.skip_range)
            for one in expected
        )
    assert found.bundles == expected
    assert set(found.related_images or ()) == set(newest.related_images or ())
    apis = {one for one in newest.properties or () if one.type == "olm.gvk"}
    assert {one for one in found.properties or () if one.type == "olm.gvk"} == apis
    required = {(one.bundle, one.value) for one in newest.dependencies or ()}
    if form < 3:  # derived from the CSV of each bundle
        required |= {("cog.v1.0.0", value) for _, value in required}
    assert {(one.bundle, one.value) for one in found.dependencies or ()} == required


def test_a_bundle_with_an_unreadable_csv_lacks_these_values() -> None:
    bundles = tuple(
        BundleRow(name, csv, None, None, None, None)
        for name, csv in [("a", None), ("b", "{"), ("c", "[]"), ("d", '{"spec": {"install": 1}}')]
    )

    found = history.complete(
        IndexTables(
            bundles=bundles,
            related_images=None,
            required=None,
            dependencies=None,
            properties=None,
            has_images=False,
            has_versions=False,
        )
    )

    assert [one.image for one in found.bundles] == ["", "", "", ""]
    assert [one.version for one in found.bundles] == [None, None, None, ""]
    assert found.related_images == ()
    assert found.dependencies == ()
    assert found.properties == ()
