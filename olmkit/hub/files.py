"""The files of a hub: pages, icons, JSON, feeds, and what all pages share.

The bytes depend on the catalogs and the options alone. Links are relative, so that the files work
below any path and from a disk.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import files as files_of
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from olmkit import __version__
from olmkit.hub.looks import files as shared
from olmkit.hub.looks import pages as looks
from olmkit.hub.looks.text import clean
from olmkit.hub.pages import AboutPage, ErrorPage, GraphPage, ListPage, Page, Site, Tile

INDEX: Final = "index.html"
_LIBRARIES: Final = ("jinja2", "markdown-it-py", "nh3")
_FEED: Final = "feed.xml"
_NO_DATE: Final = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """All files by path, and the pages whose template failed, with the reason.

    `keys` tell what each page was made of; `rendered` is the number of pages that are new.
    """

    files: Mapping[str, bytes]
    failed: Mapping[str, str]
    keys: Mapping[str, str]
    rendered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The record of an earlier build: the digests of its files, and what its pages were made of."""

    is_hub: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)


def of_site(
    site: Site,
    earlier: Earlier = Earlier(),
    read: Callable[[str], bytes | None] = lambda _: None,
) -> Rendered:
    """All files of the site. Pages that are as they were `earlier` are `read`, not rendered."""
    files: dict[str, bytes] = dict(site.files)
    failed: dict[str, str] = {}
    keys: dict[str, str] = {}
    rendered = 0
    looks_ = _looks_key(site.title)
    for path, page in site.pages.items():
        file = file_of(path)
        key = _key(page, looks_)
        if key and earlier.keys.get(file) == key:
            data = read(file)
            if data is not None and digest_of(data) == earlier.files.get(file):
                files[file], keys[file] = data, key
                continue
        rendered += 1
        text, reason = render_safely(site, path, page)
        if reason:
            failed[path] = reason
        elif key:
            keys[file] = key
        files[file] = text.encode("utf-8", "replace")
    files.update(data_files(site))
    return Rendered(files=dict(sorted(files.items())), failed=failed, keys=keys, rendered=rendered)


def _key(page: Page, looks_: str) -> str:
    """What a page is made of; empty for one that is made again each time."""
    if isinstance(page, GraphPage):  # it holds the package itself, with places in files
        return ""
    return digest_of(f"{looks_}\0{page!r}".encode("utf-8", "replace"))


def _looks_key(title: str) -> str:
    """What all pages are made of: the release, templates, and libraries that make HTML."""
    parts = [__version__, title, *(version(name) for name in _LIBRARIES)]
    folder = files_of("olmkit.hub.looks")
    for place in (folder, folder / "templates"):
        found = [one for one in place.iterdir() if one.name.endswith((".py", ".html"))]
        parts += [digest_of(one.read_bytes()) for one in sorted(found, key=lambda one: one.name)]
    return digest_of("\0".join(parts).encode("utf-8", "replace"))


def render(site: Site, path: str, page: Page, *, clean_links: bool = False) -> str:
    """The HTML of one page."""
    return looks.html(page, site=site.title, root="../" * path.count("/"), clean_links=clean_links)


def render_safely(
    site: Site, path: str, page: Page, *, clean_links: bool = False
) -> tuple[str, str]:
    """The HTML of one page, else of the page that says why it failed; and the reason."""
    try:
        return render(site, path, page, clean_links=clean_links), ""
    except Exception as error:  # data of any shape: it costs this page only
        reason = f"{type(error).__name__}: {error}"
        return render(site, path, _unmade(reason), clean_links=clean_links), reason


def report(site: Site) -> tuple[str, ...]:
    """What of the catalogs cannot be shown, in words."""
    about = site.pages["about/"]
    listed = about.report if isinstance(about, AboutPage) else ()
    return tuple(one.text for one in listed if one.kind == "failed")


def data_files(site: Site) -> Mapping[str, bytes]:
    """JSON, feed, and the files that all pages share."""
    found = {path: _json(value) for path, value in site.data.items()}
    found |= {f"{shared.FOLDER}/{name}": data for name, data in shared.shared().items()}
    index = json.dumps(site.data["index.json"]["packages"], ensure_ascii=False, sort_keys=True)
    found["index.js"] = shared.index_script(index).encode("utf-8", "replace")
    found[_FEED] = feed(site).encode("utf-8", "replace")
    return found


def file_of(path: str) -> str:
    """The file of the page at `path`."""
    return f"{path}{INDEX}" if not path or path.endswith("/") else path


def _unmade(reason: str) -> ErrorPage:
    return ErrorPage(
        title="This page could not be made",
        text="The data of the catalog could not be shown.",
        details=reason[:2000],
    )


def _json(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
    return text.encode("utf-8", "replace") + b"\n"


# Atom: RFC 4287


def feed(site: Site) -> str:
    """The shown version of each package, as an Atom feed.

    A catalog has no dates that can be trusted, so that each entry has the same one; readers tell
    entries apart by their identifiers, which have the version.
    """
    page = site.pages[""]
    tiles = page.tiles if isinstance(page, ListPage) else ()
    entries = sorted(tiles, key=lambda one: (one.catalog, one.name))
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<feed xmlns="http://www.w3.org/2005/Atom">',
            f"<title>{_text(site.title)}</title>",
            f"<id>{_identifier(site.title)}</id>",
            f"<updated>{_NO_DATE}</updated>",
            "<author><name>olmkit</name></author>",
            '<link rel="self" href="feed.xml"/>',
            *(line for tile in entries for line in _entry(site.title, tile)),
            "</feed>",
            "",
        ]
    )


def _entry(title: str, tile: Tile) -> Iterator[str]:
    yield "<entry>"
    yield f"<title>{_text(f'{tile.display_name} {tile.version}'.strip())}</title>"
    yield f"<id>{_identifier(title, tile.catalog, tile.name, tile.version)}</id>"
    yield f"<updated>{_NO_DATE}</updated>"
    yield f"<link href={quoteattr(tile.href)}/>"
    yield f"<summary>{_text(tile.summary)}</summary>"
    yield "</entry>"


def _text(text: str) -> str:
    return escape(clean(text))


def _identifier(*parts: str) -> str:
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
    return f"urn:sha256:{digest}"


# What changed since the last build

STATE: Final = "build.json"
_RECORD: Final = 1


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def known(data: bytes | None) -> Earlier:
    """The record of an earlier build; an empty one when there is none that reads."""
    if data is None:
        return Earlier()
    try:
        found = json.loads(data)
    except ValueError:
        return Earlier()
    if not isinstance(found, dict) or found.get("schema_version") != _RECORD:
        return Earlier()
    return Earlier(is_hub=True, files=_texts(found.get("files")), keys=_texts(found.get("pages")))


def record(rendered: Rendered) -> bytes:
    """The record of a build."""
    digests = {path: digest_of(data) for path, data in rendered.files.items()}
    pages = dict(sorted(rendered.keys.items()))
    return _json({"schema_version": _RECORD, "files": digests, "pages": pages})


def _texts(value: Any) -> Mapping[str, str]:
    found = value if isinstance(value, dict) else {}
    return {str(path): one for path, one in found.items() if isinstance(one, str)}
