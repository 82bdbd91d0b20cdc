"""Untrusted text on a page: without control characters, with visible direction marks.

Autoescaping removes markup. It does not remove invisible characters that change what the reader
sees; these functions do.
"""

from __future__ import annotations

import re
from typing import Final

from markupsafe import Markup, escape

_CONTROLS: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_CODE: Final = re.compile(r"`([^`\n]+)`")
# Embeddings, overrides and isolates of the bidirectional algorithm: UAX 9, section 2.
_DIRECTIONS: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
# RFC 3986, sections 3.1 and 3.2. User information is refused, because it hides the real host.
_SAFE: Final = r"[^\s\x00-\x20\x7f<>\"\\]"
_NAME: Final = r"[^\s\x00-\x20\x7f<>\"\\/?#@:\[\]]+"
_WEB: Final = re.compile(
    rf"https?://(?P<host>\[[0-9a-f:.]+\]|{_NAME})(:\d{{1,5}})?([/?#]{_SAFE}*)?", re.IGNORECASE
)
_MAIL: Final = re.compile(rf"mailto:{_NAME}@{_NAME}(\?{_SAFE}*)?", re.IGNORECASE)
_MOMENT: Final = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)T(?P<minute>\d\d:\d\d):\d\dZ")
_LONGEST_URL: Final = 2048


def clean(text: str) -> str:
    """Return `text` without control characters; direction marks become visible."""
    if text.isprintable():  # direction marks are not
        return text
    text = _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _DIRECTIONS.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def link(url: str | None) -> str | None:
    """Return `url` if a page may link to it: an absolute http, https or mailto address."""
    url = (url or "").strip()
    if len(url) > _LONGEST_URL:
        return None
    return url if _WEB.fullmatch(url) or _MAIL.fullmatch(url) else None


def host(url: str) -> str:
    """Return the host of an address in a form that readers can check: in Punycode if not ASCII."""
    found = _WEB.fullmatch(url.strip())
    if found is None:
        return ""
    name = found["host"].lower()
    if name.isascii():
        return name
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError:
        return name.encode("punycode").decode("ascii")


def shortened(text: str, longest: int) -> str:
    """Shorten to at most `longest` characters, at the end of a word if possible."""
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    cut = text[: longest - 1]
    if not text[longest - 1].isspace() and " " in cut[longest // 2 :]:
        cut = cut[: cut.rindex(" ")]
    return cut.rstrip(" ,;:.") + "…"


def moment(time: str) -> str:
    """Return a time in UTC for people; any other text unchanged."""
    found = _MOMENT.fullmatch(time)
    return f"{found['day']} {found['minute']} UTC" if found else time


def letter(name: str) -> str:
    """Return the letter of a tile without an icon; a mark such as `[DEPRECATED]` does not count."""
    name = re.sub(r"^\s*[\[(]\s*deprecated\s*[\])]", "", name, flags=re.IGNORECASE)
    return next((char.upper() for char in name if char.isalnum()), "?")


def code(text: str) -> Markup:
    """Return a message as markup: text between backticks is code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(clean(text)))))  # noqa: S704 - escaped
