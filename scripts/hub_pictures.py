"""Writes the pictures of docs/images/hub from the sample pages of the tests, with chromium.

.venv/bin/python scripts/hub_pictures.py
"""

from __future__ import annotations

import dataclasses
import json
import runpy
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from olmkit.hub.looks import files, pages
from olmkit.hub.package import comparison, menus
from olmkit.hub.pages.list_page import FacetValue, ListPage
from olmkit.hub.pages.operator_page import OperatorPage

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "images" / "hub"
CHROMIUM = "/usr/bin/chromium"
OPERATOR = "p/memcached-operator/index.html"
COMPARISON = "p/memcached-operator/compare/index.html"
# Name of the picture, page, width, height, theme, visible section.
SHOTS = (
    ("list", "index.html", 1280, 760, "light", ""),
    ("operator", OPERATOR, 1280, 900, "light", ""),
    ("operator-dark", OPERATOR, 1280, 900, "dark", ""),
    ("graph", "p/memcached-operator/graph/index.html", 1280, 800, "light", ""),
    ("phone", OPERATOR, 390, 844, "dark", ""),
    ("permissions", OPERATOR, 1280, 760, "light", "#permissions"),
    ("fields", "crd/abc/v1/index.html", 1280, 640, "light", ""),
    ("comparison", COMPARISON, 1280, 640, "light", ""),
)
# Additional values in the list: name, provider, summary, category.
MORE = (
    ("Postgres", "Example Data", "Clusters of PostgreSQL with backups and failover.", "Database"),
    ("Certificates", "Example Security", "Issues and renews TLS certificates.", "Security"),
    ("Message Queue", "Example, Inc.", "Brokers, topics and users as objects.", "Streaming"),
    ("Object Store", "Example Data", "Buckets and access keys for applications.", "Storage"),
    ("Log Collector", "Example Monitoring", "Ships the logs of all nodes.", "Monitoring"),
    ("Gateway", "Example Networks", "HTTP routes for services in a cluster.", "Networking"),
)


def _list_page(page: ListPage) -> ListPage:
    model = page.tiles[1]
    more = [
        dataclasses.replace(
            model,
            display_name=name,
            provider=provider,
            summary=summary,
            version=f"{2 + number}.{number}.1",
            v1=number % 3 > 0,
            facets=(("cat", (category,)), ("olm", ("v0", "v1") if number % 3 else ("v0",))),
        )
        for number, (name, provider, summary, category) in enumerate(MORE)
    ]
    counts = {name: 1 for *_, name in MORE} | {"Database": 3, "Monitoring": 2}
    found = (FacetValue(value=name, label=name, count=count) for name, count in counts.items())
    facets = (dataclasses.replace(page.facets[0], values=tuple(found)), *page.facets[1:])
    tiles = (*page.tiles[:2], *more, page.tiles[2])
    return dataclasses.replace(page, tiles=tiles, facets=facets)


def write_site(folder: Path) -> None:
    sample = runpy.run_path(str(ROOT / "tests" / "fixtures" / "hub_pages.py"))
    for path, page in sample["pages"]().items():
        target = folder / (path if path.endswith(".html") else f"{path}index.html")
        target.parent.mkdir(parents=True, exist_ok=True)
        shown = page
        if isinstance(page, ListPage):
            shown = _list_page(page)
        elif isinstance(page, OperatorPage):
            shown = dataclasses.replace(page, newer=None, good=None, notices=(), deprecations=())
        text = pages.html(shown, site="Community operators", root="../" * path.count("/"))
        target.write_text(text, "utf-8")
    facts = comparison.Facts()
    for bundle, found in sample["facts"]():
        facts.add(bundle, frozenset(found))
    script = comparison.script(facts.data())
    (folder / COMPARISON).with_name("facts.js").write_text(script, "utf-8")
    listed = sample["menus"]()
    (folder / listed.file).write_text(menus.script(listed), "utf-8")
    (folder / files.FOLDER).mkdir()
    for name, data in files.shared().items():
        (folder / files.FOLDER / name).write_bytes(data)
    (folder / "index.js").write_text(files.index_script(json.dumps([])), "utf-8")


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        write_site(folder)
        browser = playwright.chromium.launch(executable_path=CHROMIUM)
        for picture, path, width, height, theme, section in SHOTS:
            page = browser.new_page(
                viewport={"width": width, "height": height},
                color_scheme="dark" if theme == "dark" else "light",
                reduced_motion="reduce",
            )
            page.goto(f"file://{folder / path}{section}")
            page.wait_for_timeout(300)
            page.screenshot(path=PICTURES / f"{picture}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
