"""The documentation as a site, in Debian's chromium: search, versions, no external request."""

from __future__ import annotations

import functools
import re
import runpy
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

pytestmark = pytest.mark.e2e


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of two published versions."""
    folder = tmp_path_factory.mktemp("site")
    script = runpy.run_path(str(root / "scripts/docs_site.py"))
    for version in ("0.1.0", "0.2.0"):
        script["build"](root, folder / "built", version)
        script["publish"](folder / "built", folder / "pages", version)
    handler = functools.partial(_Handler, directory=str(folder / "pages"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def page(site: str) -> Iterator[Page]:
    """A page that only sends requests to the site, and prints nothing in the console."""
    said: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.on("console", lambda message: said.append(message.text))
        page.on("request", lambda request: said.append(request.url))
        yield page
        browser.close()
    assert [one for one in said if not one.startswith((site, "blob:", "data:"))] == []


def test_the_root_redirects_to_the_newest_version(site: str, page: Page) -> None:
    page.goto(site)
    page.wait_for_url(f"{site}0.2.0/")
    expect(page.locator("h1")).to_contain_text("Documentation")


def test_search_finds_a_command(site: str, page: Page) -> None:
    page.goto(f"{site}0.2.0/")
    page.get_by_role("button", name="Search").first.click()
    page.get_by_placeholder("Search").fill("catalog graph")
    first = page.get_by_role("option").first
    expect(first).to_contain_text("olmkit catalog graph")
    expect(first).to_have_attribute("href", re.compile("#olmkit-catalog-graph$"))


def test_the_menu_of_versions_has_all_of_them(site: str, page: Page) -> None:
    page.goto(f"{site}0.2.0/tutorial/")
    links = page.locator(".md-version__link")
    expect(links).to_have_text(["0.2.0", "0.1.0"])
    expect(links.last).to_have_attribute("href", f"{site}0.1.0/")


def test_two_builds_have_the_same_bytes(root: Path, tmp_path: Path) -> None:
    script = runpy.run_path(str(root / "scripts/docs_site.py"))
    for name in ("one", "two"):
        script["build"](root, tmp_path / name, "0.1.0")
    one, two = (
        {
            file.relative_to(folder): file.read_bytes()
            for file in folder.rglob("*")
            if file.is_file()
        }
        for folder in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two
    assert one
