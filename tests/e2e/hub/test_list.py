"""The list of the hub: search with ranking, filters, the URL, the keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e


def _shown(page: Page) -> list[str]:
    return page.locator("#tiles > li:visible h2").all_inner_texts()


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("memcached", ["Memcached", "Old Cache"]),  # the name before a word of the summary
        ("servicemonitor", ["Prometheus Operator"]),  # a kind of its CRDs
        ("cache", ["Old Cache", "Memcached", "Prometheus Operator"]),
        ("example monitoring", ["Prometheus Operator"]),  # all words
        ('"example monitoring"', ["Prometheus Operator"]),
        ("PROMETHEUS_operator", ["Prometheus Operator"]),  # case, `_` and spaces are ignored
        ("promethues", ["Prometheus Operator"]),  # a typing error
        ("memcachd", ["Memcached"]),
        ("nothing-like-it", []),
    ],
)
def test_search_results_are_ranked(watched: Any, site: str, query: str, names: list[str]) -> None:
    page = watched.page
    page.goto(site)
    page.get_by_role("searchbox").fill(query)
    assert _shown(page) == names
    expect(page.locator("#empty")).to_be_visible(visible=not names)


def test_words_of_descriptions_are_found(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site)
    page.get_by_role("searchbox").fill("superseded")
    expect(page.locator("#count")).to_have_text("1 of 3 operators")
    assert _shown(page) == ["Old Cache"]
    page.goto(site + "index.html?q=key-value")
    expect(page.locator("#count")).to_have_text("1 of 3 operators")


def test_similar_results_are_marked_as_similar(watched: Any, site: str) -> None:
    watched.page.goto(site)
    watched.page.get_by_role("searchbox").fill("promethues")
    expect(watched.page.locator("#count")).to_have_text("No exact match; similar: 1 of 3 operators")


def test_filters_have_counts_and_are_in_the_url(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site)
    page.get_by_label("Database").check()
    assert _shown(page) == ["Memcached", "Old Cache"]
    expect(page.locator("#count")).to_have_text("2 of 3 operators")
    assert "cat=Database" in page.url
    counts = page.locator("input[name=olm] ~ .count").all_inner_texts()
    assert counts == ["2", "2"]  # they follow the other filters
    page.get_by_label("Hide").check()
    assert _shown(page) == ["Memcached"]
    page.go_back()
    assert _shown(page) == ["Memcached", "Old Cache"]
    page.reload()
    assert _shown(page) == ["Memcached", "Old Cache"]
    expect(page.get_by_label("Database")).to_be_checked()
    page.get_by_role("button", name="Clear all").first.click()
    assert len(_shown(page)) == 3
    assert "?" not in page.url


def test_values_of_a_group_are_alternatives(watched: Any, site: str) -> None:
    watched.page.goto(site + "index.html?cat=Database&cat=Monitoring&olm=v1")
    assert _shown(watched.page) == ["Memcached", "Old Cache"]


def test_deprecated_operators_are_last_and_marked(watched: Any, site: str) -> None:
    watched.page.goto(site)
    assert _shown(watched.page)[-1] == "Old Cache"
    expect(watched.page.locator("#tiles > li").last).to_contain_text("Deprecated")


def test_the_list_is_usable_with_the_keyboard(watched: Any, site: str) -> None:
    page = watched.page
    page.goto(site)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.get_by_role("checkbox").first.focus()
    page.keyboard.press("/")  # no text is typed there
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("cache")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name="Old Cache")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("link", name="Memcached")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    assert len(_shown(page)) == 3
    page.keyboard.type("memcached")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/p/memcached-operator/index.html")


def test_no_url_breaks_the_list(watched: Any, site: str) -> None:
    query = "?sort=__proto__&cat=constructor&q=%E0%A4%A&deprecated=x"
    watched.page.goto(site + "index.html" + query)
    expect(watched.page.get_by_role("button", name="Clear all").first).to_be_visible()
