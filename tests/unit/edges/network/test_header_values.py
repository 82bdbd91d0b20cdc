"""Values of HTTP headers: lists, links, numbers, dates."""

from __future__ import annotations

import pytest

from olmkit.edges.network import header_values


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0.0),
        ("7", 7.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("soon", 0.0),
        ("-5", 0.0),
        ("inf", 0.0),
        ("nan", 0.0),
        ("9" * 5000, 86_400.0),
        ("\N{ARABIC-INDIC DIGIT THREE}", 86_400.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400.0),
        ("Fri, 31 Dec 99999 23:59:59 GMT", 0.0),
    ],
)
def test_retry_after_is_a_number_or_a_date(text: str, seconds: float) -> None:
    assert header_values.parse_retry_after(text, now=60.0) == seconds


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("", []),
        (" , a ,, b=1,", ["a", "b=1"]),
        ('a="x, y",b', ['a="x, y"', "b"]),
        (r'a="x\", y", b', [r'a="x\", y"', "b"]),
        ('a="never ends, b', ['a="never ends, b']),
    ],
)
def test_commas_in_quoted_strings_are_not_separators(text: str, elements: list[str]) -> None:
    assert header_values.split_list(text) == elements


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("", ""),
        ('</v2/a/tags/list?last=x>; rel="next"', "/v2/a/tags/list?last=x"),
        ("</next>;rel=next", "/next"),
        ('<first>; rel="first", <next>; rel="next"', "next"),
        ('<next>; rel="prefetch next"; title="a, <b>"', "next"),
        ('<a,b>; title="x"; REL="Next"', "a,b"),
        ('<first>; title="rel=next"', ""),
        ('<first>; rel="nextone"', ""),
        ("<first>", ""),
        ("first; rel=next", ""),
        ("<a>; rel=next;", "a"),
        ("<a> ; rel = next ; x", "a"),
        ("<a>; rel=next x", ""),
        ('<a>; rel="prev"; rel="next"', ""),
        ('<a>; rel="last\tnext"', "a"),
        ('<a>; rel="next', "a"),
        ("x, <a>; rel=next", "a"),
        ('"<x>; rel=next", <a>; rel=next', "a"),
        ("<x, <a>; rel=next", "x, <a"),
    ],
)
def test_the_next_link_has_the_relation_next(text: str, target: str) -> None:
    assert header_values.next_link(text) == target


LONG = 100_000  # olmkit's HTTP library accepts about a million characters in all headers


@pytest.mark.parametrize(
    "text",
    [
        '"' * LONG,
        "<" * LONG,
        "<a," * LONG,
        "<a>," * LONG,
        "<" + "a," * LONG,
        "a," * LONG,
        " " * LONG,
        '<a>; rel="' + " " * LONG,
        '<a>; rel="' * LONG,
        "<a>; rel=" + " " * LONG + "x",
        "<a>" + "; " * LONG,
        "<a>" + ";rel" * LONG,
        "<a>" + '; rel=" next' * LONG,
        '<a>; rel="' + "\\" * LONG,
    ],
    ids=lambda text: text[:12],
)
def test_long_headers_take_linear_time(text: str) -> None:
    header_values.split_list(text)
    assert header_values.next_link(text) == ""
