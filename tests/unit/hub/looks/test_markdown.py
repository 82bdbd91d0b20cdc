"""External descriptions: what a page shows of them, and what it never contains."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest

from olmkit.hub.looks import markdown

ATTACKS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](javascript:alert(1))",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    '<a href="java\tscript:alert(1)">x</a>',
    '<a href="https://example.com" onclick="alert(1)" style="position:fixed" id="main">x</a>',
    "<svg><script>alert(1)</script></svg>",
    "<svg/onload=alert(1)>",
    "<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>",
    "<iframe src=https://example.com></iframe>",
    "<object data=x></object><embed src=x>",
    "<form action=https://example.com><input name=q></form>",
    "<base href=https://example.com>",
    "<meta http-equiv=refresh content=0;url=https://example.com>",
    "<link rel=stylesheet href=https://example.com/x.css>",
    "<style>*{display:none}</style>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<template><script>alert(1)</script></template>",
    "<title><script>alert(1)</script></title>",
    "<textarea><script>alert(1)</script></textarea>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<details ontoggle=alert(1) open>x</details>",
    "```html\n<script>alert(1)</script>\n```",
    '<td align="left" onmouseover=alert(1)>x</td>',
    '[x](https://example.com "&quot; onclick=alert(1) x=&quot;")',
    '<img alt="&lt;script&gt;alert(1)&lt;/script&gt;" src=https://example.com/x.png>',
)
ATTRIBUTES = {"href", "title", "rel", "align", "start", "id", "class", "tabindex"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_active_content_remains(attack: str) -> None:
    for text in (attack, f"# Title\n\n- {attack}\n\n| a |\n|---|\n| {attack} |\n", f"<p>{attack}"):
        reader = _Reader()
        reader.feed(markdown.description(text).html)
        assert reader.tags.isdisjoint(
            {"script", "img", "svg", "iframe", "object", "embed", "form", "input", "base", "meta"}
            | {"link", "style", "template", "math", "noscript", "title", "textarea"}
        )
        for name, value in reader.attributes:
            assert name in ATTRIBUTES
            if name == "href":
                assert value is not None
                assert re.match("(https?:|mailto:)", value)
            if name == "id":
                assert re.fullmatch(r"d\d+", value or "")


def test_an_image_becomes_a_link_with_its_alternative_text() -> None:
    shown = markdown.description("![diagram](https://example.com/a.png)").html
    assert 'href="https://example.com/a.png"' in shown
    assert ">diagram</a>" in shown
    shown = markdown.description('<img src="https://example.com/a.png" alt="Logo">').html
    assert ">Logo</a>" in shown


def test_a_badge_inside_a_link_is_one_link() -> None:
    shown = markdown.description("[![build](https://example.com/b.svg)](https://example.com)").html
    assert shown.count("<a ") == 1
    assert ">build</a>" in shown


def test_relative_links_are_text() -> None:
    shown = markdown.description("[guide](docs/guide.md) [host](//example.com/x)").html
    assert "href" not in shown
    assert "guide" in shown


def test_links_send_no_referrer_to_other_sites() -> None:
    shown = markdown.description("[x](https://example.com)").html
    assert 'rel="noopener noreferrer nofollow ugc"' in shown


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("# a\n## b\n# c", [3, 4, 3]),
        ("### a\n# b", [3, 3]),
        ("# a\n##### b", [3, 4]),
        ("<h1>a</h1>\n\n## b", [3, 4]),
        ("# \n\n## b", [3]),
        ("# a\n## b\n### c\n#### d\n##### e\n###### f", [3, 4, 5, 6, 6, 6]),
    ],
)
def test_headings_are_below_the_section_without_gaps(text: str, levels: list[int]) -> None:
    shown = markdown.description(text).html
    assert [int(level) for level in re.findall(r"<h(\d)", shown)] == levels


def test_four_headings_have_a_table_of_contents() -> None:
    assert markdown.description("# a\n# b\n# c").contents == ()
    contents = markdown.description("# a\n## *b* <b>x</b>\n# c\n# d").contents
    assert [(item.text, item.depth) for item in contents] == [
        ("a", 0),
        ("b x", 1),
        ("c", 0),
        ("d", 0),
    ]


def test_tables_and_code_are_scrollable_with_the_keyboard() -> None:
    shown = markdown.description("| a |\n|---|\n| b |\n\n```\nx\n```\n").html
    assert '<div class="wide" tabindex="0"><table>' in shown
    assert '<pre tabindex="0">' in shown


@pytest.mark.parametrize(
    "text",
    [
        "<div>" * 100_000,
        "<p><b>" * 900,
        ">" * 60_000,
        "- " * 30_000,
        "[" * 60_000,
        "![[" * 20_000,
        "*a " * 20_000,
        "|a" * 30_000 + "\n" + "|-" * 30_000,
        "`" * 60_000,
        "<!--" * 15_000,
        "x" * 1_000_000,
    ],
    ids=lambda text: text[:6],
)
def test_hostile_texts_are_limited(text: str) -> None:
    start = time.process_time()
    shown = markdown.description(text).html
    assert time.process_time() - start < 10
    assert len(shown) < 2_000_000


def test_text_that_takes_long_is_shown_unrendered() -> None:
    shown = markdown.description("<div>" * 3000 + "<script>")
    assert shown.is_plain
    assert "<script>" not in shown.html
    assert shown.html.startswith("<pre")


def test_invisible_characters_are_removed() -> None:
    shown = markdown.description("a\u202eb\x00\x1b[31mc").html
    assert shown == "<p>a[U+202E]b[31mc</p>\n"


def test_summaries_are_plain_text() -> None:
    assert markdown.plain("# Title\n\nSome **bold** & [link](https://example.com).") == (
        "Title Some bold & link ."
    )
