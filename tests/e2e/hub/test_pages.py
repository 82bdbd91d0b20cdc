"""The pages of the hub in a browser: accessible, quiet, complete without a script, safe."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.e2e.hub.conftest import LONGEST

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.e2e

SAMPLE = runpy.run_path(str(Path(__file__).parents[2] / "fixtures" / "hub_pages.py"))
PATHS = tuple(path if path.endswith(".html") else f"{path}index.html" for path in SAMPLE["pages"]())
OPERATOR = "p/memcached-operator/index.html"
SECTIONS = ("install", "description", "apis", "dependencies", "permissions", "images", "versions")


def _violations(page: Page) -> list[str]:
    found: list[dict[str, Any]] = Axe().run(page).response["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 768, 1440])
def test_no_page_violates_a_rule_of_accessibility(
    browser: Browser, site: str, scheme: Any, width: int
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    context.set_default_timeout(LONGEST)
    page = context.new_page()
    for path in PATHS:
        page.goto(site + path)
        assert _violations(page) == [], path
        overflow = "document.documentElement.scrollWidth - innerWidth"
        assert page.evaluate(overflow) <= 0, path
    context.close()


def test_opened_sections_are_also_accessible(watched: Any, site: str) -> None:
    watched.page.goto(site + OPERATOR)
    watched.page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true })")
    assert _violations(watched.page) == []


def test_the_stored_theme_takes_precedence_over_the_system(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark theme").click()
    page.goto(site + OPERATOR)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert _violations(page) == []


@pytest.mark.parametrize("path", PATHS)
def test_pages_are_quiet_and_send_no_request_to_other_hosts(
    watched: Any, site: str, path: str
) -> None:
    watched.page.goto(site + path)
    watched.page.wait_for_load_state("networkidle")


@pytest.mark.parametrize("path", PATHS)
def test_a_hostile_catalog_is_harmless(watched: Any, hostile_site: str, path: str) -> None:
    page = watched.page
    page.goto(hostile_site + path)
    page.wait_for_load_state("networkidle")
    for details in page.locator("main details > summary").all()[:20]:
        if details.is_visible():
            details.click()
    assert page.evaluate("window.hacked") is None
    active = "script:not([src], [type='application/ld+json']), iframe, [onerror], [onload], [style]"
    assert page.locator(active).count() == 0
    assert page.locator("img").count() == page.locator("img[src*=favicon]").count()


def test_search_over_a_hostile_index_is_harmless(watched: Any, hostile_site: str) -> None:
    page = watched.page
    page.goto(hostile_site)
    page.get_by_role("searchbox").fill("<script>")
    expect(page.locator("#tiles > li:visible")).to_have_count(3)
    page.goto(hostile_site + "index.html?q=%22%3E%3Cimg%20src=x%20onerror=window.hacked=1%3E&cat=x")
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize("path", PATHS)
def test_pages_work_from_disk(watched: Any, site_folder: Path, path: str) -> None:
    watched.page.goto(f"file://{site_folder / path}")
    watched.page.wait_for_load_state("load")
    if path == "index.html":
        watched.page.get_by_role("searchbox").fill("prometheus")
        expect(watched.page.locator("#tiles > li:visible")).to_have_count(1)
        watched.page.get_by_role("link", name="Memcached").first.wait_for(state="hidden")


def test_everything_is_readable_without_a_script(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(LONGEST)
    page = context.new_page()
    page.goto(site)
    expect(page.locator("#tiles > li")).to_have_count(3)
    expect(page.get_by_role("searchbox")).to_be_hidden()  # it would have no effect
    page.get_by_role("link", name="Memcached").first.click()
    for section in SECTIONS:
        expect(page.locator(f"#{section} h2").first).to_be_visible()
    expect(page.locator(".variant:visible")).to_have_count(1)
    page.locator(".choices label", has_text="OpenShift").click()
    page.locator(".choices label", has_text="Own namespace").click()
    shown = page.locator(".variant:visible")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("OLM v0 on OpenShift: own namespace", use_inner_text=True)
    page.locator(".choices label", has_text="OLM v1").click()
    expect(page.locator(".variant:visible")).to_contain_text(
        "OLM v1 cannot install this version", use_inner_text=True
    )
    for path in PATHS:
        page.goto(site + path)
        expect(page.locator("h1")).to_be_visible()
    context.close()


def test_manifests_are_copied_and_downloaded_unchanged(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site + OPERATOR)
    page.locator(".variant:visible").get_by_role("button", name="Copy manifests").click()
    expect(page.locator("#live")).to_have_text("Copied to the clipboard")
    assert page.evaluate("navigator.clipboard.readText()") == SAMPLE["MANIFESTS"]
    page.locator(".variant:visible").get_by_role("button", name="Copy kubectl command").click()
    expect(page.locator("#live")).to_have_text("Copied to the clipboard")
    command = f"kubectl apply -f - <<'EOF'\n{SAMPLE['MANIFESTS']}EOF"
    page.wait_for_function("navigator.clipboard.readText().then(text => text.endsWith('EOF'))")
    assert page.evaluate("navigator.clipboard.readText()") == command
    with page.expect_download() as waiting:
        page.locator(".variant:visible").get_by_role("button", name="Download").click()
    assert waiting.value.suggested_filename == "memcached-operator.yaml"
    assert waiting.value.path().read_text() == SAMPLE["MANIFESTS"]


def test_hops_are_shown_from_the_readers_version(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site + OPERATOR)
    page.get_by_label("I have version").select_option(label="1.2.0")
    expect(page.locator(".hop:visible")).to_have_count(1)
    expect(page.locator(".hop:visible")).to_contain_text("From 1.2.0")


def test_the_menu_of_channels_navigates(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site + OPERATOR)
    page.get_by_label("Channel").select_option(label="candidate: 1.4.0")
    page.wait_for_url("**/p/memcached-operator/index.html?channel=candidate")


def test_arrow_keys_skip_the_choices_of_a_menu(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site + OPERATOR)
    menu = page.get_by_label("Channel")
    menu.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#live")).to_have_text("Press Enter to open candidate: 1.4.0")
    expect(menu).to_be_focused()
    assert "?channel=" not in page.url
    page.keyboard.press("Enter")
    page.wait_for_url("**/p/memcached-operator/index.html?channel=candidate")


def test_fields_are_filtered_by_their_path(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site + "crd/abc/v1/index.html")
    page.get_by_label("Filter fields").fill("labels")
    expect(page.locator(".fields li:visible")).to_have_count(3)
    page.goto(site + "crd/abc/v1/index.html#spec.template.labels")
    expect(page.locator("[id='spec.template.labels']")).to_be_visible()


def test_a_long_description_is_cut_until_it_is_opened(
    watched: Any, browser: Browser, site: str, site_folder: Path
) -> None:
    page = watched.page
    file = site_folder / OPERATOR
    text = file.read_text()
    long = "".join(f"<p>Line {number} of the text</p>" for number in range(200))
    long += '<h3 id="far-away">End</h3>'
    mark = '<div class="prose" id="text" dir="auto">'
    assert mark in text
    target = site_folder / "p/memcached-operator/long.html"
    target.write_text(text.replace(mark, mark + long))
    address = f"{site}p/memcached-operator/long.html"
    page.goto(address)
    cut = page.locator("#text.cut")
    expect(cut).to_have_count(1)
    whole = "document.querySelector('#text').scrollHeight"
    shown = "document.querySelector('#text').clientHeight"
    assert page.evaluate(shown) < page.evaluate(whole) / 2
    assert _violations(page) == []
    page.emulate_media(media="print")
    assert page.evaluate(shown) == page.evaluate(whole)
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Show the whole description").click()
    expect(cut).to_have_count(0)
    assert page.evaluate(shown) == page.evaluate(whole)
    page.goto(f"{address}?again#far-away")
    expect(cut).to_have_count(0)
    expect(page.get_by_text("End", exact=True)).to_be_in_viewport()
    context = browser.new_context(java_script_enabled=False)
    context.set_default_timeout(LONGEST)
    quiet = context.new_page()
    quiet.goto(address)
    assert quiet.locator("#text.cut").count() == 0
    context.close()
    target.unlink()


def test_versions_are_shown_by_channel(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site + "p/memcached-operator/graph/index.html")
    rows = page.locator("#all-versions tbody tr:visible")
    total = rows.count()
    page.get_by_label("Show channel").select_option("candidate")
    assert 0 < rows.count() < total
    for row in rows.all():
        expect(row).to_contain_text("candidate")
    page.get_by_label("Show channel").select_option("")
    expect(rows).to_have_count(total)


def test_print_has_the_text_and_not_the_controls(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site + OPERATOR)
    page.emulate_media(media="print")
    expect(page.locator(".top")).to_be_hidden()
    expect(page.locator("#description h2")).to_be_visible()
    expect(page.locator(".pickers")).to_be_hidden()
    closed = page.locator("#apis details:not([open])").first
    expect(closed.locator("p").first).to_be_visible()
    assert len(page.pdf()) > 5000


def test_the_channel_in_the_url_is_in_the_instructions(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site + OPERATOR + "?channel=candidate")
    shown = page.locator(".variant:visible")
    manifests = shown.locator("pre.yaml")
    expect(page.locator("#channel")).to_have_value(
        f"{site}p/memcached-operator/index.html?channel=candidate"
    )
    expect(manifests).to_contain_text("channel: candidate", use_inner_text=True)
    # It is not the head of that channel.
    expect(manifests).to_contain_text("startingCSV: memcached-operator.v1.3.2", use_inner_text=True)
    expect(manifests).to_contain_text("installPlanApproval: Manual", use_inner_text=True)
    expect(shown).to_contain_text("patch installplan NAME", use_inner_text=True)
    expect(shown).to_contain_text("--channel candidate", use_inner_text=True)
    expect(page.locator("#newer")).to_contain_text("candidate: 1.4.0")
    expect(page.get_by_text("Channel candidate is deprecated.")).to_be_visible()
    page.goto(site + OPERATOR)
    expect(page.locator("#newer")).to_be_hidden()
    expect(page.get_by_text("Channel candidate is deprecated.")).to_be_hidden()
    expect(page.locator(".variant:visible pre.yaml")).not_to_contain_text(
        "startingCSV", use_inner_text=True
    )


def test_an_unknown_channel_is_reported(watched: Any, site: str) -> None:
    watched.page.goto(site + OPERATOR + "?channel=%3Cb%3Egone")
    expect(watched.page.locator("#unknown-channel")).to_contain_text("no channel <b>gone")
    expect(watched.page.locator(".variant:visible pre.yaml")).to_contain_text(
        "channel: stable", use_inner_text=True
    )


def test_a_reader_changes_namespaces_and_approval(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site + OPERATOR)
    page.locator(".choices label", has_text="Own namespace").click()
    page.get_by_label("Namespace", exact=True).fill("on")
    page.get_by_label("Approval of upgrades").select_option("Manual")
    manifests = page.locator(".variant:visible pre.yaml")
    expect(manifests).to_contain_text("namespace: 'on'")  # YAML reads an unquoted one as true
    expect(manifests).to_contain_text("installPlanApproval: Manual", use_inner_text=True)
    expect(page.locator(".variant:visible")).to_contain_text(
        "kubectl -n on patch installplan", use_inner_text=True
    )
    expect(page.locator(".variant:visible")).to_contain_text(
        "--approval manual", use_inner_text=True
    )
    for part in ("namespace=on", "approval=manual", "mode=OwnNamespace"):
        assert part in page.url
    page.reload()
    expect(page.get_by_label("Namespace", exact=True)).to_have_value("on")
    expect(page.locator(".variant:visible pre.yaml")).to_contain_text(
        "namespace: 'on'", use_inner_text=True
    )
    page.get_by_label("Namespace", exact=True).fill("Not valid")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator(".variant:visible pre.yaml")).to_contain_text(
        "namespace: memcached", use_inner_text=True
    )
    assert _violations(page) == []


def test_two_versions_are_compared_from_disk(watched: Any, site_folder: Path) -> None:
    page = watched.page
    name = SAMPLE["NAME"]
    page.goto(f"file://{site_folder}/p/{name}/compare/index.html?from={name}.v1.0.0")
    expect(page.locator("#comparison-count")).to_have_text("2 differences.")
    differences = page.locator("#differences")
    expect(differences).to_contain_text("may use secrets")
    expect(differences).to_contain_text(
        "quay.io/example/manager:v1.0.0 → quay.io/example/manager:v1.3.2"
    )
    page.get_by_role("button", name="Swap").click()
    expect(differences.locator("li", has_text="may use secrets")).to_contain_text("gone")
    page.get_by_label("From version").select_option(label="1.0.0")
    expect(page.locator("#comparison-count")).to_have_text("Choose two different versions.")
