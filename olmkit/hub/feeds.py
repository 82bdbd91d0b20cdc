"""Atom feeds of a hub (RFC 4287): one of the whole catalog, one of each package.

Readers distinguish entries by their identifiers, which contain the version. The date is that of the
annotation `createdAt` if it is valid, because no clock is used; such dates may be wrong. With an
earlier build, a feed lists the changes instead. Without `base_url`, links are relative, which not
every reader resolves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from olmkit.hub import news
from olmkit.hub.looks.text import clean
from olmkit.hub.pages.list_page import News, Tile

FILE: Final = "feed.xml"
MAX_ENTRIES: Final = 100
"""Versions in the feed of a package, the newest ones."""

_NO_DATE: Final = "1970-01-01T00:00:00Z"


class Entry(NamedTuple):
    """A version. `href` is relative to the first page; `identity` is the same in each build."""

    title: str
    href: str
    identity: tuple[str, ...]
    created: str = ""
    summary: str = ""


class Feed(NamedTuple):
    """The feed of a package; `name` is that of the operator."""

    name: str
    entries: tuple[Entry, ...]


def list_feed(title: str, tiles: Sequence[Tile], base_url: str = "") -> bytes:
    """Return the feed with the shown version of each package."""
    entries = [
        Entry(
            title=f"{tile.display_name} {tile.version}".strip(),
            href=tile.href,
            identity=(title, tile.catalog, tile.name, tile.version),
            created=tile.created,
            summary=tile.summary,
        )
        for tile in sorted(tiles, key=lambda one: (one.catalog, one.name))
    ]
    return _atom(FILE, title, (title,), entries, base_url)


def news_feed(
    title: str, tiles: Sequence[Tile], changes: Sequence[News], base_url: str = ""
) -> bytes:
    """Return the changes since an earlier build, the newest first.

    A change without a time has the date of the version.
    """
    created = {(one.catalog, one.name, one.version): one.created for one in tiles}
    entries = [
        Entry(
            title=f"{one.display_name or one.name} {one.version}".strip(),
            href=one.href,
            identity=(title, one.catalog, one.name, one.kind, one.version, one.before, one.time),
            created=one.time or created.get((one.catalog, one.name, one.version), ""),
            summary=f"{one.display_name or one.name}: {news.sentence(one)}.",
        )
        for one in changes
    ]
    return _atom(FILE, title, (title,), entries, base_url)


def package_feed(path: str, title: str, feed: Feed, base_url: str = "") -> bytes:
    """Return the feed of a package's newest versions for `path`; `title` is the hub's."""
    entries = [one._replace(identity=(title, *one.identity)) for one in feed.entries[:MAX_ENTRIES]]
    return _atom(path, f"{feed.name} · {title}", (title, path), entries, base_url)


def timestamp(text: str) -> str:
    """Return a date or a time as RFC 3339 in UTC; empty if it is neither."""
    try:
        found = datetime.fromisoformat(text.strip())
        in_utc = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return ""
    return in_utc.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def _atom(
    path: str, title: str, identity: tuple[str, ...], entries: Sequence[Entry], base_url: str
) -> bytes:
    root = base_url or "../" * path.count("/")
    own = f"{base_url}{path}" if base_url else path.rpartition("/")[2]
    updated = max((timestamp(one.created) for one in entries), default="")
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{_text(title)}</title>",
        f"<id>{_identifier(identity)}</id>",
        f"<updated>{updated or _NO_DATE}</updated>",
        "<author><name>olmkit</name></author>",
        f'<link rel="self" href={quoteattr(own)}/>',
        *(line for entry in entries for line in _entry(entry, root)),
        "</feed>",
        "",
    ]
    return "\n".join(lines).encode("utf-8", "replace")


def _entry(entry: Entry, root: str) -> Iterator[str]:
    yield "<entry>"
    yield f"<title>{_text(entry.title)}</title>"
    yield f"<id>{_identifier(entry.identity)}</id>"
    yield f"<updated>{timestamp(entry.created) or _NO_DATE}</updated>"
    yield f"<link href={quoteattr(f'{root}{entry.href}')}/>"
    yield f"<summary>{_text(entry.summary)}</summary>"
    yield "</entry>"


def _text(text: str) -> str:
    return escape(clean(text))


def _identifier(parts: Sequence[str]) -> str:
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
    return f"urn:sha256:{digest}"
