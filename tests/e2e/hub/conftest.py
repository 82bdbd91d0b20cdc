"""The pages of the hub in Debian's chromium: ordinary and hostile values, served on loopback."""

from __future__ import annotations

import dataclasses
import functools
import json
import runpy
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from olmkit.hub.looks import environment, files, pages
from olmkit.hub.package import comparison, menus
from olmkit.hub.package.comparison import Fact

CHROMIUM = Path("/usr/bin/chromium")


def write_site(folder: Path, *, hostile: bool = False) -> None:
    """A hub with one page of each type; each text of the publisher is an attack if `hostile`."""
    sample = runpy.run_path(str(Path(__file__).parents[2] / "fixtures" / "hub_pages.py"))
    change = sample["hostile"] if hostile else lambda page: page
    for path, page in sample["pages"]().items():
        name = path if path.endswith(".html") else f"{path}index.html"
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        text = pages.html(change(page), site="Community operators", root="../" * path.count("/"))
        target.write_text(text, "utf-8")
    for name, data in files.shared().items():
        (folder / files.FOLDER).mkdir(exist_ok=True)
        (folder / files.FOLDER / name).write_bytes(data)
    search = [{k: change(v) for k, v in entry.items()} for entry in sample["SEARCH"]]
    (folder / "index.js").write_text(files.index_script(json.dumps(search)), "utf-8")
    words = json.dumps([change(text) for text in sample["DESCRIPTIONS"]])
    (folder / "descriptions.js").write_text(files.descriptions_script(words), "utf-8")
    listed = change(sample["menus"]()) if hostile else sample["menus"]()
    script = menus.script(dataclasses.replace(listed, file=sample["menus"]().file))
    (folder / f"p/{sample['NAME']}/menus.js").write_text(script, "utf-8")
    facts = comparison.Facts()
    for bundle, found in sample["facts"]():
        changed = {Fact(one.area, change(one.key), change(one.value)) for one in found}
        facts.add(bundle, frozenset(changed))
    script = comparison.script(facts.data())
    (folder / f"p/{sample['NAME']}/compare/facts.js").write_text(script, "utf-8")


class _Handler(SimpleHTTPRequestHandler):
    def end_headers(self) -> None:
        policy = f"{environment.POLICY}; frame-ancestors 'none'"
        self.send_header("Content-Security-Policy", policy)
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def serve(folder: Path) -> Iterator[str]:
    handler = functools.partial(_Handler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hub")
    write_site(folder)
    return folder


@pytest.fixture(scope="session")
def site(site_folder: Path) -> Iterator[str]:
    yield from serve(site_folder)


@pytest.fixture(scope="session")
def hostile_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("hostile")
    write_site(folder, hostile=True)
    yield from serve(folder)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Ends with the module: while Playwright runs, no other event loop can run in this thread."""
    if not CHROMIUM.exists():
        pytest.fail("chromium is not installed: run `sh scripts/system-packages --e2e`")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM))
        yield started
        started.close()


# Milliseconds: a busy machine can need half a minute for one page.
LONGEST = 180_000
expect.set_options(timeout=60_000)


class RecordedPage:
    """A page that records forbidden events: messages, errors, requests to other hosts."""

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.faults: list[str] = []
        self.page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))
        self.page.on("request", lambda request: self._request(request.url))

    def _request(self, url: str) -> None:
        if not url.startswith(("http://127.0.0.1:", "file:///", "blob:", "data:")):
            self.faults.append(f"request: {url}")


@pytest.fixture
def watched(browser: Browser) -> Iterator[RecordedPage]:
    """A page in a separate context; the test fails if there was a forbidden event."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(LONGEST)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    made = RecordedPage(context)
    yield made
    context.close()
    assert made.faults == []
