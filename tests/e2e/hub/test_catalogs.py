"""Hubs of real catalogs in a browser, and how fast large pages are."""

from __future__ import annotations

import dataclasses
import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from olmkit.hub.builds import all_pages
from olmkit.hub.looks import files, pages
from olmkit.hub.package import installs
from olmkit.hub.pages.list_page import ListPage
from olmkit.hub.pages.version_pages import GraphPage
from olmkit.jobs.catalog import catalogs

pytestmark = pytest.mark.e2e

SAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "fixtures" / "hub_pages.py"))


@pytest.fixture(scope="module")
def shipped(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hub of the shipped catalog, from its values to files."""
    folder = tmp_path_factory.mktemp("shipped")
    catalog = catalogs.read(str(root / "catalog"), valid=False)
    source = all_pages.Source(name="demo", catalog=catalog, where=installs.Where(name="demo"))
    made = all_pages.build_site([source], title="Demo")
    for path, page in made.pages.items():
        target = folder / (path if path and not path.endswith("/") else f"{path}index.html")
        target.parent.mkdir(parents=True, exist_ok=True)
        text = pages.html(page, site=made.title, root="../" * path.count("/"))
        target.write_text(text, "utf-8")
    shared = {f"{files.FOLDER}/{name}": data for name, data in files.shared().items()}
    for name, data in {**made.files, **shared}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    index = json.dumps(made.data["index.json"]["packages"])
    (folder / "index.js").write_text(files.index_script(index), "utf-8")
    (folder / "descriptions.js").write_text(files.descriptions_script("[]"), "utf-8")
    return folder


def test_the_shipped_catalog_is_accessible_quiet_and_has_no_broken_link(
    watched: Any, shipped: Path
) -> None:
    page = watched.page
    for path in sorted(shipped.rglob("*.html")):
        page.goto(f"file://{path}")
        links = page.evaluate("[...document.querySelectorAll('a[href]')].map(a => a.href)")
        for link in links:
            if link.startswith("file:"):
                target = Path(link.removeprefix("file://").split("#")[0].split("?")[0])
                assert target.is_file(), (path, link)
    assert watched.faults == []
    for name in ("index.html", "p/memcached-operator/index.html", "about/index.html"):
        page.goto(f"file://{shipped / name}")
        found = Axe().run(page).response["violations"]
        assert [one["id"] for one in found] == [], name
    watched.faults.clear()  # axe reads style sheets, which a browser refuses from disk


def test_a_kind_of_the_shipped_catalog_is_found(watched: Any, shipped: Path) -> None:
    watched.page.goto(f"file://{shipped}/index.html?q=memcached")
    expect(watched.page.locator("#tiles > li:visible")).to_have_count(1)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list of 400 operators, and an upgrade graph of 500 versions."""
    folder = tmp_path_factory.mktemp("large")
    first: ListPage = SAMPLE["list_page"]()
    tiles = [
        dataclasses.replace(first.tiles[number % 3], display_name=f"Operator {number}")
        for number in range(400)
    ]
    entry = SAMPLE["SEARCH"][0]
    index = [{**entry, "name": f"operator-{n}", "displayName": f"Operator {n}"} for n in range(400)]
    graph: GraphPage = SAMPLE["pages"]()["p/memcached-operator/graph/"]
    rows = [
        dataclasses.replace(graph.versions[1], label=f"1.{number}.0", current=False)
        for number in range(500)
    ]
    made = {
        "index.html": (dataclasses.replace(first, tiles=tuple(tiles)), ""),
        "graph.html": (dataclasses.replace(graph, versions=tuple(rows)), ""),
    }
    for name, (page, to_root) in made.items():
        (folder / name).write_text(pages.html(page, site="Large", root=to_root), "utf-8")
    (folder / files.FOLDER).mkdir()
    for name, data in files.shared().items():
        (folder / files.FOLDER / name).write_bytes(data)
    (folder / "index.js").write_text(files.index_script(json.dumps(index)), "utf-8")
    (folder / "descriptions.js").write_text(files.descriptions_script("[]"), "utf-8")
    return folder


def test_a_list_of_400_operators_is_searched_key_by_key(watched: Any, large: Path) -> None:
    page = watched.page
    page.goto(f"file://{large}/index.html")
    assert (large / "index.html").stat().st_size < 600_000
    box = page.get_by_role("searchbox")
    box.press_sequentially("operator 12")
    shown = page.locator("#tiles > li:visible")
    expect(shown.first).to_contain_text("Operator 12", use_inner_text=True)
    expect(page.locator("#count")).to_contain_text("of 400")
    box.fill("operatro 399")
    expect(page.locator("#count")).to_contain_text("No exact match")


def test_a_graph_of_500_versions_stays_small(watched: Any, large: Path) -> None:
    watched.page.goto(f"file://{large}/graph.html")
    expect(watched.page.locator("#all-versions tbody tr")).to_have_count(500)
    assert (large / "graph.html").stat().st_size < 400_000
