"""Changes since an earlier build: on the about page, in the feed and in the list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from olmkit.cli import main

ATOM = "{http://www.w3.org/2005/Atom}"
CREATED = "2026-03-04T00:00:00Z"


def write(folder: Path, **versions: Any) -> str:
    """A catalog with one version of each package; a tuple has the message of a deprecation."""
    listed: list[dict[str, Any]] = []
    for package, found in versions.items():
        version, message = found if isinstance(found, tuple) else (found, "")
        name = f"{package}.v{version}"
        identity = {"packageName": package, "version": version}
        metadata = {"displayName": package.title(), "annotations": {"createdAt": "2026-03-04"}}
        listed += [
            {"schema": "olm.package", "name": package, "defaultChannel": "stable"},
            {
                "schema": "olm.channel",
                "package": package,
                "name": "stable",
                "entries": [{"name": name}],
            },
            {
                "schema": "olm.bundle",
                "package": package,
                "name": name,
                "image": f"quay.io/x/{package}@sha256:{'0' * 64}",
                "properties": [
                    {"type": "olm.package", "value": identity},
                    {"type": "olm.csv.metadata", "value": metadata},
                ],
            },
        ]
        if message:
            entry = {"reference": {"schema": "olm.package"}, "message": message}
            listed.append({"schema": "olm.deprecations", "package": package, "entries": [entry]})
    folder.mkdir(exist_ok=True)
    (folder / "catalog.json").write_text("\n".join(json.dumps(one) for one in listed))
    return str(folder)


def build(reference: str, folder: Path, *words: str) -> int:
    return main.run(["hub", "build", reference, "-d", str(folder), "--title", "Demo", "-q", *words])


def entries(folder: Path) -> list[tuple[str, str, str]]:
    """Return title, summary and date of each entry of the feed."""
    feed = ElementTree.fromstring((folder / "feed.xml").read_text())  # noqa: S314 - our own file
    return [
        tuple(str(one.findtext(f"{ATOM}{tag}")) for tag in ("title", "summary", "updated"))  # type: ignore[misc]
        for one in feed.iter(f"{ATOM}entry")
    ]


def test_changes_are_those_since_the_earlier_list(tmp_path: Path) -> None:
    catalog, pages = tmp_path / "catalog", tmp_path / "pages"
    assert build(write(catalog, apple="1.0.0", fig="1.0.0", plum="1.0.0", rose="1.0.0"), pages) == 0
    assert "changes" not in json.loads((pages / "index.json").read_text())
    now = write(catalog, apple="1.1.0", fig="1.0.0", kiwi="0.1.0", rose=("1.0.0", "Use kiwi."))
    time = ("--build-time", "2026-05-06T07:08:09+02:00")
    assert build(now, pages, "--previous", str(pages), *time) == 0
    date = "2026-05-06T05:08:09Z"
    assert entries(pages) == [
        ("Apple 1.1.0", "Apple: version 1.1.0, before 1.0.0.", date),
        ("Kiwi 0.1.0", "Kiwi: version 0.1.0 is new in the catalog.", date),
        ("Plum", "Plum: is no longer in the catalog.", date),
        ("Rose 1.0.0", "Rose: is deprecated now.", date),
    ]
    about = (pages / "about/index.html").read_text()
    assert f'Built at <time datetime="{date}">' in about
    assert 'href="../p/apple/index.html"' in about
    assert 'href="../p/plum/index.html"' not in about
    listed = (pages / "index.html").read_text()
    assert '<option value="changed">' in listed
    assert listed.count("data-changed=") == 3
    # The next build has its own changes first, then the earlier ones.
    later = write(catalog, apple="1.2.0", fig="1.0.0", kiwi="0.1.0", rose=("1.0.0", "Use kiwi."))
    assert build(later, pages, "--previous", str(pages / "index.json")) == 0
    found = entries(pages)
    assert found[0] == ("Apple 1.2.0", "Apple: version 1.2.0, before 1.1.0.", CREATED)
    known = ["Apple 1.1.0", "Kiwi 0.1.0", "Plum", "Rose 1.0.0"]
    assert [title for title, _, _ in found[1:]] == known
    assert found[1][2] == date


def test_the_same_catalog_changes_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalog, pages = tmp_path / "catalog", tmp_path / "pages"
    assert build(write(catalog, apple="1.0.0"), pages) == 0
    now = write(catalog, apple="1.1.0")
    assert build(now, pages, "--previous", str(pages)) == 0
    capsys.readouterr()
    assert build(now, pages, "--previous", str(pages), "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["result"]["changed"] == []


def test_without_an_earlier_list_the_feed_has_the_newest_versions(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    assert build(write(tmp_path / "catalog", apple="1.0.0"), pages) == 0
    assert entries(pages) == [("Apple 1.0.0", "", "2026-03-04T00:00:00Z")]
    assert "Changes since" not in (pages / "about/index.html").read_text()
    assert 'value="changed"' not in (pages / "index.html").read_text()


@pytest.mark.parametrize("text", ["", "[]", '{"packages": 1}', "\0", '{"packages": {}}'])
def test_a_file_that_is_not_the_list_of_a_hub_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (tmp_path / "index.json").write_text(text)
    catalog = write(tmp_path / "catalog", apple="1.0.0")
    words = ("--previous", str(tmp_path / "index.json"))
    assert build(catalog, tmp_path / "pages", *words) == 1
    assert "is not the list of a hub" in capsys.readouterr().err
    assert not (tmp_path / "pages").exists()


def test_invalid_fields_of_a_list_only_affect_themselves(tmp_path: Path) -> None:
    attack = "<script>alert(1)</script>"
    change = {"kind": "added", "name": attack, "href": "javascript:alert(1)", "time": attack}
    listed = {
        "packages": [None, {"name": attack, "version": 3}, {"name": ["x"]}],
        "changes": [change, {"kind": attack, "name": "x"}, 7],
    }
    (tmp_path / "index.json").write_text(json.dumps(listed))
    pages = tmp_path / "pages"
    catalog = write(tmp_path / "catalog", apple="1.0.0")
    assert build(catalog, pages, "--previous", str(tmp_path / "index.json")) == 0
    about = (pages / "about/index.html").read_text()
    assert attack not in about
    assert "javascript:" not in about
    assert attack not in (pages / "feed.xml").read_text()
    assert entries(pages)


def test_an_invalid_time_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    catalog = write(tmp_path / "catalog", apple="1.0.0")
    assert build(catalog, tmp_path / "pages", "--build-time", "yesterday") == 2
    assert "`yesterday` is not a time" in capsys.readouterr().err
