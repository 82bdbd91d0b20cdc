"""The pages about the hub itself, and the hub as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.hub.pages.kind_pages import CrdPage, KindPage
from olmkit.hub.pages.list_page import ListPage, News
from olmkit.hub.pages.operator_page import OperatorPage
from olmkit.hub.pages.page_parts import TextFact
from olmkit.hub.pages.version_pages import ComparePage, GraphPage


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutCatalog:
    name: str
    facts: tuple[TextFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportItem:
    """A line of the build report; `kind` is `failed` or `note`."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutPage:
    """The sources of the pages; `time` of the build and `news` since an earlier one, if known."""

    catalogs: tuple[AboutCatalog, ...]
    report: tuple[ReportItem, ...]
    news: tuple[News, ...] | None = None
    time: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPage:
    """A page that could not be rendered, or does not exist; `details` is printed unchanged."""

    title: str
    text: str
    details: str = ""


Page = (
    ListPage | OperatorPage | GraphPage | ComparePage | KindPage | CrdPage | AboutPage | ErrorPage
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """All pages of a hub.

    `pages`: path of a folder (`""`, `p/x/`) or of a file (`404.html`) → page. `files`: path →
    bytes of icons, pictures and feeds. `data`: path → value of a JSON file.
    """

    title: str
    pages: Mapping[str, Page]
    files: Mapping[str, bytes]
    data: Mapping[str, Any]
