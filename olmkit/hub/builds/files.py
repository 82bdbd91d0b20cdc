"""The files of a hub: pages, icons, JSON, feeds, and the files that all pages share.

The bytes depend only on the catalogs and the options. Links are relative, so that the files work
below any path and from disk.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files as files_of
from typing import Any, Final, NamedTuple

from olmkit import __version__
from olmkit.hub import feeds
from olmkit.hub.builds import all_pages, build_record
from olmkit.hub.builds.all_pages import Source
from olmkit.hub.builds.build_record import NONE, Earlier, PackageRecord, digest_of
from olmkit.hub.feeds import Feed
from olmkit.hub.looks import files as shared
from olmkit.hub.looks import pages as looks
from olmkit.hub.looks.environment import IMAGE_POLICY, POLICY
from olmkit.hub.news import Moment
from olmkit.hub.package import package_pages, package_summary
from olmkit.hub.package.package_input import PackageInput
from olmkit.hub.package.package_parts import Data, Part
from olmkit.hub.pages.list_page import ListPage, News, Tile
from olmkit.hub.pages.site_pages import AboutPage, ErrorPage, Page

INDEX: Final = "index.html"
INDEX_DATA: Final = "index.json"
SMALLEST_PACKED: Final = 1400  # bytes: one network packet
_PACKED: Final = (".html", ".js", ".css", ".json", ".xml", ".svg")
_LIBRARIES: Final = ("jinja2", "markdown-it-py", "nh3")
_HEADERS: Final = f"""\
/*
  Content-Security-Policy: {POLICY}; frame-ancestors 'none'
  X-Content-Type-Options: nosniff
  Referrer-Policy: no-referrer
/icons/*
  Content-Security-Policy: {IMAGE_POLICY}
/*.json
  Access-Control-Allow-Origin: *
"""


_UNKNOWN: Final = Moment()


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The common data of all pages.

    `base_url` is the URL of the hub, with a slash at its end, or empty; `packed`: large files also
    exist compressed with gzip. `image_link` is the address of a page about an image, such as its
    scan, with `{image}` for its reference. `notice` is at the top of each page; `is_live`: pages
    reload after a change.
    """

    title: str
    base_url: str = ""
    packed: bool = False
    image_link: str = ""
    notice: str = ""
    is_live: bool = False


class HubFile(NamedTuple):
    """A file by its path; `data` is None if the file of an earlier build is unchanged."""

    path: str
    data: bytes | None


class HubFiles:
    """The files of a hub, one after the other. Packages that did not change are not rendered.

    `is_there` returns whether a file with a digest is still in the folder of the `earlier` build.
    The numbers are complete after all files have been requested.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        look: Look,
        earlier: Earlier = NONE,
        is_there: Callable[[str, str], bool] = lambda _path, _digest: False,
        moment: Moment = _UNKNOWN,
    ) -> None:
        self.failed: list[str] = []
        self.pages = 0
        self.rendered = 0
        self._sources = sources
        self._look = look
        self._look_key = _look_key(look)
        self._earlier = earlier
        self._is_there = is_there
        self._moment = moment
        self._digests: dict[str, str] = {}
        self._packages: dict[str, PackageRecord] = {}

    def __iter__(self) -> Iterator[HubFile]:
        summaries = []
        for wanted in all_pages.packages(self._sources):
            summaries.append(package_summary.summary(wanted))
            found = self._find_unchanged(wanted)
            yield from self._package(wanted) if found is None else self._reuse_files(wanted, found)
        listed: tuple[Tile, ...] = ()
        news: tuple[News, ...] | None = None
        index: Any = {}
        for part in all_pages.rest(self._sources, summaries, tuple(self.failed), self._moment):
            if isinstance(part.content, ListPage):
                listed = part.content.tiles
            if isinstance(part.content, AboutPage):
                news = part.content.news
            if isinstance(part.content, Data) and part.path == INDEX_DATA:
                index = part.content.value
            yield from self._new(self._part(part))
        for path, data in shared_files(self._look, listed, index, news).items():
            yield from self._new(self._file(path, data))

        # For web servers that read it, such as those of static hosting services.
        yield from self._new(self._file("_headers", _HEADERS.encode()))

    def record(self) -> bytes:
        """Return the record of this build, for the next one."""
        return build_record.format_record(self._digests, self._packages)

    def report(self) -> tuple[str, ...]:
        """Return messages about parts that cannot be shown."""
        return (*(one for source in self._sources for one in source.failures), *self.failed)

    def _find_unchanged(self, package_input: PackageInput) -> PackageRecord | None:
        found = self._earlier.packages.get(package_input.path)
        if found is None:
            return None
        if found.key != build_record.key(
            self._look_key, package_input, found.kinds, found.packages
        ):
            return None
        digests = self._earlier.files
        kept = all(
            path in digests and self._is_there(path, digests[path])
            for path in found.files
            if path not in self._digests
        )
        return found if kept else None

    def _reuse_files(self, package_input: PackageInput, found: PackageRecord) -> Iterator[HubFile]:
        self._packages[package_input.path] = found
        for path in found.files:
            if path not in self._digests:
                self.pages += path.endswith(".html")
                self._digests[path] = self._earlier.files[path]
                yield HubFile(path, None)

    def _package(self, package_input: PackageInput) -> Iterator[HubFile]:
        lookups = build_record.Lookups(package_input)
        shared = _Shared(self._digests)
        own: dict[str, None] = {}
        failures = len(self.failed)
        for part in package_pages.parts(lookups.wanted, shared):
            for file in self._part(part):
                own[file.path] = None
                yield from self._new((file,))
        if len(self.failed) > failures:
            return  # it is created next time
        kinds, packages = lookups.kinds, lookups.packages
        self._packages[package_input.path] = PackageRecord(
            key=build_record.key(self._look_key, package_input, kinds, packages),
            kinds=kinds,
            packages=packages,
            files=tuple(sorted({*own, *shared.seen})),
        )

    def _part(self, part: Part) -> Iterator[HubFile]:
        if part.failure:
            self.failed.append(part.failure)
        match part.content:
            case bytes():
                yield from self._file(part.path, part.content)
            case Data():
                yield from self._file(part.path, json_bytes(part.content.value))
            case Feed():
                look = self._look
                data = feeds.package_feed(part.path, look.title, part.content, look.base_url)
                yield from self._file(part.path, data)
            case _:
                self.pages += 1
                self.rendered += 1
                text, reason = render_safely(self._look, part.path, part.content)
                if reason:
                    self.failed.append(f"page {part.path or '/'}: {reason}")
                yield from self._file(file_of(part.path), text.encode("utf-8", "replace"))

    def _file(self, path: str, data: bytes) -> Iterator[HubFile]:
        yield HubFile(path, data)
        if self._look.packed and len(data) >= SMALLEST_PACKED and path.endswith(_PACKED):
            yield HubFile(f"{path}.gz", gzip.compress(data, 9, mtime=0))

    def _new(self, files: Iterable[HubFile]) -> Iterator[HubFile]:
        """Yield the files that were not returned yet: packages share icons."""
        for file in files:
            if file.path not in self._digests and file.data is not None:
                self._digests[file.path] = digest_of(file.data)
                yield file


class _Shared:
    """The existing pages, and those of them that were requested."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self.seen: list[str] = []
        self._known = known

    def __contains__(self, path: object) -> bool:
        file = file_of(str(path))
        if file in self._known:
            self.seen.append(file)
            return True
        return False


def _look_key(look: Look) -> str:
    """Return the input of all pages: the release, options, templates and libraries."""
    parts = [__version__, look.title, look.base_url, str(look.packed), look.image_link]
    parts += [version(name) for name in _LIBRARIES]
    folder = files_of("olmkit.hub.looks")
    for place in (folder, folder / "templates"):
        found = [one for one in place.iterdir() if one.name.endswith((".py", ".html"))]
        parts += [digest_of(one.read_bytes()) for one in sorted(found, key=lambda one: one.name)]
    return digest_of("\0".join(parts).encode("utf-8", "replace"))


def render(look: Look, path: str, page: Page, *, clean_links: bool = False) -> str:
    """Return the HTML of one page."""
    return looks.html(
        page,
        site=look.title,
        root="../" * path.count("/"),
        clean_links=clean_links,
        base_url="" if isinstance(page, ErrorPage) else look.base_url,
        path=path,
        image_link=look.image_link,
        notice=look.notice,
        is_live=look.is_live,
    )


def render_safely(
    look: Look, path: str, page: Page, *, clean_links: bool = False
) -> tuple[str, str]:
    """Return the HTML of one page, or of an error page, and the reason."""
    try:
        return render(look, path, page, clean_links=clean_links), ""
    except Exception as error:  # data of any shape: an error affects only this page
        reason = f"{type(error).__name__}: {error}"
        return render(look, path, _error_page(reason), clean_links=clean_links), reason


def shared_files(
    look: Look,
    tiles: Sequence[Tile],
    index: Mapping[str, Any],
    news: Sequence[News] | None = None,
) -> dict[str, bytes]:
    """Return the feed, the search index as scripts, style sheet and scripts."""
    found = {f"{shared.FOLDER}/{name}": data for name, data in shared.shared().items()}
    packages = json.dumps(index["packages"], ensure_ascii=False, sort_keys=True)
    found["index.js"] = shared.index_script(packages).encode("utf-8", "replace")
    words = json.dumps([one.words for one in tiles], ensure_ascii=False)
    found["descriptions.js"] = shared.descriptions_script(words).encode("utf-8", "replace")
    if news is None:
        found[feeds.FILE] = feeds.list_feed(look.title, tiles, look.base_url)
    else:
        found[feeds.FILE] = feeds.news_feed(look.title, tiles, news, look.base_url)
    return found


def file_of(path: str) -> str:
    """Return the file of the page at `path`."""
    return f"{path}{INDEX}" if not path or path.endswith("/") else path


def _error_page(reason: str) -> ErrorPage:
    return ErrorPage(
        title="This page could not be made",
        text="The data of the catalog could not be shown.",
        details=reason[:2000],
    )


def json_bytes(value: Any) -> bytes:
    """Return a JSON file."""
    text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
    return text.encode("utf-8", "replace") + b"\n"
