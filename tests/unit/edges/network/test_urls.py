"""External URLs: which are valid, how they are shown, where they lead."""

from __future__ import annotations

import pytest
from yarl import URL

from olmkit.base.diagnostics import RemoteError
from olmkit.edges.network import urls

BASE = URL("https://registry.example.com/v2/a/tags/list")
BROKEN = (
    "http://h:70000/",
    "http://h:-1/",
    "http://h:0/",
    "http://h:" + "9" * 5000,
    "http://h:abc/",
    "http://[::1/",
    "http://[zz]/",
    "http:///path",
    "http://h\udcff/",
    "http://h/\udcff",
    "http://h/\x00",
    "http://h/a b",
    "http://h\r\n/",
    "http://xn--a/",
    "ftp://h/",
    "file:///etc/passwd",
    "http://h/" + "a" * 20_000,
)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://user:hunter2@quay.io/v2/a", "https://quay.io/v2/a"),
        ("https://quay.io:5000/v2/?token=hunter2&a=b", "https://quay.io:5000/v2/?…"),
        ("http://[::1]:5000/a#hunter2", "http://[::1]:5000/a"),
        ("not a url", "not a url"),
        ("http://[broken", "a URL"),
        ("http://h/\x1b[31m", "http://h/\N{REPLACEMENT CHARACTER}[31m"),
    ],
)
def test_urls_are_shown_without_secrets(url: str, shown: str) -> None:
    assert urls.redact(url) == shown


@pytest.mark.parametrize("text", BROKEN)
def test_an_invalid_url_is_an_error_of_its_source(text: str) -> None:
    with pytest.raises(RemoteError, match=r"not a valid URL|a port is at most"):
        urls.parse(text)
    with pytest.raises(RemoteError, match=r"registry\.example\.com/v2/a/tags/list"):
        urls.join(BASE, text)
    assert not urls.same_origin(text, text)
    assert len(urls.redact(text)) <= 301


def test_a_relative_location_is_below_the_answering_url() -> None:
    assert str(urls.join(BASE, "/x?y=%2F")) == "https://registry.example.com/x?y=%2F"
    assert str(urls.join(BASE, "//other/x")) == "https://other/x"


def test_the_origin_is_scheme_host_and_port() -> None:
    assert urls.same_origin("https://a/x", "https://A:443/y")
    assert not urls.same_origin("https://a/", "http://a/")
    assert not urls.same_origin("https://a/", "https://b/")
    assert not urls.same_origin("https://a/", "https://a:444/")
    assert not urls.same_origin("nonsense", "https://b/")


def test_every_scheme_except_https_is_a_loss_of_encryption() -> None:
    assert urls.is_downgrade("https://a/", "http://a/")
    assert urls.is_downgrade("HTTPS://a/", "http://a/")
    assert not urls.is_downgrade("http://a/", "http://b/")
    assert not urls.is_downgrade("https://a/", "https://b/")


@pytest.mark.parametrize("text", ["http://127.0.0.1:99999/v2/", "https://u:p@127.0.0.1:99999"])
def test_an_invalid_port_is_named(text: str) -> None:
    with pytest.raises(RemoteError, match=r"^`127.0.0.1:99999` is not an address: a port is at"):
        urls.parse(text)
