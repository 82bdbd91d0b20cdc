"""The files of a hub, each created when it is first requested.

At the start, only the list's data about each package are created. So a server with 10,000 versions
responds after some seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, Final

from olmkit.catalog.blobs import outline, properties
from olmkit.catalog.model import Bundle
from olmkit.hub import feeds, paths, records
from olmkit.hub.builds import all_pages, files
from olmkit.hub.builds.all_pages import Source
from olmkit.hub.builds.files import INDEX, INDEX_DATA, Look
from olmkit.hub.looks import files as looks
from olmkit.hub.package import package_pages, package_parts, package_summary, schemas, upgrades
from olmkit.hub.package.package_input import PackageInput
from olmkit.hub.package.package_pages import PackagePages
from olmkit.hub.package.package_parts import Data, Part
from olmkit.hub.pages.list_page import ListPage, Tile
from olmkit.hub.pages.site_pages import ErrorPage

Make = Callable[[], bytes]

_OVERVIEW: Final = ("package.json", "badge.svg", "menus.js", "graph/index.html", "graph/graph.svg",
                    "graph/graph.mmd", "graph/graph.dot")  # fmt: skip
_COMPARISON: Final = ("compare/index.html", "compare/facts.js")
_VERSION: Final = (INDEX, "bundle.json")
_OLD: Final = "operator"
_OBJECT: Final = properties.OBJECT.encode()


class OnRequest:
    """The files by their path, as `hub build` writes them. `failed`: parts that cannot be shown.

    `revision` changes with each change: pages check it.
    """

    def __init__(self, sources: Sequence[Source], look: Look, revision: str = "") -> None:
        self._revision = revision
        self._look = look
        self._packages = {one.path: one for one in all_pages.packages(sources)}
        self._pages: dict[str, PackagePages] = {}
        self._icons: dict[str, PackageInput] = {}
        self._crds: dict[str, tuple[PackageInput, Bundle]] | None = None
        summaries = []
        for wanted in self._packages.values():
            found = package_summary.summary(wanted)
            summaries.append(found)
            if found.tile.icon:
                self._icons.setdefault(found.tile.icon, wanted)
        failures = [one.failure for one in summaries if one.failure]
        self.failed: Final = (*(one for source in sources for one in source.failures), *failures)
        self._made: dict[str, Make] = {}
        listed: tuple[Tile, ...] = ()
        index: Any = {}
        for part in all_pages.rest(sources, summaries, failures):
            if isinstance(part.content, ListPage):
                listed = part.content.tiles
            if isinstance(part.content, Data) and part.path == INDEX_DATA:
                index = part.content.value
            self._made[_file(part)] = partial(self._data, part)
        for path, data in files.shared_files(look, listed, index).items():
            self._made[path] = partial(bytes, data)
        if look.is_live:
            name, script = looks.live()
            self._made[f"{looks.FOLDER}/{name}"] = partial(bytes, script)
            self._made["revision.txt"] = lambda: self._revision.encode()

    def say(self, notice: str, revision: str) -> None:
        """Show a notice at the top of all pages from now on."""
        self._revision = revision
        self._look = replace(self._look, notice=notice)

    @property
    def packages(self) -> int:
        return len(self._packages)

    @property
    def pages(self) -> int:
        """Return the number of pages, without those of CRDs."""
        own = sum(path.endswith(".html") for path in self._made)
        return own + sum(
            sum(path.endswith(".html") for path in _files(one.package.bundles))
            for one in self._packages.values()
        )

    def find(self, path: str) -> Make | None:
        """Return the function that renders the file at `path`; None if it does not exist."""
        found = self._made.get(path)
        if found is not None:
            return found
        if path in self._icons:
            return partial(self._package_page, self._icons[path], path, PackagePages.icon)
        if path.startswith("crd/"):
            return self._crd(path)
        parts = path.split("/")
        size = 4 if parts[0] == "c" else 2
        wanted = self._packages.get("/".join(parts[:size]) + "/")
        return self._find_in_package(wanted, path) if wanted is not None else None

    def moved(self, path: str) -> str | None:
        """Return the page for `operator/PACKAGE[/CHANNEL[/CSV]]`, an address of operatorhub.io.

        Without a CSV, a channel leads to its head; an unknown channel or CSV to the package.
        Returns None for another path or package.
        """
        parts = path.strip("/").split("/")
        if len(parts) not in (2, 3, 4) or parts[0] != _OLD:
            return None
        target = paths.package("", parts[1])
        wanted = self._packages.get(target)
        if wanted is None:
            return None
        package = wanted.package
        if len(parts) == 4 and parts[3] in package.bundles:
            return paths.bundle("", package.name, parts[3])
        channel = package.channels.get(parts[2]) if len(parts) == 3 else None
        head = upgrades.head(channel) if channel is not None else None
        if channel is None or head is None or head.bundle is None:
            return target
        page = paths.bundle("", package.name, head.name)
        is_default = channel.name == package.default_channel
        return page if is_default else f"{page}?channel={paths.query(channel.name)}"

    def _find_in_package(self, package_input: PackageInput, path: str) -> Make | None:
        name, bundles = path.removeprefix(package_input.path), package_input.package.bundles
        if name == INDEX:
            shown = upgrades.shown_bundle(package_input.package)
            if shown is None:
                (part,) = package_pages.parts(package_input)
                return partial(self._data, part)
            return partial(self._version_page, package_input, shown, path)
        if name in _OVERVIEW:
            return partial(self._package_page, package_input, path, PackagePages.overview)
        if name == feeds.FILE or (name in _COMPARISON and len(bundles) > 1):
            return partial(self._history, package_input, path)
        folder, _, file = name.partition("/")
        if file in _VERSION:
            for bundle in bundles.values():
                if paths.folder(bundle.name) == folder:
                    return partial(self._version_page, package_input, bundle, path)
        return None

    def _version_page(self, package_input: PackageInput, bundle: Bundle, path: str) -> bytes:
        return self._package_page(package_input, path, lambda pages: pages.version(bundle))

    def _history(self, package_input: PackageInput, path: str) -> bytes:
        """Return a file that needs all versions."""

        def made(pages: PackagePages) -> Iterator[Part]:
            return chain(pages.versions(), pages.histories())

        return self._package_page(package_input, path, made, is_new=True)

    def _package_page(
        self,
        package_input: PackageInput,
        path: str,
        parts: Callable[[PackagePages], Iterable[Part]],
        *,
        is_new: bool = False,
    ) -> bytes:
        try:
            pages = None if is_new else self._pages.get(package_input.path)
            if pages is None:
                pages = PackagePages(package_input)
        except Exception as error:  # data of any shape: an error affects only this package
            return self._data(package_parts.failure_page(package_input, error))
        if not is_new:
            self._pages = {package_input.path: pages}  # of the last package: others need the memory
        for part in parts(pages):
            if _file(part) == path:
                return self._data(part)
        page = ErrorPage(title=path, text="This file could not be made.")
        return self._data(Part(path, page))

    def _crd(self, path: str) -> Make | None:
        if self._crds is None:
            self._crds = dict(self._all_crds())
        found = self._crds.get(path)
        return partial(self._version_page, *found, path) if found is not None else None

    def _all_crds(self) -> Iterator[tuple[str, tuple[PackageInput, Bundle]]]:
        """Yield the pages of CRDs, with a version that has them."""
        for wanted in self._packages.values():
            for bundle in wanted.package.bundles.values():
                if _OBJECT not in outline.blob_at(bundle.place).text:
                    continue
                try:
                    for crd in records.read_record(bundle).crds.values():
                        for version, _ in schemas.versions(crd):
                            path = paths.crd(schemas.digest(crd), version)
                            yield files.file_of(path), (wanted, bundle)
                except Exception:  # noqa: S112 - the page of the version says so
                    continue

    def _data(self, part: Part) -> bytes:
        match part.content:
            case bytes():
                return part.content
            case Data():
                return files.json_bytes(part.content.value)
            case feeds.Feed():
                return feeds.package_feed(part.path, self._look.title, part.content)
            case _:
                page = part.content
                text, _ = files.render_safely(self._look, part.path, page, clean_links=True)
                return text.encode("utf-8", "replace")


def _file(part: Part) -> str:
    return files.file_of(part.path)


def _files(bundles: Iterable[str]) -> Iterator[str]:
    """Yield the paths in the folder of a package."""
    names = list(bundles)
    yield from (INDEX, *(_OVERVIEW if names else ()))
    yield from _COMPARISON if len(names) > 1 else ()
    yield from (f"{name}/{file}" for name in names for file in _VERSION)
