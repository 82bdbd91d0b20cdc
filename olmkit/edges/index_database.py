"""Read index databases, the SQLite form of catalogs, into `IndexTables`.

A database is untrusted. A private copy of it is opened read-only; its views, triggers, virtual
tables and computed columns are not used, no function is called, and rows, text and steps are
limited. The meaning of the rows is in `olmkit.catalog.database`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.base.tree import Tree
from olmkit.edges import disk, paths

if TYPE_CHECKING:
    import sqlite3

    from olmkit.catalog.database.tables import IndexTables

MAGIC: Final = b"SQLite format 3\x00"
# As for a file of a file-based catalog; the largest published index has 200 MB.
MAX_DATABASE: Final = 512 * 1024 * 1024
# Pages may be shared between rows, so a small damaged file may have endless rows.
_MAX_TEXT: Final = 2 * MAX_DATABASE
_MAX_ROWS: Final = 5_000_000
# SQLite's own steps; the largest index needs a thousandth of this.
_STEPS: Final = 100_000
_MAX_ROUNDS: Final = 20_000
_PIECE: Final = 4 * 1024 * 1024
# The files that SQLite keeps next to a database for changes that are not yet in it.
_PENDING: Final = ("-wal", "-journal")
_NEEDED: Final = ("operatorbundle", "package", "channel", "channel_entry")
_PLAIN_COLUMN: Final = 0


def is_database(path: Path) -> bool:
    """Return whether a file starts like an SQLite database."""
    with contextlib.suppress(OSError, OlmkitError):
        return paths.is_file(path) and disk.read_part(path, 0, len(MAGIC)) == MAGIC
    return False


def catalog_tree(source: Path | bytes, name: str) -> Tree:
    """Return the catalog in a database, as one file. Raises `InputError` like `read`."""
    from olmkit.catalog.database import conversion

    return conversion.tree(read(source, name), name)


def read(source: Path | bytes, name: str) -> IndexTables:
    """Return the rows of a database: a file on disk, or its bytes.

    Raises `InputError` if it is not an index of operators, or damaged, or too large; `name` is its
    name in messages.
    """
    import sqlite3  # most catalogs are not databases

    with paths.temporary_folder() as folder:
        copy = folder / "index.db"
        _copy(source, name, copy)
        # SQLite looks for pending changes next to the file; here are none.
        address = f"file:{quote(str(copy))}?mode=ro&immutable=1"
        try:
            connection = sqlite3.connect(address, uri=True, isolation_level=None)
        except sqlite3.Error as error:
            raise _unreadable(name, error) from None
        try:
            return _Reader(connection, name).read()
        except (sqlite3.Error, OverflowError) as error:
            raise _unreadable(name, error) from None
        finally:
            connection.close()


def _copy(source: Path | bytes, name: str, copy: Path) -> None:
    with copy.open("wb") as stream:
        if isinstance(source, bytes):
            stream.write(source)
        else:
            _check_complete(source)
            for piece in disk.read_pieces(source, limit=MAX_DATABASE, size=_PIECE):
                stream.write(piece)
    if disk.read_part(copy, 0, len(MAGIC)) != MAGIC:
        raise InputError(
            f"`{name}` is not a SQLite database, or it is encrypted",
            hint="name an index database, or a file-based catalog",
        )


def _check_complete(path: Path) -> None:
    for ending in _PENDING:
        pending = path.with_name(path.name + ending)
        if paths.is_file(pending) and paths.modification(pending)[0]:
            raise InputError(
                f"`{pending}` has changes that are not in `{path.name}` yet",
                hint=f"end the program that writes to it, and run `sqlite3 {path} 'PRAGMA "
                "wal_checkpoint(TRUNCATE)'`",
            )


def _unreadable(name: str, error: Exception) -> InputError:
    if str(error) == "interrupted":
        return InputError(
            f"`{name}` needs more than the limit of {_STEPS * _MAX_ROUNDS / 1e9:.0f} billion steps",
            hint="the database is damaged, or made to keep readers busy",
        )
    return InputError(
        f"the database `{name}` cannot be read: {error}",
        hint="it is damaged or not complete; fetch it again",
    )


class _Reader:
    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        import sqlite3

        self._connection = connection
        self._name = name
        self._rows = 0
        self._text = 0
        self._rounds = 0
        connection.text_factory = _text
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_DATABASE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(self._count_round, _STEPS)
        # Without these two settings, a schema may call functions and refer to its own pages.
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.set_authorizer(_authorize)
        self._columns = dict(self._tables())

    def read(self) -> IndexTables:
        from olmkit.catalog.database import tables as made

        self._check_kind()
        bundles = self._columns["operatorbundle"]
        return made.IndexTables(
            packages=tuple(
                made.PackageRow(name, channel or "")
                for name, channel in self._select("package", "name", "default_channel")
                if name is not None
            ),
            channels=tuple(
                made.ChannelRow(name or "", package or "", head or "")
                for name, package, head in self._select(
                    "channel", "name", "package_name", "head_operatorbundle_name"
                )
            ),
            entries=tuple(
                made.EntryRow(
                    _number(id_) or 0,
                    channel or "",
                    package or "",
                    bundle or "",
                    _number(replaces),
                    _number(depth),
                )
                for id_, channel, package, bundle, replaces, depth in self._select(
                    "channel_entry",
                    "entry_id",
                    "channel_name",
                    "package_name",
                    "operatorbundle_name",
                    "replaces",
                    "depth",
                )
            ),
            bundles=tuple(
                made.BundleRow(*row)
                for row in self._select(
                    "operatorbundle", "name", "csv", "bundle", "bundlepath", "version", "skiprange"
                )
            ),
            properties=self._properties("properties"),
            dependencies=self._properties("dependencies"),
            related_images=self._images(),
            provided=self._apis("api_provider") or (),
            required=self._apis("api_requirer"),
            has_images="bundlepath" in bundles,
            has_versions="version" in bundles,
        )

    def _properties(self, table: str) -> Any:
        from olmkit.catalog.database.tables import PropertyRow

        if table not in self._columns:
            return None
        return tuple(
            PropertyRow(bundle or "", type_ or "", value or "")
            for bundle, type_, value in self._select(table, "operatorbundle_name", "type", "value")
        )

    def _images(self) -> Any:
        from olmkit.catalog.database.tables import ImageRow

        if "related_image" not in self._columns:
            return None
        return tuple(
            ImageRow(bundle, image)
            for bundle, image in self._select("related_image", "operatorbundle_name", "image")
            if bundle is not None and image is not None
        )

    def _apis(self, table: str) -> Any:
        from olmkit.catalog.database.tables import ApiRow

        if table not in self._columns:
            return None
        return tuple(
            ApiRow(bundle or "", _number(entry), group, version, kind)
            for bundle, entry, group, version, kind in self._select(
                table, "operatorbundle_name", "channel_entry_id", "group_name", "version", "kind"
            )
            if group is not None and version is not None and kind is not None
        )

    # Allowed reads

    def _tables(self) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield the tables of the file, each with its columns."""
        listed = self._connection.execute("SELECT type, name, rootpage FROM sqlite_master")
        for type_, name, root in listed.fetchmany(_MAX_ROWS):
            # Views and virtual tables have no pages.
            if type_ != "table" or not isinstance(name, str) or not root:
                continue
            columns = self._connection.execute(f"PRAGMA table_xinfo({_identifier(name)})")
            plain = {str(column[1]).lower() for column in columns if column[6] == _PLAIN_COLUMN}
            yield name.lower(), frozenset(plain)

    def _check_kind(self) -> None:
        missing = [name for name in _NEEDED if name not in self._columns]
        if missing:
            shown = ", ".join(f"`{name}`" for name in missing)
            raise InputError(
                f"`{self._name}` is a SQLite database, but not an index of operators: "
                f"it has no table {shown}"
            )

    def _select(self, table: str, *columns: str) -> Iterator[Sequence[Any]]:
        """Yield the rows of a table, with text unchanged; None for a missing column."""
        present = self._columns[table]
        asked = [_identifier(name) if name in present else "NULL" for name in columns]
        sql = f"SELECT {', '.join(asked)} FROM {_identifier(table)}"  # noqa: S608 - all is quoted
        cursor = self._connection.execute(sql)
        for row in cursor:
            self._rows += 1
            self._text += sum(len(value) for value in row if isinstance(value, str | bytes))
            if self._rows > _MAX_ROWS or self._text > _MAX_TEXT:
                raise InputError(
                    f"`{self._name}` has more than the limit of {_MAX_ROWS} rows or "
                    f"{_MAX_TEXT / 1e6:.0f} MB of text"
                )
            yield [_value(value) for value in row]

    def _count_round(self) -> bool:
        self._rounds += 1
        return self._rounds > _MAX_ROUNDS


def _authorize(
    action: int, first: str | None, second: str | None, database: str | None, inside: str | None
) -> int:
    """Allow only reads of tables; `inside` is the view or trigger that reads."""
    import sqlite3

    del second, database
    if inside is None and (
        action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
        or (action == sqlite3.SQLITE_PRAGMA and first == "table_xinfo")
    ):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _value(value: Any) -> Any:
    """Return a value of any type as text, which most columns contain."""
    if isinstance(value, bytes):
        return _text(value)
    return value if value is None or isinstance(value, str) else str(value)


def _number(value: str | None) -> int | None:
    try:
        return None if value is None else int(value)
    except ValueError:
        return None
