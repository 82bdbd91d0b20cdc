"""Marks in the instructions: they do not change the text, and are at the values."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from markupsafe import Markup

from olmkit.hub.builds import all_pages
from olmkit.hub.builds.all_pages import Source
from olmkit.hub.looks import editable
from olmkit.hub.package.installs import Where
from olmkit.hub.pages.instructions import Install, Variant
from olmkit.hub.pages.operator_page import OperatorPage
from olmkit.jobs.catalog import catalogs

ROOT = Path(__file__).resolve().parents[4]


def joined(pieces: list[Markup]) -> str:
    return "".join(pieces)


def plain(pieces: list[Markup] | str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", "".join(pieces)))


def marks(markup: str, kind: str) -> list[str]:
    found = re.findall(rf"<u data-e={kind}(?: [^>]*)?>(.*?)</u>", markup, re.DOTALL)
    return [plain(one) for one in found]


@pytest.fixture(scope="module")
def pages() -> list[OperatorPage]:
    catalog = catalogs.read(str(ROOT / "catalog"), valid=False)
    where = Where(name="demo", namespace="memcached-operator", image="quay.io/example/catalog:1")
    site = all_pages.build_site([Source(name="demo", catalog=catalog, where=where)], title="demo")
    return [one for one in site.pages.values() if isinstance(one, OperatorPage)]


def test_the_text_is_that_of_the_variant(pages: list[OperatorPage]) -> None:
    assert {page.install.is_head for page in pages} == {True, False}
    for page in pages:
        for one in page.install.variants:
            if one.refusal:
                continue
            assert plain(editable.manifests(one, page.install)) == one.yaml
            assert plain(editable.command(one, page.install)) == one.command
            assert plain(editable.after(one, page.install)) == one.after
            assert plain(editable.removal(one)) == one.removal
            words = plain(editable.olmkit(one, page.install)).split()
            assert sorted(words) == sorted(one.olmkit.split())


def test_the_namespace_of_the_catalog_is_not_marked(pages: list[OperatorPage]) -> None:
    page = next(one for one in pages if not one.install.is_head)
    own = next(one for one in page.install.variants if one.mode == "OwnNamespace")
    shown = joined(editable.manifests(own, page.install))
    # Namespace, OperatorGroup twice, Subscription; the CatalogSource is in the same namespace.
    assert marks(shown, "ns") == ["memcached-operator"] * 4
    assert marks(shown, "channel") == ["alpha"]
    assert marks(shown, "approval") == ["Manual"]
    assert "data-e=pin" in shown


def test_the_head_is_only_named_for_the_script(pages: list[OperatorPage]) -> None:
    page = next(one for one in pages if one.install.is_head)
    shown = joined(editable.manifests(page.install.variants[0], page.install))
    assert marks(shown, "approval") == ["Automatic"]
    assert marks(shown, "pin") == [""]
    assert "startingCSV: memcached-operator.v0.0.2" in shown
    assert "startingCSV" not in plain(shown)


def test_watched_namespaces_are_marked(pages: list[OperatorPage]) -> None:
    page = next(one for one in pages if not one.install.is_head)
    many = next(one for one in page.install.variants if one.mode == "MultiNamespace")
    shown = joined(editable.manifests(many, page.install))
    assert marks(shown, "watched") == ["my-namespace"]
    assert marks(shown, "watched-2") == ["my-other-namespace"]
    command = joined(editable.olmkit(many, page.install))
    assert marks(command, "watched") == ["my-namespace"]


def test_only_a_shared_namespace_gets_the_objects_of_another_one(pages: list[OperatorPage]) -> None:
    for one in pages[0].install.variants:
        shown = joined(editable.manifests(one, pages[0].install))
        is_shared = one.olm == "v0" and one.mode == "AllNamespaces"
        assert ("data-e=place" in shown) == is_shared


def test_private_characters_of_a_publisher_create_no_mark() -> None:
    text = "kind: Subscription\nspec:\n  channel: a\ue001b\ue000\n"
    variant = Variant(olm="v0", title="x", yaml=text, namespace="x")
    shown = joined(editable.manifests(variant, Install(channel="a")))
    assert shown.count("<u data-e") == shown.count("</u>")
    assert shown.count("data-e=channel") == 1
    assert "\ue001" not in shown


def test_marks_and_colors_are_nested(pages: list[OperatorPage]) -> None:
    for page in pages:
        for one in page.install.variants:
            open_: list[str] = []
            for closing, name in re.findall(
                r"<(/?)(\w+)", joined(editable.command(one, page.install))
            ):
                if not closing:
                    open_.append(name)
                else:
                    assert open_.pop() == name
            assert open_ == []
