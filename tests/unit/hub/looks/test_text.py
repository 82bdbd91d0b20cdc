"""External text and URLs, as a page shows them."""

from __future__ import annotations

import pytest

from olmkit.hub.looks import text


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "//example.com",
        "example.com",
        "docs/x.md",
        "https://",
        "https://exa mple.com",
        "https://example.com:port",
        "https://[::1",
        "https://user@example.com/",
        'https://example.com/"onclick',
        "data:text/html,x",
        "file:///etc/passwd",
        "mailto:team",
        "https://example.com/" + "x" * 3000,
        "",
        None,
    ],
)
def test_a_url_that_is_not_absolute_is_not_linked(url: str | None) -> None:
    assert text.link(url) is None


@pytest.mark.parametrize(
    "url", ["https://example.com/a?b#c", "http://[::1]:80/", "mailto:a@b.example"]
)
def test_absolute_urls_are_linked(url: str) -> None:
    assert text.link(f" {url} ") == url


def test_hosts_in_other_scripts_are_shown_in_punycode() -> None:
    assert text.host("https://\u0435xample.com/x") == "xn--xample-2of.com"
    assert text.host("https://example.com:8080/x") == "example.com"


def test_control_characters_are_removed_and_direction_marks_are_visible() -> None:
    assert text.clean("a\u202eb\u2066c\x00\x9bd\r\ne") == "a[U+202E]b[U+2066]cd\ne"


def test_a_text_is_cut_after_a_word() -> None:
    assert text.shortened("one two  three", 20) == "one two three"
    assert text.shortened("one two three", 9) == "one two…"
    assert text.shortened("x" * 30, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    ("name", "letter"),
    [
        ("memcached", "M"),
        ("[DEPRECATED] Redis", "R"),
        ("(deprecated)x", "X"),
        ("...", "?"),
        ("", "?"),
    ],
)
def test_a_tile_has_the_letter_of_its_name(name: str, letter: str) -> None:
    assert text.letter(name) == letter


def test_code_in_messages_is_marked_and_escaped() -> None:
    assert text.code("the mode `<b>` is `new`") == (
        "the mode <code>&lt;b&gt;</code> is <code>new</code>"
    )
    assert text.code("one ` only") == "one ` only"


def test_a_time_is_written_for_users() -> None:
    assert text.moment("2026-05-06T07:08:09Z") == "2026-05-06 07:08 UTC"
    assert text.moment("Tuesday") == "Tuesday"
