"""All files of one package: its pages, icon and JSON, one after the other.

A version whose page cannot be rendered gets an error page; the others do not change.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Final

from olmkit.base.diagnostics import InputError
from olmkit.catalog.graph import drawing, picture
from olmkit.catalog.model import Bundle
from olmkit.hub import feeds, icons, paths, records
from olmkit.hub.feeds import Feed
from olmkit.hub.looks import badge
from olmkit.hub.package import comparison, menus, stated, upgrades
from olmkit.hub.package.comparison import Facts
from olmkit.hub.package.package_input import PackageInput, shared_data
from olmkit.hub.package.package_json import package_data
from olmkit.hub.package.package_parts import Data, Part, failure_page, failure_part
from olmkit.hub.package.version_files import VersionFiles, find_replaced
from olmkit.hub.package.version_page import Shared
from olmkit.hub.pages.site_pages import ErrorPage
from olmkit.hub.pages.version_pages import ComparePage, GraphPage, VersionChoice
from olmkit.hub.records import Record

_EMPTY: Final = "This package has no bundle in the catalog."


def parts(package_input: PackageInput, known: Container[str] = ()) -> Iterator[Part]:
    """Yield all files of the package, without those of CRDs that are `known`.

    For a failed page, there is an error page with a `failure`.
    """
    package = package_input.package
    if upgrades.shown_bundle(package) is None:
        yield Part(package_input.path, ErrorPage(title=package.name, text=_EMPTY))
        return
    try:
        pages = PackagePages(package_input, known)
    except Exception as error:  # data of any shape: an error affects only this package
        yield failure_page(package_input, error)
        return
    yield from pages.icon()
    yield from pages.versions()
    yield from pages.histories()
    yield from pages.overview()


class PackagePages:
    """The files of a package in groups that can be rendered independently.

    Raises any error if the shown bundle cannot be read, and `InputError` if there is none.
    """

    def __init__(self, package_input: PackageInput, known: Container[str] = ()) -> None:
        shown = upgrades.shown_bundle(package_input.package)
        if shown is None:
            raise InputError(_EMPTY.rstrip("."))
        self._wanted = package_input
        self._shown = shown
        self._first = records.read_record(shown)
        self._shared = shared_data(package_input, self._first, is_whole=True)
        self._versions = VersionFiles(package_input, self._shared, known)
        self._name = stated.display_name(self._first, package_input.package.name)

    def icon(self) -> Iterator[Part]:
        found = icons.package_icon(self._shared.fields, self._first.csv)
        if found is not None:
            yield Part(*found)

    def versions(self) -> Iterator[Part]:
        """Yield the pages of all versions with their own data, the newest first."""
        for bundle in upgrades.bundles(self._wanted.package):
            yield from self.version(bundle)

    def version(self, bundle: Bundle) -> Iterator[Part]:
        """Return the page of a version with its own data, or the package page for the shown one."""
        wanted, package = self._wanted, self._wanted.package
        path = paths.bundle(wanted.base, package.name, bundle.name)
        try:
            yield from self._versions.parts(bundle)
        except Exception as error:
            where = f"{wanted.catalog}: package {package.name}, bundle {bundle.name}"
            yield failure_part(path, bundle.name, where, error)
            if bundle is self._shown:
                yield Part(wanted.path, failure_part(path, package.name, where, error).content)

    def histories(self) -> Iterator[Part]:
        """Yield the comparison and the feed of the `versions` that were rendered before."""
        yield from _comparison(self._versions.compared, self._shared, self._name)
        feed = Feed(name=self._name, entries=tuple(self._versions.entries))
        yield Part(f"{self._wanted.path}{feeds.FILE}", feed)

    def overview(self) -> Iterator[Part]:
        """Yield the graph of upgrades, the badge, the menus and the data of the package."""
        wanted, package = self._wanted, self._wanted.package
        graph = paths.graph(wanted.base, package.name)
        page = GraphPage(
            name=package.name,
            display_name=self._name,
            href=wanted.path,
            package=package,
            versions=self._shared.rows,
            hops=self._shared.hops,
            graph_href=graph,
            channels=tuple(one.name for one in upgrades.channels(package)),
        )
        yield Part(graph, page)
        yield from _pictures(wanted, self._first)
        if self._shared.menus is not None:
            script = menus.script(self._shared.menus).encode("utf-8", "replace")
            yield Part(self._shared.menus.file, script)
        yield Part(f"{wanted.path}package.json", Data(package_data(package, self._first)))


def _pictures(package_input: PackageInput, first: Record) -> Iterator[Part]:
    """Yield the whole upgrade graph in each format, and the badge."""
    package = package_input.package
    graph = paths.graph(package_input.base, package.name)
    for name, text in (
        ("graph.svg", picture.svg([package])),
        ("graph.mmd", drawing.mermaid([package])),
        ("graph.dot", drawing.dot([package])),
    ):
        yield Part(f"{graph}{name}", text.encode("utf-8", "replace"))
    yield Part(f"{package_input.path}badge.svg", badge.svg(package.name, first.version).encode())


def _comparison(found: Facts, shared: Shared, display_name: str) -> Iterator[Part]:
    """Yield the page that compares versions, if there are two, and its facts."""
    package, base = shared.package, shared.base
    listed = upgrades.bundles(package)
    if len(listed) < 2:
        return
    path = paths.compare(base, package.name)
    file = f"{path}facts.js"
    yield Part(file, comparison.script(found.data()).encode("utf-8", "replace"))
    newest = upgrades.shown_bundle(package) or listed[0]
    before = find_replaced(newest, shared) or next(one for one in listed if one is not newest)
    page = ComparePage(
        name=package.name,
        display_name=display_name,
        href=paths.package(base, package.name),
        facts=file,
        versions=tuple(
            VersionChoice(
                label=str(one.version or one.name),
                bundle=one.name,
                href=paths.bundle(base, package.name, one.name),
                current=one is newest,
            )
            for one in listed
        ),
        before=before.name,
        without_fields=found.without_fields,
    )
    yield Part(path, page)


# The list


# JSON
