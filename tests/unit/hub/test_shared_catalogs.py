"""For each shared catalog, the pages show the values of the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from olmkit.catalog import model
from olmkit.catalog.blobs import outline_reader
from olmkit.catalog.graph import links
from olmkit.catalog.model import Catalog, Package
from olmkit.edges.folder import Folder
from olmkit.hub import icons, paths, records
from olmkit.hub.builds import all_pages
from olmkit.hub.builds.all_pages import Source
from olmkit.hub.package import package_pages, upgrades
from olmkit.hub.package.installs import Where
from olmkit.hub.package.package_input import PackageInput
from olmkit.hub.package.package_parts import Data, Part
from olmkit.hub.pages.operator_page import OperatorPage
from olmkit.hub.pages.version_pages import GraphPage


def catalogs_in(cases: Path) -> Iterator[Path]:
    """The directories of the cases that are catalogs: large, small, valid and faulty."""
    found = {path.parent.parent for path in (cases / "catalogs").glob("*/*/catalog.*")}
    for kind in ("resolve", "rules", "wild"):
        for path in (cases / kind).rglob("*"):
            if path.suffix in (".yaml", ".json") and path.parent.name in ("catalog", "catalogs"):
                found.add(path.parent)
    yield from sorted(found)


def read(folder: Path) -> Catalog:
    faults: list[object] = []
    outlines = outline_reader.load(Folder(folder), report=lambda _: None, faults=faults)
    return model.build(outlines)


def test_heads_versions_icons_and_deprecations_are_those_of_the_model(cases: Path) -> None:
    packages = 0
    for folder in catalogs_in(cases):
        catalog = read(folder)
        source = Source(name="demo", catalog=catalog, where=Where(name="demo"))
        for wanted in all_pages.packages([source]):
            check(wanted, f"{folder}: {wanted.package.name}")
            packages += 1
    assert packages >= 7


def check(wanted: PackageInput, where: str) -> None:
    package = wanted.package
    parts = {part.path: part for part in package_pages.parts(wanted)}
    assert [part.failure for part in parts.values() if part.failure] == [], where
    if not package.bundles:
        return
    first = page(parts, wanted.path)
    for bundle in package.bundles.values():
        own = page(parts, paths.bundle("", package.name, bundle.name))
        assert own.bundle == bundle.name, where
        assert own.version == (str(bundle.version) if bundle.version else ""), where
        assert deprecations(own)[0] == package.deprecation, where
        assert deprecations(own)[1] == bundle.deprecation, where
        assert [one.reference for one in own.images if one.name == "bundle"] == (
            [bundle.image] if bundle.image else []
        ), where
    check_shown(package, first, where)
    check_channels(package, parts[f"{wanted.path}package.json"], where)
    check_rows(package, parts, where)
    icon = icons.package_icon(
        records.package_fields(package), records.read_record(package.bundles[first.bundle]).csv
    )
    assert first.icon == (icon[0] if icon else None), where
    if icon is not None:
        assert parts[icon[0]].content == icon[1], where


def page(parts: dict[str, Part], path: str) -> OperatorPage:
    found = parts[path].content
    assert isinstance(found, OperatorPage)
    return found


def deprecations(found: OperatorPage) -> tuple[str | None, str | None]:
    listed = {one.what.partition(" ")[0]: one.message for one in found.deprecations}
    return listed.get("Package"), listed.get("Version")


def check_shown(package: Package, first: OperatorPage, where: str) -> None:
    """The page of the package shows the head of its default channel, if there is one head."""
    channel = package.channels.get(package.default_channel)
    heads = links.heads(channel) if channel is not None else ()
    if len(heads) == 1 and heads[0] in package.bundles:
        assert first.bundle == heads[0], where
    elif channel is not None and len(heads) > 1 and set(heads) & set(package.bundles):
        assert first.bundle in heads, where
        assert any("heads" in one for one in first.notices), where
    if channel is not None and any(entry.bundle for entry in channel.entries.values()):
        assert first.menus is not None
        assert first.menus.channels[0].name == package.default_channel, where


def check_channels(package: Package, data: Part, where: str) -> None:
    assert isinstance(data.content, Data)
    value = data.content.value
    assert value["defaultChannel"] == package.default_channel, where
    assert {one["name"] for one in value["channels"]} == set(package.channels), where
    for one in value["channels"]:
        channel = package.channels[one["name"]]
        assert one["heads"] == list(links.heads(channel)), where
        assert one["deprecation"] == channel.deprecation, where
        assert {
            entry["name"]: (entry["replaces"], tuple(entry["skips"]), entry["skipRange"])
            for entry in one["entries"]
        } == {
            entry.name: (entry.replaces, entry.skips, entry.skip_range)
            for entry in channel.entries.values()
        }, where


def check_rows(package: Package, parts: dict[str, Part], where: str) -> None:
    found = parts[paths.graph("", package.name)].content
    assert isinstance(found, GraphPage)
    rows = {row.bundle: row for row in found.versions}
    assert set(package.bundles) <= set(rows), where
    for name, row in rows.items():
        of = {channel.name for channel in package.channels.values() if name in channel.entries}
        assert set(row.channels) == of, where
        bundle = package.bundles.get(name)
        assert row.deprecation == (bundle.deprecation if bundle else None), where
        is_marked = any(badge.label == "deprecated" for badge in row.badges)
        assert is_marked == (bundle is not None and upgrades.is_deprecated(bundle)), where
