"""Pages on request are those of a build."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.hub import records
from olmkit.hub.builds import all_pages, files
from olmkit.hub.builds.all_pages import Source
from olmkit.hub.builds.files import Look
from olmkit.hub.builds.on_request import OnRequest
from olmkit.hub.package import package_pages
from olmkit.hub.package.installs import Where
from olmkit.jobs.catalog import catalogs

ROOT = Path(__file__).resolve().parents[4]
LOOK = Look(title="x")


def source(folder: Path, name: str = "x") -> Source:
    catalog = catalogs.read(str(folder), valid=False)
    return Source(name=name, catalog=catalog, where=Where(name=name))


def assert_same(*sources: Source) -> int:
    """Each file of a build of the catalogs is found, and has the same bytes."""
    site = all_pages.build_site(sources, title=LOOK.title)
    served = OnRequest(sources, LOOK)
    expected = dict(site.files)
    for path, page in site.pages.items():
        text = files.render_safely(LOOK, path, page, clean_links=True)[0]
        expected[files.file_of(path)] = text.encode()
    for path, value in site.data.items():
        expected[path] = files.json_bytes(value)
    for path, data in expected.items():
        make = served.find(path)
        assert make is not None, path
        assert make() == data, path
    crds = sum(path.startswith("crd/") for path in site.pages)
    assert served.pages == len(site.pages) - crds
    return len(expected)


def test_pages_of_the_shipped_catalog_alone_and_with_another_one_are_found() -> None:
    assert assert_same(source(ROOT / "catalog")) > 15
    assert assert_same(source(ROOT / "catalog", "a"), source(ROOT / "catalog", "b")) > 30


def test_pages_of_shared_catalogs_are_found(cases: Path) -> None:
    folders = sorted((cases / "catalogs").iterdir())
    for folder in folders[:: max(1, len(folders) // 4)]:
        assert_same(source(folder))


@pytest.mark.parametrize(
    "path",
    ["p/", "p/gone/index.html", "p/memcached-operator/gone/index.html", "crd/x/v1/index.html",
     "p/memcached-operator/graph/other.svg", "c/x/p/memcached-operator/index.html", "../x", "/"],
)  # fmt: skip
def test_other_paths_are_not_found(path: str) -> None:
    assert OnRequest([source(ROOT / "catalog")], LOOK).find(path) is None


def test_a_failing_package_or_version_only_affects_its_own_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served = OnRequest([source(ROOT / "catalog")], LOOK)
    read = records.read_record

    def fails(bundle: object) -> records.Record:
        found = read(bundle)  # type: ignore[arg-type]
        if found.bundle.name.endswith("0.0.1"):
            raise ValueError("broken")
        return found

    monkeypatch.setattr(package_pages.records, "read_record", fails)
    path = "p/memcached-operator/memcached-operator.v0.0.1/index.html"
    make = served.find(path)
    assert make is not None
    assert b"could not be made" in make()
    whole = served.find("p/memcached-operator/graph/graph.svg")
    assert whole is not None
    assert whole().startswith(b"<svg")

    def broken(_: object) -> records.Record:
        raise ValueError("broken")

    monkeypatch.setattr(package_pages.records, "read_record", broken)
    served = OnRequest([source(ROOT / "catalog")], LOOK)
    assert any("broken" in one for one in served.failed)
    make = served.find("p/memcached-operator/index.html")
    assert make is not None
    assert b"could not be made" in make()


def test_old_urls_redirect() -> None:
    served = OnRequest([source(ROOT / "catalog")], LOOK)
    assert served.moved("operator/memcached-operator") == "p/memcached-operator/"
    assert served.moved("operator/memcached-operator/alpha") == (
        "p/memcached-operator/memcached-operator.v0.0.2/"
    )
    assert served.moved("operator/gone") is None
