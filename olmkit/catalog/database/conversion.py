"""Convert the tables of an index database to the blobs of a file-based catalog.

Packages have the icon of the head of their default channel. Bundles that the database marks as
deprecated, and those without a version, a name or a column for their image, are left out, because
they are never served either. Rules check whether the result is a valid catalog.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from olmkit.base.diagnostics import Diagnostic
from olmkit.base.documents import Document
from olmkit.base.json import reader as json_reader
from olmkit.base.json.reader import JsonError
from olmkit.base.quoting import quote
from olmkit.base.tree import Tree
from olmkit.base.versions import InvalidVersionError, Version
from olmkit.catalog.blobs import fbc, shapes, wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles import migrate
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.database import bundles, edges, findings, history
from olmkit.catalog.database.edges import Links, Node
from olmkit.catalog.database.tables import (
    BundleRow,
    ChannelRow,
    ImageRow,
    IndexTables,
    PackageRow,
    PropertyRow,
)

# The file for a database where files are needed.
CATALOG_FILE: Final = "catalog.json"
_DEPRECATED: Final = "olm.deprecated"

T = TypeVar("T", PropertyRow, ImageRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedDatabase:
    """The packages and channels, the bundles, and what was left out."""

    blobs: tuple[Blob, ...] = field(repr=False)
    bundles: tuple[RenderedBundle, ...] = field(repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()


def tree(tables: IndexTables, path: str) -> Tree:
    """Return the catalog as one file, for functions that read files. Raises like `convert`."""
    made = convert(tables, path)
    blobs = (*made.blobs, *(bundle.blob() for bundle in made.bundles))
    return Tree({CATALOG_FILE: fbc.dump(blobs, "json")})


def convert(tables: IndexTables, path: str) -> ConvertedDatabase:
    """Return the catalog in the tables; `path` is the name of the database in messages.

    Raises `InputError` if a row has an invalid reference or a wrong value.
    """
    return _Conversion(history.complete(tables), path).run()


class _Conversion:
    def __init__(self, tables: IndexTables, path: str) -> None:
        self._path = path
        self._packages = {row.name: row for row in tables.packages}
        self._channels = {(row.package, row.name): row for row in tables.channels}
        self._rows = {row.name: row for row in tables.bundles if row.name is not None}
        self._properties = _group_by_bundle(tables.properties or ())
        self._dependencies = _group_by_bundle(tables.dependencies or ())
        self._images = _group_by_bundle(tables.related_images or ())
        self._links = edges.links(tables.entries)
        self._made: dict[tuple[str, str], RenderedBundle] = {}
        self._left_out: dict[tuple[str, str], dict[str, None]] = {}
        self._notes: list[Diagnostic] = []

    def run(self) -> ConvertedDatabase:
        self._check_packages()
        entries: dict[tuple[str, str], list[dict[str, Any]]] = {key: [] for key in self._channels}
        for node, links in self._links.items():
            row = self._row(node)
            if row is not None:
                self._add(row, node)
                entries[node.package, node.channel].append(_entry(node.bundle, links, row))
        blobs = [self._package(row) for row in self._packages.values()]
        for (package, name), found in entries.items():
            if package in self._packages:
                blobs.append(_channel(package, name, found))
        self._report_omissions()
        return ConvertedDatabase(
            blobs=tuple(blobs),
            bundles=tuple(self._made.values()),
            diagnostics=tuple(self._notes),
        )

    def _check_packages(self) -> None:
        owners = {package for package, _ in self._channels}
        for row in self._packages.values():
            within = f"package `{row.name}`"
            if row.name not in owners:
                raise findings.refusal(
                    f"package {quote(row.name)} has no channel", path=self._path, subject=within
                )
            if (row.name, row.default_channel) not in self._channels:
                raise findings.refusal(
                    f"the default channel {quote(row.default_channel)} of package "
                    f"{quote(row.name)} does not exist",
                    path=self._path,
                    subject=within,
                )

    def _row(self, node: Node) -> BundleRow | None:
        """Return the row of a bundle in a channel; None if it does not count."""
        row = self._rows.get(node.bundle)
        if row is None:
            return None  # an entry for an edge to a bundle that no longer exists
        if row.version is None or row.image is None:
            self._omit("bundles without a version or an image", node)
            return None
        if any(one.type == _DEPRECATED for one in self._properties.get(node.bundle, ())):
            self._omit("deprecated bundles", node)
            return None
        unknown = ""
        if node.package not in self._packages:
            unknown = f"unknown package {quote(node.package)} for bundle {quote(node.bundle)}"
        elif (node.package, node.channel) not in self._channels:
            unknown = f"unknown channel {quote(node.channel)} for bundle {quote(node.bundle)}"
        if unknown:
            raise findings.refusal(unknown, path=self._path, subject=f"bundle `{node.bundle}`")
        return row

    def _add(self, row: BundleRow, node: Node) -> None:
        if (node.package, node.bundle) in self._made:
            return
        try:
            Version.parse(row.version or "")
        except InvalidVersionError as error:
            raise findings.refusal(
                f"convert bundle {quote(node.bundle)}: parse version {quote(row.version or '')}: "
                f"{error.message}",
                path=self._path,
                subject=f"bundle `{node.bundle}`",
            ) from None
        self._made[node.package, node.bundle] = bundles.convert(
            row,
            node.package,
            self._properties.get(node.bundle, ()),
            self._dependencies.get(node.bundle, ()),
            [image.image for image in self._images.get(node.bundle, ())],
            self._path,
        )

    def _package(self, row: PackageRow) -> Blob:
        value: dict[str, Any] = {
            "schema": wire.PACKAGE,
            "name": row.name,
            "defaultChannel": row.default_channel,
        }
        icon = self._icon(self._channels[row.name, row.default_channel])
        if icon:
            value["icon"] = icon
        return Blob.of(value)

    def _icon(self, channel: ChannelRow) -> Mapping[str, str] | None:
        """Return the icon in the CSV of the channel's head."""
        head = self._rows.get(channel.head)
        within = f"package `{channel.package}`, channel `{channel.name}`"
        if head is None:
            raise findings.refusal(
                f"the head {quote(channel.head)} of the channel does not exist",
                path=self._path,
                subject=within,
            )
        try:
            csv = json_reader.read((head.csv or "").encode("utf-8", "replace"))
        except JsonError as error:
            raise findings.refusal(
                f"the ClusterServiceVersion of bundle {quote(channel.head)} cannot be read: "
                f"{error.message}",
                path=self._path,
                subject=within,
            ) from None
        read = migrate.check_csv(Document(csv, path=self._path))
        icons = (read.get("spec") or {}).get("icon") or ()
        shown = icons[0] if icons else None
        if not shown:
            return None
        text = shown.get("base64data") or ""
        data = shapes.decode_base64(text)
        if not isinstance(data, bytes):
            data = shapes.decode_base64(text.replace(" ", ""))
        if not isinstance(data, bytes):
            message = f"the icon of bundle {quote(channel.head)} is not base64"
            self._notes.append(
                findings.create(findings.ICON, message, path=self._path, subject=within)
            )
            return None
        if not data:
            return None
        encoded = base64.b64encode(data).decode()
        return {"base64data": encoded, "mediatype": shown.get("mediatype") or ""}

    def _omit(self, why: str, node: Node) -> None:
        self._left_out.setdefault((why, node.package), {})[node.bundle] = None

    def _report_omissions(self) -> None:
        for (why, package), names in self._left_out.items():
            shown = ", ".join(f"`{name}`" for name in names)
            self._notes.append(
                findings.create(
                    findings.LEFT_OUT,
                    f"{why} are left out: {shown}",
                    path=self._path,
                    subject=f"package `{package}`",
                )
            )


def _entry(name: str, links: Links, row: BundleRow) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name}
    if links.replaces:
        entry["replaces"] = links.replaces
    if links.skips:
        entry["skips"] = list(links.skips)
    if row.skip_range:
        entry["skipRange"] = row.skip_range
    return entry


def _channel(package: str, name: str, entries: Sequence[Mapping[str, Any]]) -> Blob:
    return Blob.of(
        {
            "schema": wire.CHANNEL,
            "name": name,
            "package": package,
            "entries": sorted(entries, key=lambda entry: str(entry["name"])),
        }
    )


def _group_by_bundle(rows: Iterable[T]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for row in rows:
        found.setdefault(row.bundle, []).append(row)
    return found
