"""Convert descriptions from untrusted CommonMark to HTML that is safe on a page.

Raw HTML is part of the language and is used (`<br>`, `<b>`), so the result is filtered by an
allowlist. Images become links, because a page requests nothing from other hosts. No `id` comes from
the text: those of headings are numbered. Headings are moved below the heading of the description's
section, each at most one level deeper than the previous one.

Texts that would take too long (https://github.com/rust-ammonia/ammonia is quadratic in the depth of
nesting, tables are quadratic in their columns) are shown as plain text.
"""

from __future__ import annotations

import html
import re
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from olmkit.hub.looks import text as texts

LONGEST: Final = 64 * 1024
"""Maximum length of a description that is parsed as Markdown."""
_MOST_TAGS: Final = 2000
_MOST_COLUMNS: Final = 200
_FIRST_LEVEL: Final = 3  # the section that contains the description has level 2
_CONTENTS: Final = 4  # number of headings from which a table of contents helps

_TAGS: Final = (
    "p br hr h1 h2 h3 h4 h5 h6 ul ol li strong b em i del s code pre blockquote table thead tbody "
    "tr th td a kbd sub sup details summary"
)
_WITHOUT_CONTENT: Final = (
    "script style svg math iframe object template noscript textarea title noembed noframes "
    "plaintext xmp"
)
_HEADING: Final = re.compile(r"<h([1-6])>(.*?)</h[1-6]>", re.DOTALL)
_TAG: Final = re.compile(r"<[^>]*>")
_IMAGE: Final = re.compile(r"<img\b[^>]*>", re.IGNORECASE)
_ATTRIBUTE: Final = re.compile(
    r"\b(src|alt)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))", re.IGNORECASE
)
_ALIGNED: Final = re.compile(r'style="text-align:(left|center|right)"')


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a description."""

    anchor: str
    text: str
    depth: int


@dataclass(frozen=True, slots=True)
class Description:
    """A description as HTML that a page includes unchanged."""

    html: str
    contents: tuple[Heading, ...] = ()
    is_plain: bool = False
    """The text is too long or too deeply nested to be parsed as Markdown."""


@lru_cache(maxsize=256)
def description(text: str) -> Description:
    """Render `text` as a description; the same for the same text."""
    text = texts.clean(text)
    if _takes_long(text):
        return Description(f"<pre>{html.escape(text[: 4 * LONGEST])}</pre>", is_plain=True)
    rendered = _ALIGNED.sub(r'align="\1"', _reader().render(text))
    safe = nh3.clean(
        rendered,
        tags=set(_TAGS.split()),
        clean_content_tags=set(_WITHOUT_CONTENT.split()),
        attributes={
            "a": {"href", "title"},
            "td": {"align"},
            "th": {"align"},
            "ol": {"start"},
        },
        attribute_filter=_attribute,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow ugc",
    )
    contents: list[Heading] = []
    safe = _with_headings(safe, contents)
    safe = safe.replace("<table>", '<div class="wide" tabindex="0"><table>')
    safe = safe.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    safe = re.sub(r"<th( [^>]*)?></th>", r"<td\1></td>", safe)
    return Description(safe, tuple(contents) if len(contents) >= _CONTENTS else ())


def plain(text: str) -> str:
    """Return a description as plain text on one line, for a summary or a search."""
    if _takes_long(text):
        return " ".join(texts.clean(text[:LONGEST]).split())
    return " ".join(html.unescape(_TAG.sub(" ", description(text).html)).split())


def _takes_long(text: str) -> bool:
    if len(text) > LONGEST or text.count("<") > _MOST_TAGS:
        return True
    if any(line.count("|") > _MOST_COLUMNS for line in text.splitlines()):
        return True
    # Nested containers: `> > > …` and `- - - …`, one list per line.
    return (
        re.search(r"(?:[>*+-][ \t]*){200}", re.sub(r"^[-=* \t]+$", "", text, flags=re.M))
        is not None
    )


def _attribute(tag: str, name: str, value: str) -> str | None:
    if name == "href":
        return texts.link(value)
    if name == "align":
        return value if value in {"left", "center", "right"} else None
    if name == "start":
        return value if value.isdigit() and len(value) < 10 else None
    return value if tag == "a" else None


def _with_headings(text: str, contents: list[Heading]) -> str:
    """Return the text with headings below the section's level, with anchors."""
    open_levels: list[int] = []

    def heading(found: re.Match[str]) -> str:
        words = " ".join(html.unescape(_TAG.sub("", found[2])).split())
        if not words:
            return ""
        level = int(found[1])
        while open_levels and open_levels[-1] >= level:
            open_levels.pop()
        open_levels.append(level)
        depth = len(open_levels) - 1
        shown = min(_FIRST_LEVEL + depth, 6)
        anchor = f"d{len(contents) + 1}"
        contents.append(Heading(anchor, texts.shortened(words, 120), depth))
        return f'<h{shown} id="{anchor}">{found[2]}</h{shown}>'

    text = _HEADING.sub(heading, text)
    return re.sub(r"<(/?)h([12])>", r"<\1h3>", text)


class _Renderer(RendererHTML):
    """HTML with links instead of images."""

    def image(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        token = tokens[idx]
        alternative = self.renderInlineAsText(token.children or [], options, env)
        in_link = sum(t.nesting for t in tokens[:idx] if t.type in {"link_open", "link_close"}) > 0
        return _image_link(str(token.attrs.get("src", "")), alternative, in_link=in_link)

    def html_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        del options, env
        return _IMAGE.sub(_raw_image, tokens[idx].content)

    def html_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        del options, env
        return _IMAGE.sub(_raw_image, tokens[idx].content)


def _raw_image(found: re.Match[str]) -> str:
    values = {name.lower(): a or b or c for name, a, b, c in _ATTRIBUTE.findall(found[0])}
    return _image_link(
        html.unescape(values.get("src", "")), html.unescape(values.get("alt", "")), in_link=False
    )


def _image_link(address: str, alternative: str, *, in_link: bool) -> str:
    words = html.escape(alternative.strip() or "image")
    url = texts.link(address)
    if url is None or in_link:
        return words
    return f'<a href="{html.escape(url)}">{words}</a>'


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True}, renderer_cls=_Renderer).enable(
        ["table", "strikethrough"]
    )
