"""Render the value of a page as HTML."""

from __future__ import annotations

from typing import Final

from olmkit.hub.looks import environment
from olmkit.hub.pages.kind_pages import CrdPage, KindPage
from olmkit.hub.pages.list_page import ListPage
from olmkit.hub.pages.operator_page import OperatorPage
from olmkit.hub.pages.site_pages import AboutPage, ErrorPage, Page
from olmkit.hub.pages.version_pages import ComparePage, GraphPage

_TEMPLATES: Final = {
    ListPage: "list.html",
    OperatorPage: "operator.html",
    GraphPage: "graph.html",
    ComparePage: "comparison.html",
    CrdPage: "crd.html",
    KindPage: "kind.html",
    AboutPage: "about.html",
    ErrorPage: "error.html",
}


def html(
    page: Page,
    *,
    site: str,
    root: str,
    clean_links: bool = False,
    base_url: str = "",
    path: str = "",
    image_link: str = "",
    notice: str = "",
    is_live: bool = False,
) -> str:
    """Return the page as HTML; the same value gives the same text.

    `site` is the title of the hub, `root` the relative path to its first page: `""` there,
    `"../../"` on `p/PACKAGE/`. With `clean_links`, links omit `index.html`: a server finds it, but
    pages on disk need it. With `base_url`, the URL of the hub, the page contains its address, which
    is that URL with `path`. `image_link` is the address of a page about an image, with `{image}`
    for its reference; `notice` is at the top of the page; if it `is_live`, it reloads after a
    change.
    """
    values = {
        "page": page,
        "site": site,
        "base_url": base_url,
        "path": path,
        "image_link": image_link,
        "notice": notice,
        "is_live": is_live,
    }
    return environment.fill(_TEMPLATES[type(page)], root, values, clean_links=clean_links)
