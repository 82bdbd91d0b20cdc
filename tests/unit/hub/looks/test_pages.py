"""Pages as HTML: complete, reproducible, without active external content."""

from __future__ import annotations

import dataclasses
import json
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from olmkit.hub.looks import badge, environment, files, pages
from olmkit.hub.pages.instructions import Install
from olmkit.hub.pages.kind_pages import KindPage
from olmkit.hub.pages.list_page import ListPage
from olmkit.hub.pages.operator_page import Descriptor, Newer, OperatorPage
from olmkit.hub.pages.page_parts import Link
from olmkit.hub.pages.site_pages import AboutPage, ErrorPage, Page

SAMPLE = runpy.run_path(str(Path(__file__).parents[3] / "fixtures" / "hub_pages.py"))
PAGES: dict[str, Page] = SAMPLE["pages"]()
OPERATOR: Any = PAGES["p/memcached-operator/"]
OURS = {"theme.js", "hub.js", "index.js", "operator.js", "compare.js", "facts.js", "menus.js"}
VOID = {"meta", "link", "img", "input", "br", "hr", "rect", "circle", "path"}


def _emptied(page: Page, **fields: Any) -> Any:
    """The page with every string and list empty, except for `fields`."""
    empty: dict[str, Any] = {}
    for name in (field.name for field in dataclasses.fields(page)):
        value = getattr(page, name)
        empty[name] = type(value)() if isinstance(value, str | tuple | int) else None
    if isinstance(page, OperatorPage):
        empty["install"] = Install()
    return dataclasses.replace(page, **{**empty, **fields})


class _Reader(HTMLParser):
    """Elements with their attributes; fails if one is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.ids: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, attrs)
        self.elements.append((tag, dict(attrs)))
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def _html(path: str, page: Page, **options: Any) -> str:
    root = "../" * path.count("/")
    return pages.html(page, site="Community operators", root=root, **options)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("is_hostile", [False, True], ids=["ordinary", "hostile"])
def test_pages_are_well_formed_and_have_no_active_content(path: str, is_hostile: bool) -> None:
    page = SAMPLE["hostile"](PAGES[path]) if is_hostile else PAGES[path]
    text = _html(path, page)
    reader = _Reader(text)
    assert len(reader.ids) == len(set(reader.ids))
    assert sum(tag == "h1" for tag, _ in reader.elements) == 1
    for tag, attributes in reader.elements:
        assert tag not in {"style", "iframe", "object", "embed", "base"}
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        if tag == "script" and attributes.get("type") == "application/ld+json":
            continue  # data; what is in it is tested below
        if tag == "script":
            assert str(attributes["src"]).rsplit("/", 1)[1] in OURS
        if tag in {"img", "link"}:
            address = attributes.get("src") or attributes.get("href") or ""
            assert not re.match(r"[a-z]+:|//", address)
        if tag == "a":
            address = attributes.get("href") or ""
            if re.match(r"[a-z]+:|//", address, re.IGNORECASE):
                assert re.match(r"(https?://|mailto:)", address)
                assert "noopener" in (attributes.get("rel") or "")
    assert "\u202e" not in text
    assert "\x00" not in text


@pytest.mark.parametrize("path", PAGES)
def test_the_same_value_results_in_the_same_page(path: str) -> None:
    assert _html(path, PAGES[path]) == _html(path, SAMPLE["pages"]()[path])


@pytest.mark.parametrize(
    "page",
    [
        ListPage(tiles=(), facets=(), has_deprecated=False),
        _emptied(PAGES["p/memcached-operator/"]),
        _emptied(PAGES["crd/abc/v1/"]),
        KindPage(kind="X", group="", providers=()),
        AboutPage(catalogs=(), report=()),
        ErrorPage(title="", text=""),
    ],
    ids=lambda page: type(page).__name__,
)
def test_pages_with_few_values_are_complete(page: Page) -> None:
    _Reader(_html("", page))


@pytest.mark.parametrize("path", PAGES)
def test_every_page_has_the_policy_and_no_absolute_link_to_the_hub(path: str) -> None:
    text = _html(path, PAGES[path])
    assert "script-src &#39;self&#39;" in text or "script-src 'self'" in text
    assert "unsafe" not in environment.POLICY
    for _, attributes in _Reader(text).elements:
        for name in ("href", "src"):
            assert not (attributes.get(name) or "").startswith("/")


def test_links_work_from_disk_and_are_short_on_a_server() -> None:
    on_disk = _html("", PAGES[""])
    served = _html("", PAGES[""], clean_links=True)
    assert 'href="./p/memcached-operator/index.html"' in on_disk
    assert 'href="./p/memcached-operator/"' in served
    assert "index.html" not in served
    operator = _html("p/memcached-operator/", PAGES["p/memcached-operator/"])
    assert "../../p/memcached-operator/graph/index.html" in operator


def test_values_that_the_catalog_lacks_are_not_described_as_none() -> None:
    page = _emptied(OPERATOR, permissions=None)
    assert "does not carry the permissions" in _html("", page)
    page = _emptied(OPERATOR, permissions=())
    assert "requests no permissions" in _html("", page)


def test_unreadable_examples_are_shown_unchanged() -> None:
    page = _emptied(
        OPERATOR,
        examples_error="not JSON",
        examples_raw="[{",
    )
    assert "could not be read: not JSON" in _html("", page)


def test_an_unknown_capability_is_shown_unchanged() -> None:
    page = _emptied(OPERATOR, capability="Super")
    assert "Super (unknown level)" in _html("", page)


def test_a_page_without_all_versions_names_it() -> None:
    newer = Newer(channel="stable", version="2.1.0", href="p/memcached-operator/")
    many = dataclasses.replace(OPERATOR, version_count=201, newer=newer)
    text = _html("", many)
    assert "All 201 versions" in text
    assert "this version and the heads of its channels" in text
    assert "lists all 201 versions" in text
    assert "lists all" not in _html("", OPERATOR)


def test_an_api_of_another_version_is_a_link() -> None:
    link = Link(label="1.4.0", href="p/memcached-operator/x/#api-Memcached-v1")
    same = dataclasses.replace(OPERATOR.apis[0], description="", examples=(), same_as=link)
    text = _html("", dataclasses.replace(OPERATOR, apis=(same, OPERATOR.apis[1])))
    assert 'href="./p/memcached-operator/x/index.html#api-Memcached-v1"' in text
    assert "as in 1.4.0" in text
    assert "has no example" not in text


def test_descriptors_of_a_large_api_are_limited() -> None:
    many = tuple(Descriptor(path=f"spec.f{n}", description="x" * 500) for n in range(3000))
    api = dataclasses.replace(OPERATOR.apis[0], descriptors=many)
    text = _html("", _emptied(OPERATOR, apis=(api,)))
    assert "3000 described fields" in text
    assert "2900 more fields" in text
    assert len(text) < 100_000


def test_the_index_is_a_script_that_no_text_can_end() -> None:
    assert files.index_script('[{"name":"</script>"}]') == (
        'window.hubIndex = [{"name":"\\u003c/script>"}];\n'
    )


def test_the_shared_files_request_nothing_from_other_hosts() -> None:
    for name, data in files.shared().items():
        text = data.decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|@import|url\(|innerHTML|eval\(", text), name
    assert sum(map(len, files.shared().values())) < 64_000


def test_the_data_of_an_operator_is_its_own_json() -> None:
    for page in (OPERATOR, SAMPLE["hostile"](OPERATOR)):
        text = pages.html(page, site="x", root="../../", path="p/memcached-operator/")
        (block,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', text)
        assert "<" not in block
        found = json.loads(block)
        assert found["@type"] == "SoftwareApplication"
        assert found["name"].startswith("Memcached")


def test_a_badge_is_an_image_without_active_content() -> None:
    text = badge.svg("cache", "1.2.3")
    assert "1.2.3" in text
    hostile = badge.svg(SAMPLE["HOSTILE"], "</text><script>\u202e")
    for one in (text, hostile):
        names = {found.tag.rpartition("}")[2] for found in ElementTree.fromstring(one).iter()}  # noqa: S314
        assert names == {"svg", "title", "clipPath", "rect", "g", "text"}
    assert "\u202e" not in hostile
