"""Index databases as catalogs: rendered, checked, and read from images."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.catalog.blobs import fbc
from olmkit.catalog.bundles.migrate import Level
from olmkit.edges.images import transfer
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.layout import Layout
from olmkit.edges.images.transports import DATABASE_LABEL
from olmkit.jobs.catalog import add, catalogs, databases, local, render
from olmkit.jobs.catalog.add import AddOptions
from olmkit.jobs.catalog.catalogs import ValidateOptions
from olmkit.jobs.catalog.render import RenderOptions
from olmkit.jobs.catalog.serving import changes
from olmkit.oci import image, layer
from olmkit.oci.store import MemoryStore
from tests import index_databases
from tests.index_databases import cog, entry


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return index_databases.write(tmp_path / "index.db", cog())


def rendered(reference: object, level: Level = Level.NONE) -> bytes:
    options = RenderOptions(level=level)
    return fbc.dump(asyncio.run(render.render_all([str(reference)], options)).blobs, "json")


def test_an_image_has_the_same_catalog_as_its_database(tmp_path: Path, file: Path) -> None:
    made = image.data_image(
        layer.write(Tree({"index.db": file.read_bytes()})),
        {DATABASE_LABEL: "index.db"},
        created_by="test",
    )
    layout = Layout(tmp_path / "oci")
    asyncio.run(transfer.copy(MemoryStore.of(made), layout, made.descriptor, tag="v1"))
    text = f"oci:{tmp_path}/oci:v1"

    assert rendered(text) == rendered(file)
    pulled = asyncio.run(catalogs.pull([text], Access()))
    (result,) = catalogs.validate([text], ValidateOptions(), pulled=pulled)
    assert result.passed


def test_bundles_are_migrated(file: Path) -> None:
    text = rendered(file, Level.ALL)

    assert b"olm.csv.metadata" in text
    assert b"olm.bundle.object" not in text


def test_a_database_is_accepted_as_a_catalog_in_every_command(file: Path) -> None:
    (result,) = catalogs.validate([str(file)], ValidateOptions())
    assert result.passed
    assert list(catalogs.read(str(file)).packages) == ["cog"]
    assert list(local.tree(file)) == ["catalog.json"]


def test_directories_and_other_files_are_still_read(tmp_path: Path) -> None:
    (tmp_path / "catalog.yaml").write_text("schema: x\n")

    assert list(local.tree(tmp_path)) == ["catalog.yaml"]
    with pytest.raises(ConfigurationError, match="is not a folder"):
        local.tree(tmp_path / "catalog.yaml")


def test_a_database_with_an_invalid_catalog_is_refused_with_all_its_errors(
    tmp_path: Path,
) -> None:
    rows = cog()
    rows["channel_entry"].append(entry(3, "cog.v1.1.0"))
    rows["operatorbundle"].append({"name": "cog.v1.1.0", "bundlepath": "", "version": "1.1.0"})
    path = index_databases.write(tmp_path / "index.db", rows)

    with pytest.raises(InputError, match="does not hold a valid catalog") as raised:
        databases.convert_database(path, "index.db")

    assert {(one.rule, str(one.at)) for one in raised.value.diagnostics} == {
        ("FBC043", "index.db"),
        ("GRF003", "index.db"),
    }


def test_requirements_of_file_based_catalogs_alone_are_not_checked(tmp_path: Path) -> None:
    rows = cog()
    for bundle in rows["operatorbundle"]:
        bundle["bundlepath"] = "R.io/Not An Image"

    made = databases.convert_database(
        index_databases.write(tmp_path / "index.db", rows), "index.db"
    )

    assert {one.image for one in made.bundles} == {"R.io/Not An Image"}


def test_a_change_of_the_file_is_detected(file: Path) -> None:
    before = asyncio.run(changes.state(str(file), Access()))
    index_databases.write(file.with_name("new.db"), {**cog(), "related_image": []}).replace(file)

    after = asyncio.run(changes.state(str(file), Access()))

    assert before
    assert after
    assert before != after


def test_a_bundle_cannot_be_added_to_a_database(file: Path) -> None:
    with pytest.raises(InputError, match="is an index database, which is only read"):
        asyncio.run(add.add(file, "no-bundle", AddOptions()))
