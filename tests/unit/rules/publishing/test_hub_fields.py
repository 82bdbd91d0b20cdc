"""Email addresses and URLs, as Go's standard library reads them."""

from __future__ import annotations

import time

import pytest

from olmkit.rules.publishing import hub_fields


@pytest.mark.parametrize(
    "text",
    [
        "a@example.org",
        "a.b+c@localhost",
        "Alex Example <alex@example.org>",
        '"Alex, E." <alex@example.org>',
        "J. R. <j@example.org>",
        "<a@example.org>",
        '"a b"@example.org',
        "käthe@example.org",
        "a@[127.0.0.1]",
    ],
)
def test_an_address_is_valid(text: str) -> None:
    assert hub_fields.is_address(text)


@pytest.mark.parametrize(
    "text", ["", "a", "a@", "@b", "a@b, c@d", "a b@c", "a@b>", "<a@b", "a..b@c", "a@b c"]
)
def test_another_string_is_not_an_address(text: str) -> None:
    assert not hub_fields.is_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "https://a.b",
        "/path",
        "foo:bar",
        "mailto:a@b",
        "https://a.b:80/ c",
        "http://[::1]:80/",
        "//h",
    ],
)
def test_a_request_uri_is_valid(text: str) -> None:
    assert hub_fields.is_request_uri(text)


@pytest.mark.parametrize(
    "text",
    ["", "www.example.org", "https://a:port/", "https://a b/", "/%zz", "a\x01:b", "1a:b", ":a"],
)
def test_another_string_is_not_a_request_uri(text: str) -> None:
    assert not hub_fields.is_request_uri(text)


@pytest.mark.parametrize(
    "text", ["a" * 990, "a " * 490, "ü" * 990, '"' * 990, "a." * 490, "<" * 990]
)
def test_hostile_texts_are_read_fast(text: str) -> None:
    start = time.process_time()

    assert not hub_fields.is_address(text)
    hub_fields.is_request_uri(text * 100)

    assert time.process_time() - start < 30, "quadratic time would need hours"
