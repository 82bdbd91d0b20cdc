"""Feeds are Atom (RFC 4287), with links that resolve and dates of the catalog."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin
from xml.etree import ElementTree

import pytest

from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.hub import feeds
from olmkit.hub.builds.all_pages import Source
from olmkit.hub.builds.files import HubFiles, Look
from olmkit.hub.feeds import Entry, Feed
from olmkit.hub.package.installs import Where

ATOM = "{http://www.w3.org/2005/Atom}"
BASE = "https://example.com/hub/"


def blobs(package: str, *versions: str, **notes: str) -> list[dict[str, Any]]:
    names = [f"{package}.v{one}" for one in versions]
    entries = [
        {"name": name} | ({"replaces": names[at - 1]} if at else {})
        for at, name in enumerate(names)
    ]
    return [
        {"schema": "olm.package", "name": package, "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": package, "name": "stable", "entries": entries},
        *(
            {
                "schema": "olm.bundle",
                "package": package,
                "name": name,
                "image": f"example.com/{name}",
                "properties": [
                    {
                        "type": "olm.package",
                        "value": {"packageName": package, "version": version},
                    },
                    {
                        "type": "olm.csv.metadata",
                        "value": {"displayName": "Pots & Pans", "annotations": notes},
                    },
                ],
            }
            for name, version in zip(names, versions, strict=True)
        ),
    ]


def files_of(
    *catalogs: tuple[str, list[dict[str, Any]]], base_url: str = ""
) -> dict[str, ElementTree.Element]:
    sources = [
        Source(
            name=name,
            catalog=model.from_blobs(Blob.of(one) for one in values),
            where=Where(name=name),
        )
        for name, values in catalogs
    ]
    made = HubFiles(sources, Look(title="demo", base_url=base_url))
    return {
        path: ElementTree.fromstring(data)  # noqa: S314 - made by this test
        for path, data in made
        if path.endswith("feed.xml") and data is not None
    }


def texts(feed: ElementTree.Element, name: str) -> list[str]:
    return [one.text or "" for one in feed.iter(f"{ATOM}{name}")]


def links(feed: ElementTree.Element) -> list[str]:
    return [one.attrib["href"] for one in feed.iter(f"{ATOM}link")]


def test_a_package_has_a_feed_of_its_versions_newest_first() -> None:
    made = files_of(("demo", blobs("pot", "1.0.0", "1.1.0", createdAt="2024-05-06 07:08:09")))
    feed = made["p/pot/feed.xml"]
    assert texts(feed, "title") == ["Pots & Pans · demo", "Pots & Pans 1.1.0", "Pots & Pans 1.0.0"]
    assert texts(feed, "updated") == ["2024-05-06T07:08:09Z"] * 3
    assert texts(feed, "summary") == ["In channel stable."] * 2
    assert len(set(texts(feed, "id"))) == 3
    assert texts(made["feed.xml"], "title") == ["demo", "Pots & Pans 1.1.0"]
    assert texts(made["feed.xml"], "updated") == ["2024-05-06T07:08:09Z"] * 2


def test_links_lead_to_the_pages_with_and_without_a_base_url() -> None:
    for base_url in ("", BASE):
        made = files_of(
            ("a", blobs("pot", "1.0.0")), ("b", blobs("pot", "2.0.0")), base_url=base_url
        )
        assert sorted(made) == ["c/a/p/pot/feed.xml", "c/b/p/pot/feed.xml", "feed.xml"]
        for path, feed in made.items():
            at = f"{BASE}{path}"
            own, *others = (urljoin(at, link) for link in links(feed))
            assert own == at
            assert all(link.startswith(f"{BASE}c/") for link in others)
        found = links(made["c/b/p/pot/feed.xml"])[1]
        assert urljoin(f"{BASE}c/b/p/pot/feed.xml", found) == f"{BASE}c/b/p/pot/pot.v2.0.0/"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-06T07:08:09Z", "2024-05-06T07:08:09Z"),
        ("2024-05-06T07:08:09.123+02:00", "2024-05-06T05:08:09Z"),
        (" 2024-05-06 ", "2024-05-06T00:00:00Z"),
        ("0001-01-01", "0001-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00+02:00", ""),
        ("6 May 2024", ""),
        ("", ""),
    ],
)
def test_a_date_is_written_as_rfc_3339(text: str, expected: str) -> None:
    assert feeds.timestamp(text) == expected


def test_a_feed_ends_after_its_newest_versions_and_escapes_its_text() -> None:
    entries = [
        Entry(title=f"<{n}>\x1b", href=f'p/x/"{n}"/', identity=(str(n),)) for n in range(150)
    ]
    data = feeds.package_feed("p/x/feed.xml", "demo", Feed(name="x", entries=tuple(entries)))
    feed = ElementTree.fromstring(data)  # noqa: S314 - made by this test
    assert len(texts(feed, "summary")) == feeds.MAX_ENTRIES
    assert texts(feed, "title")[1].startswith("<0>")
    assert links(feed)[1] == '../../p/x/"0"/'
    assert texts(feed, "updated")[0] == "1970-01-01T00:00:00Z"
