"""Reading index databases: any file results in rows or an error."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.catalog.database.tables import EntryRow, ImageRow, IndexTables, PropertyRow
from olmkit.edges import index_database
from tests import index_databases


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return index_databases.write(tmp_path / "index.db", index_databases.cog())


def read(source: Path | bytes) -> IndexTables:
    return index_database.read(source, "index.db")


def run(file: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_the_rows_of_a_file_and_of_its_bytes_are_the_same(file: Path) -> None:
    found = read(file)

    assert read(file.read_bytes()) == found
    assert [one.name for one in found.bundles] == ["cog.v1.0.0", "cog.v2.0.0"]
    assert found.entries[0] == EntryRow(1, "stable", "cog", "cog.v2.0.0", 2, 0)
    assert found.related_images is not None
    assert found.related_images[0] == ImageRow("cog.v1.0.0", "r.io/op:1")
    assert index_database.is_database(file)
    assert not index_database.is_database(file.parent)
    assert not index_database.is_database(file.parent / "none")


def test_the_file_is_unchanged(file: Path) -> None:
    file.chmod(0o444)
    before = file.read_bytes()

    read(file)

    assert file.read_bytes() == before
    assert [one.name for one in file.parent.iterdir()] == ["index.db"]


def test_values_of_any_type_are_read_as_text(file: Path) -> None:
    run(
        file,
        "UPDATE properties SET value = CAST(value AS BLOB)",
        "UPDATE operatorbundle SET version = 1.5, skiprange = 7",
        "UPDATE related_image SET image = CAST(x'ff61' AS TEXT)",
        "UPDATE channel_entry SET depth = 'deep' WHERE entry_id = 2",
        "INSERT INTO properties (type) VALUES (NULL)",
    )

    found = read(file)

    assert found.properties is not None
    assert found.properties[0].value == '{"group":"x.io","kind":"Cog","version":"v1"}'
    assert found.properties[-1] == PropertyRow("", "", "")
    assert (found.bundles[0].version, found.bundles[0].skip_range) == ("1.5", "7")
    assert found.related_images is not None
    assert found.related_images[0].image == "\N{REPLACEMENT CHARACTER}a"
    assert found.entries[1].depth is None


def test_tables_that_an_old_schema_lacks_are_none(tmp_path: Path) -> None:
    found = read(index_databases.write(tmp_path / "old.db", index_databases.cog(), form=0))

    assert (found.properties, found.dependencies, found.related_images) == (None, None, None)
    assert found.required is None
    assert found.provided[0].entry == 1
    assert not found.has_images
    assert not found.has_versions


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE package", "CREATE VIEW package AS SELECT 1 AS name, 2 AS default_channel"],
        [
            "DROP TABLE package",
            "CREATE VIRTUAL TABLE package USING fts5(name, default_channel)",
        ],
    ],
    ids=["view", "virtual-table"],
)
def test_views_and_virtual_tables_are_not_tables(file: Path, statements: list[str]) -> None:
    try:
        run(file, *statements)
    except sqlite3.OperationalError as error:
        pytest.skip(f"this SQLite cannot create one: {error}")

    with pytest.raises(InputError, match="has no table `package`"):
        read(file)


def test_computed_columns_are_not_computed(file: Path) -> None:
    run(
        file,
        "DROP TABLE package",
        "CREATE TABLE package (name, default_channel AS (hex(zeroblob(100000))))",
        "INSERT INTO package (name) VALUES ('cog')",
    )

    assert read(file).packages[0].default_channel == ""


@pytest.mark.parametrize("size", [0, 10, 100])
def test_a_file_that_is_not_a_database_is_refused(file: Path, size: int) -> None:
    file.write_bytes(b"x" * size)

    with pytest.raises(InputError, match="is not a SQLite database, or it is encrypted"):
        read(file)


def test_another_database_is_refused_with_the_missing_tables(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    run(file, "CREATE TABLE package (name)")

    with pytest.raises(InputError, match="has no table `operatorbundle`, `channel`"):
        read(file)


@pytest.mark.parametrize("kept", [16, 60, 100, 4096, 5000, 12000])
def test_a_truncated_file_is_refused(file: Path, kept: int) -> None:
    file.write_bytes(file.read_bytes()[:kept])

    with pytest.raises(InputError, match=r"cannot be read|not an index of operators"):
        read(file)


@pytest.mark.property
def test_a_damaged_file_is_refused_or_read(file: Path) -> None:
    data = file.read_bytes()
    for place in range(0, len(data), 97):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        with contextlib.suppress(InputError):
            read(bytes(damaged))


def test_rows_that_share_pages_in_a_cycle_are_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_database, "_MAX_ROWS", 4)
    with pytest.raises(InputError, match="more than the limit of 4 rows"):
        read(file)

    monkeypatch.setattr(index_database, "_MAX_ROWS", 1000)
    monkeypatch.setattr(index_database, "_STEPS", 1)
    monkeypatch.setattr(index_database, "_MAX_ROUNDS", 3)
    with pytest.raises(InputError, match=r"needs more than the limit"):
        read(file)


@pytest.mark.parametrize("ending", ["-wal", "-journal"])
def test_changes_that_are_not_yet_in_the_file_are_refused(file: Path, ending: str) -> None:
    pending = file.with_name(f"index.db{ending}")
    pending.write_bytes(b"x")

    with pytest.raises(InputError, match=r"changes that are not in `index\.db` yet"):
        read(file)

    pending.write_bytes(b"")
    assert read(file).packages
