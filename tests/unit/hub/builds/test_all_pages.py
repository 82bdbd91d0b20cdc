"""The pages agree with the model of the catalog, and an error only affects its own pages."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.documents import load_yaml
from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.graph import links
from olmkit.catalog.model import Catalog
from olmkit.hub import paths
from olmkit.hub.builds import all_pages
from olmkit.hub.builds.all_pages import Source
from olmkit.hub.looks import markdown
from olmkit.hub.package import version_page as operators
from olmkit.hub.package.installs import Where
from olmkit.hub.pages.kind_pages import CrdPage, KindPage
from olmkit.hub.pages.list_page import ListPage
from olmkit.hub.pages.operator_page import OperatorPage
from olmkit.hub.pages.site_pages import AboutPage, ErrorPage, Site
from olmkit.hub.records import Record
from olmkit.jobs.catalog import catalogs

ROOT = Path(__file__).resolve().parents[4]
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 20).decode()


def site_of(*found: tuple[str, Catalog]) -> Site:
    sources = [Source(name=name, catalog=one, where=Where(name=name)) for name, one in found]
    return all_pages.build_site(sources, title="demo")


def report_of(site: Site) -> list[str]:
    page = site.pages["about/"]
    assert isinstance(page, AboutPage)
    return [one.text for one in page.report]


def operator(site: Site, path: str) -> OperatorPage:
    page = site.pages[path]
    assert isinstance(page, OperatorPage)
    return page


def tiles(site: Site) -> list[str]:
    page = site.pages[""]
    assert isinstance(page, ListPage)
    return [one.name for one in page.tiles]


def blobs(package: str, **csv: Any) -> list[dict[str, Any]]:
    """A package with two versions in `stable`, the second of them with `csv` as its metadata."""
    modes = [{"type": "AllNamespaces", "supported": True}]
    metadata = {
        "crdDescriptions": {"owned": [], "required": []},
        "apiServiceDefinitions": {},
        "displayName": package.title(),
        "provider": {"name": "Example, Inc."},
        "installModes": modes,
        **csv,
    }
    return [
        {
            "schema": "olm.package",
            "name": package,
            "defaultChannel": "stable",
            "icon": {"base64data": PNG, "mediatype": "image/svg+xml"},
        },
        {
            "schema": "olm.channel",
            "package": package,
            "name": "stable",
            "entries": [
                {"name": f"{package}.v1.0.0"},
                {"name": f"{package}.v1.1.0", "replaces": f"{package}.v1.0.0"},
            ],
        },
        *(
            {
                "schema": "olm.bundle",
                "package": package,
                "name": f"{package}.v{version}",
                "image": f"quay.io/example/{package}:v{version}",
                "properties": [
                    {"type": "olm.package", "value": {"packageName": package, "version": version}},
                    {"type": "olm.csv.metadata", "value": metadata},
                ],
            }
            for version in ("1.0.0", "1.1.0")
        ),
    ]


def catalog_of(*listed: dict[str, Any]) -> Catalog:
    return model.from_blobs(Blob.of(one) for one in listed)


@pytest.fixture(scope="module")
def shipped() -> Site:
    return site_of(("demo", catalogs.read(str(ROOT / "catalog"), valid=False)))


def test_the_shipped_catalog_has_all_pages_and_no_error(shipped: Site) -> None:
    assert report_of(shipped) == []
    page = operator(shipped, "p/memcached-operator/")
    assert page.bundle in shipped.data["p/memcached-operator/package.json"]["shownBundle"]
    assert page.permissions
    assert page.apis
    assert all(one.examples for one in page.apis)
    assert any(isinstance(one, CrdPage) and one.fields for one in shipped.pages.values())
    assert any(isinstance(one, KindPage) and one.providers for one in shipped.pages.values())


def test_links_lead_to_pages_that_exist(shipped: Site) -> None:
    page = operator(shipped, "p/memcached-operator/")
    listed = [page.href, page.graph_href]
    assert page.menus is not None
    listed += [one.href for one in page.menus.channels]
    listed += [one.href for one in page.menus.versions]
    listed += [one.href for one in page.versions]
    listed += [one for api in page.apis for one in (api.href, api.schema_href)]
    assert [one for one in listed if one and one not in shipped.pages] == []
    assert page.icon is None or page.icon in shipped.files


def test_manifests_are_yaml_of_the_objects_that_olm_reads(shipped: Site) -> None:
    install = operator(shipped, "p/memcached-operator/").install
    assert {one.mode for one in install.variants if one.olm == "v0"}
    for variant in install.variants:
        for number, text in enumerate(variant.yaml.split("---\n")):
            value = load_yaml(text.encode(), str(number)).value
            assert set(value) >= {"apiVersion", "kind", "metadata"}
        assert variant.yaml in variant.command


def test_an_older_version_is_pinned_and_approved_manually() -> None:
    site = site_of(("demo", catalog_of(*blobs("cache"))))
    old = operator(site, "p/cache/cache.v1.0.0/")
    v0 = next(one for one in old.install.variants if one.olm == "v0")
    assert "startingCSV: cache.v1.0.0" in v0.yaml
    assert "installPlanApproval: Manual" in v0.yaml
    assert old.newer is not None
    assert old.newer.href == "p/cache/cache.v1.1.0/"
    head = operator(site, "p/cache/")
    assert "startingCSV" not in head.install.variants[0].yaml
    assert head.version == "1.1.0"
    assert head.menus is not None
    assert [one.label for one in head.menus.channels] == ["stable: 1.1.0 (default)"]


def test_icons_are_recognized_by_their_bytes() -> None:
    site = site_of(("demo", catalog_of(*blobs("cache"))))
    (path,) = (one for one in site.files if one.endswith(".png"))
    assert operator(site, "p/cache/").icon == path


def test_without_manifests_a_page_does_not_say_that_there_are_no_permissions() -> None:
    site = site_of(("demo", catalog_of(*blobs("cache"))))
    assert operator(site, "p/cache/").permissions is None


def test_deprecations_of_all_levels_are_shown_and_sorted_last() -> None:
    deprecations = {
        "schema": "olm.deprecations",
        "package": "alpha",
        "entries": [
            {"reference": {"schema": "olm.package"}, "message": "use zeta"},
            {"reference": {"schema": "olm.channel", "name": "stable"}, "message": "closed"},
            {"reference": {"schema": "olm.bundle", "name": "alpha.v1.1.0"}, "message": "broken"},
        ],
    }
    site = site_of(("demo", catalog_of(*blobs("alpha"), *blobs("zeta"), deprecations)))
    assert tiles(site) == ["zeta", "alpha"]
    found = operator(site, "p/alpha/").deprecations
    assert [one.message for one in found] == ["use zeta", "closed", "broken"]


def test_null_fields_and_invalid_annotations_only_affect_themselves() -> None:
    bad = blobs(
        "bad",
        displayName=None,
        description=None,
        provider=None,
        links=[{"name": "x"}],
        keywords=[1, None],
        maintainers=None,
        annotations={
            "alm-examples": "{broken",
            "operatorframework.io/suggested-namespace": "Not A Name",
            "operatorframework.io/suggested-namespace-template": "[]",
            "operators.openshift.io/infrastructure-features": "no JSON",
            "operators.operatorframework.io/internal-objects": "5",
        },
    )
    site = site_of(("demo", catalog_of(*bad)))
    assert report_of(site) == []
    page = operator(site, "p/bad/")
    assert page.display_name == "bad"
    assert page.examples_error
    assert page.examples_raw == "{broken"
    assert any("not a valid name" in one for one in page.install.notes)


def test_a_failing_package_only_affects_its_own_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    read = markdown.plain

    def broken(text: str) -> str:
        if "explode" in text:
            raise ValueError("cannot read it")
        return read(text)

    monkeypatch.setattr(markdown, "plain", broken)
    site = site_of(("demo", catalog_of(*blobs("bad", description="explode"), *blobs("good"))))
    assert isinstance(site.pages["p/bad/"], ErrorPage)
    assert operator(site, "p/good/").version == "1.1.0"
    assert sorted(tiles(site)) == ["bad", "good"]
    assert {line.partition(":")[2].split(",")[0] for line in report_of(site)} == {" package bad"}


def test_a_failing_version_only_affects_its_own_page(monkeypatch: pytest.MonkeyPatch) -> None:
    page = operators.page

    def broken(record: Record, *rest: Any, **more: Any) -> OperatorPage:
        if record.version == "1.0.0":
            raise ValueError("cannot show it")
        return page(record, *rest, **more)

    monkeypatch.setattr(operators, "page", broken)
    site = site_of(("demo", catalog_of(*blobs("cache"))))
    assert isinstance(site.pages["p/cache/cache.v1.0.0/"], ErrorPage)
    assert operator(site, "p/cache/").version == "1.1.0"
    assert operator(site, "p/cache/cache.v1.1.0/").version == "1.1.0"
    (line,) = report_of(site)
    assert "package cache, bundle cache.v1.0.0: ValueError: cannot show it" in line


def test_two_catalogs_do_not_merge_a_package() -> None:
    one, other = catalog_of(*blobs("cache")), catalog_of(*blobs("cache"))
    site = site_of(("one", one), ("other", other))
    assert tiles(site) == ["cache", "cache"]
    assert operator(site, "c/one/p/cache/").href == "c/one/p/cache/cache.v1.1.0/"
    assert operator(site, "c/other/p/cache/").href == "c/other/p/cache/cache.v1.1.0/"


def test_several_heads_and_a_missing_default_channel_are_reported() -> None:
    listed = blobs("cache")
    listed[0]["defaultChannel"] = "gone"
    listed[1]["entries"] = [{"name": "cache.v1.0.0"}, {"name": "cache.v1.1.0"}]
    page = operator(site_of(("demo", catalog_of(*listed))), "p/cache/")
    assert page.version == "1.1.0"
    assert any("`gone` is not in the catalog" in one for one in page.notices)
    assert any("2 heads" in one for one in page.notices)


def test_names_that_cannot_be_file_names_become_a_hash() -> None:
    assert paths.folder("memcached-operator") == "memcached-operator"
    for name in ("../../etc", "a/b", "", ".", "graph", "a\0b", "ä", "x" * 300):
        assert paths.folder(name).startswith("x")
        assert paths.folder(name).isalnum()


def test_a_hostile_package_name_is_neither_a_path_nor_a_command() -> None:
    listed = json.loads(
        json.dumps(blobs("evil")).replace('"evil"', json.dumps("../x; rm -rf $(y)"))
    )
    site = site_of(("demo", catalog_of(*listed)))
    assert not [path for path in site.pages if ".." in path or ";" in path]
    page = next(one for one in site.pages.values() if isinstance(one, OperatorPage))
    assert page.install.variants == ()


@pytest.mark.parametrize("name", ["v4.14", "v4.18"])
def test_heads_channels_and_deprecations_of_real_catalogs_are_those_of_the_model(
    name: str, cases: Path
) -> None:
    catalog = catalogs.read(str(cases / "catalogs" / name), valid=False)
    site = site_of(("demo", catalog))
    assert report_of(site) == []
    for package in catalog.packages.values():
        page = operator(site, paths.package("", package.name))
        channel = package.channels[package.default_channel]
        head = links.head(channel)
        assert head is not None
        assert (page.bundle, page.version) == (head.name, str(head.version))
        assert page.menus is not None
        assert page.menus.channels[0].label.startswith(f"{package.default_channel}: ")
        assert len(page.menus.channels) == len(package.channels)
        shown = {one.what: one.message for one in page.deprecations}
        assert shown.get(f"Package {package.name}") == package.deprecation
        graph = site.data[f"{paths.package('', package.name)}package.json"]
        for one in graph["channels"]:
            assert one["heads"] == list(links.heads(package.channels[one["name"]]))


def test_a_channel_is_encoded_in_urls() -> None:
    assert paths.query("stable-v1.2_x~") == "stable-v1.2_x~"
    assert paths.query("a b/ä&") == "a%20b%2F%C3%A4%26"
    listed = blobs("cache")
    listed.append({**listed[1], "name": "a b/c", "entries": [{"name": "cache.v1.0.0"}]})
    page = operator(site_of(("demo", catalog_of(*listed))), "p/cache/")
    assert page.menus is not None
    shown = {one.name: one.href for one in page.menus.channels}
    assert shown["stable"] == "p/cache/cache.v1.1.0/"
    assert shown["a b/c"] == "p/cache/cache.v1.0.0/?channel=a%20b%2Fc"


def test_a_deprecated_head_names_the_newest_version_that_is_not_deprecated() -> None:
    deprecated = {
        "schema": "olm.deprecations",
        "package": "cache",
        "entries": [
            {"reference": {"schema": "olm.bundle", "name": "cache.v1.1.0"}, "message": "broken"}
        ],
    }
    page = operator(site_of(("demo", catalog_of(*blobs("cache"), deprecated))), "p/cache/")
    assert page.good is not None
    assert (page.good.version, page.good.channel) == ("1.0.0", "stable")
    assert page.good.href == "p/cache/cache.v1.0.0/"


def test_the_version_that_olm_v1_installs_without_a_channel_is_named() -> None:
    listed = blobs("cache")
    page = operator(site_of(("demo", catalog_of(*listed))), "p/cache/")
    assert not any("no channel is requested" in note for note in page.install.notes)
    entries = [{"name": "cache.v2.0.0"}]
    newest = json.loads(json.dumps(listed[-1]).replace("1.1.0", "2.0.0"))
    fast = {**listed[1], "name": "fast", "entries": entries}
    page = operator(site_of(("demo", catalog_of(*listed, fast, newest))), "p/cache/")
    (note,) = (note for note in page.install.notes if "no channel is requested" in note)
    assert "`2.0.0`" in note


def test_deprecations_of_missing_objects_are_counted() -> None:
    references = [
        {"schema": "olm.package"},
        {"schema": "olm.bundle", "name": "cache.v1.0.0"},
        {"schema": "olm.bundle", "name": "cache.v9.0.0"},
        {"schema": "olm.channel", "name": "gone"},
    ]
    deprecated = {
        "schema": "olm.deprecations",
        "package": "cache",
        "entries": [{"reference": one, "message": "old"} for one in references],
    }
    site = site_of(("demo", catalog_of(*blobs("cache"), deprecated)))
    assert [one for one in report_of(site) if "deprecations name" in one] == [
        "demo: 2 deprecations name a package, channel or bundle that the catalog does not have"
    ]


def facts_of(site: Site, path: str) -> dict[str, list[tuple[str, str]]]:
    facts = operator(site, path).facts
    return {one.label: [(item.text, item.note or item.url) for item in one.items] for one in facts}


def test_lists_in_annotations_are_items() -> None:
    annotations = {
        "operators.openshift.io/valid-subscription": '["OpenShift", "Example Plus"]',
        "artifacthub.io/changes": "- kind: fixed\n  description: a leak\n- two words\n- 7\n",
        "artifacthub.io/screenshots": "- title: Page\n  url: https://example.com/a.png\n",
        "artifacthub.io/recommendations": "{not: [closed",
        "artifacthub.io/license": "Apache-2.0",
        "operatorframework.io/cluster-monitoring": "true",
        "certified": "soon",
    }
    shown = facts_of(
        site_of(("d", catalog_of(*blobs("cache", annotations=annotations)))), "p/cache/"
    )
    assert shown["Subscription"] == [("OpenShift", ""), ("Example Plus", "")]
    assert shown["Changes"] == [("fixed: a leak", ""), ("two words", ""), ("7", "")]
    assert shown["Screenshots"] == [("Page", "https://example.com/a.png")]
    assert shown["Recommendations"] == [("{not: [closed", "")]
    assert shown["License"] == [("Apache-2.0", "")]
    assert shown["Cluster monitoring"] == [("true", "")]
    assert shown["Certified"] == [("soon", "")]


def test_support_phases_are_those_of_the_shown_minor_version() -> None:
    phase = {"name": "Full support", "startDate": "2026-01-02T00:00:00Z", "endDate": "2027-01-02"}
    lifecycle = {
        "schema": "io.openshift.operators.lifecycles.v1alpha1",
        "package": "cache",
        "versions": [
            {"name": "1.0", "phases": "odd", "platformCompatibility": 3},
            {
                "name": "1.1",
                "phases": [phase, None, {"name": "Later"}],
                "platformCompatibility": [{"name": "openshift", "versions": ["4.18", "4.19"]}],
            },
        ],
    }
    site = site_of(("demo", catalog_of(*blobs("cache"), lifecycle)))
    shown = facts_of(site, "p/cache/")
    assert shown["Support phases"][0] == ("Full support", "until 2027-01-02")
    assert shown["Versions of openshift"] == [("4.18, 4.19", "")]
    assert "Support phases" not in facts_of(site, "p/cache/cache.v1.0.0/")
    assert report_of(site) == []


# Reports about other catalogs: docs/explanation/hub.md


def example(version: str, name: str) -> dict[str, Any]:
    return {
        "apiVersion": f"cache.example.com/{version}",
        "kind": "Cache",
        "metadata": {"name": name},
    }


def owned(version: str) -> dict[str, Any]:
    return {"name": "caches.cache.example.com", "kind": "Cache", "version": version}


def test_each_version_of_a_kind_has_all_its_own_examples() -> None:
    examples = [example("v1", "a"), example("v1alpha1", "old"), example("v1", "b")]
    listed = blobs(
        "cache",
        crdDescriptions={"owned": [owned("v1"), owned("v1alpha1")]},
        annotations={"alm-examples": json.dumps(examples)},
    )
    page = operator(site_of(("demo", catalog_of(*listed))), "p/cache/")
    found = {one.version: [each.name for each in one.examples] for one in page.apis}
    assert found == {"v1": ["a", "b"], "v1alpha1": ["old"]}


def test_only_supported_install_modes_are_offered_with_their_objects() -> None:
    modes = [
        {"type": "AllNamespaces", "supported": False},
        {"type": "OwnNamespace", "supported": True},
    ]
    page = operator(site_of(("demo", catalog_of(*blobs("cache", installModes=modes)))), "p/cache/")
    v0 = [one for one in page.install.variants if one.olm == "v0"]
    assert {one.mode for one in v0} == {"OwnNamespace"}
    for one in v0:
        assert one.namespace == "cache"  # the name of the package, without a prefix
        assert "  targetNamespaces:\n  - cache\n" in one.yaml
        assert any("exactly one OperatorGroup" in note for note in one.notes)
    (v1,) = (one for one in page.install.variants if one.olm == "v1")
    assert v1.yaml == ""
    assert "AllNamespaces" in v1.refusal[0]


def test_platforms_have_their_catalog_namespaces() -> None:
    page = operator(site_of(("demo", catalog_of(*blobs("cache")))), "p/cache/")
    found = {one.platform: one for one in page.install.variants if one.olm == "v0"}
    assert "sourceNamespace: olm\n" in found["kubernetes"].yaml
    assert "sourceNamespace: openshift-marketplace\n" in found["openshift"].yaml
    assert found["openshift"].namespace == "openshift-operators"
    assert "delete subscription/cache csv/cache.v1.1.0" in found["openshift"].removal
    assert "-n openshift-operators" in found["openshift"].removal


def test_the_template_of_a_namespace_comes_before_its_name() -> None:
    template = {"metadata": {"name": "from-template", "labels": {"team": "a"}}}
    prefix = "operatorframework.io/suggested-namespace"
    notes = {prefix: "plain", f"{prefix}-template": json.dumps(template)}
    page = operator(site_of(("demo", catalog_of(*blobs("cache", annotations=notes)))), "p/cache/")
    v0 = next(one for one in page.install.variants if one.olm == "v0")
    assert v0.namespace == "from-template"
    assert "team: a" in v0.yaml


def test_edges_name_versions_and_their_channels() -> None:
    listed = blobs("cache")
    again = {**listed[1], "name": "fast"}
    site = site_of(("demo", catalog_of(*listed, again)))
    edges = {row.bundle: row.edges for row in operator(site, "p/cache/").versions}
    assert edges["cache.v1.1.0"] == ("replaces 1.0.0 (stable, fast)",)
    entries = [{"name": "cache.v1.1.0", "replaces": "cache.v0.9.0", "skips": ["cache.v1.0.0"]}]
    site = site_of(("demo", catalog_of(listed[0], {**listed[1], "entries": entries}, *listed[2:])))
    edges = {row.bundle: row.edges for row in operator(site, "p/cache/").versions}
    assert edges["cache.v1.1.0"] == (
        "replaces cache.v0.9.0, which is not in this channel",
        "skips 1.0.0",
    )


def test_a_kind_of_older_versions_also_has_a_page() -> None:
    described = {"owned": [owned("v1")]}
    listed = blobs("cache", crdDescriptions=described)
    kind = {"group": "cache.example.com", "kind": "Cache", "version": "v1"}
    listed[2]["properties"].append({"type": "olm.gvk", "value": kind})
    listed[3] = json.loads(json.dumps(listed[3]))
    listed[3]["properties"][1]["value"]["crdDescriptions"] = {"owned": []}
    site = site_of(("demo", catalog_of(*listed)))
    assert operator(site, "p/cache/").apis == ()
    (api,) = operator(site, "p/cache/cache.v1.0.0/").apis
    page = site.pages[api.href]
    assert isinstance(page, KindPage)
    (provider,) = page.providers
    assert (provider.version, provider.href) == ("1.0.0", "p/cache/cache.v1.0.0/")
    assert [one.label for one in provider.api_versions] == ["v1"]
    # No version has this one, so there is no page to link to.
    listed[2]["properties"].pop()
    (api,) = operator(site_of(("demo", catalog_of(*listed))), "p/cache/cache.v1.0.0/").apis
    assert api.href == ""


def test_the_page_of_a_kind_names_the_versions_that_provide_it() -> None:
    listed = blobs("cache", crdDescriptions={"owned": [owned("v1")]})
    kind = {"group": "cache.example.com", "kind": "Cache", "version": "v1"}
    for one in listed[2:]:
        one["properties"].append({"type": "olm.gvk", "value": kind})
    page = site_of(("demo", catalog_of(*listed))).pages["api/cache.example.com/Cache/"]
    assert isinstance(page, KindPage)
    (provider,) = page.providers
    assert (provider.version, provider.href) == ("1.1.0", "p/cache/")
    assert provider.others == "2 versions from 1.0.0 to 1.1.0"


@pytest.mark.parametrize("name", ["v4.12", "v4.14"])
def test_links_of_real_catalogs_lead_to_pages(name: str, cases: Path) -> None:
    site = site_of(("real", catalogs.read(str(cases / "catalogs" / name), valid=False)))
    for page in site.pages.values():
        links_ = [page.kind_href] if isinstance(page, CrdPage) else []
        if isinstance(page, OperatorPage):
            links_ = [link for api in page.apis for link in (api.href, api.schema_href)]
        assert [link for link in links_ if link and link not in site.pages] == []


def many_versions(count: int) -> list[dict[str, Any]]:
    """`cache` with versions from 1.0.0 on, each of which replaces the version before it."""
    package, channel, first, _ = blobs("cache")
    versions = [f"1.{number}.0" for number in range(count)]
    entries = [{"name": f"cache.v{one}"} for one in versions]
    for entry, before in zip(entries[1:], entries, strict=False):
        entry["replaces"] = before["name"]
    made = []
    for one in versions:
        identity = {"type": "olm.package", "value": {"packageName": "cache", "version": one}}
        properties = [identity, *first["properties"][1:]]
        made.append({**first, "name": f"cache.v{one}", "properties": properties})
    return [package, {**channel, "entries": entries}, *made]


def test_a_page_of_an_older_version_does_not_repeat_a_long_table() -> None:
    listed = many_versions(100)
    listed.append({**listed[1], "name": "old", "entries": [{"name": "cache.v1.50.0"},
                   {"name": "cache.v1.51.0", "replaces": "cache.v1.50.0"}]})  # fmt: skip
    site = site_of(("demo", catalog_of(*listed)))
    old = operator(site, "p/cache/cache.v1.50.0/")
    assert [one.label for one in old.versions] == ["1.99.0", "1.51.0", "1.50.0"]
    assert old.version_count == 100
    head = operator(site, "p/cache/")
    assert "1.98.0" in [one.label for one in head.versions]


def test_apis_that_are_equal_in_several_versions_are_on_the_page_of_the_newest() -> None:
    def owned(description: str) -> dict[str, Any]:
        described = {"name": "caches.example.com", "kind": "Cache", "version": "v1"}
        return {"owned": [{**described, "description": description}]}

    listed = many_versions(4)
    for number, description in enumerate(("old", "new", "new", "old")):
        metadata = {**listed[2 + number]["properties"][1]["value"]}
        metadata["crdDescriptions"] = owned(description)
        identity = listed[2 + number]["properties"][0]
        listed[2 + number]["properties"] = [
            identity,
            {"type": "olm.csv.metadata", "value": metadata},
        ]
    site = site_of(("demo", catalog_of(*listed)))
    found = {}
    for number in range(4):
        (api,) = operator(site, f"p/cache/cache.v1.{number}.0/").apis
        found[number] = api.same_as and (api.same_as.label, api.same_as.href)
        assert bool(api.description) is (api.same_as is None)
    assert found == {
        0: ("1.3.0", "p/cache/cache.v1.3.0/#api-Cache-v1"),
        1: ("1.2.0", "p/cache/cache.v1.2.0/#api-Cache-v1"),
        2: None,
        3: None,
    }
    assert operator(site, "p/cache/").apis[0].description == "old"


def test_values_that_csv_metadata_does_not_contain_are_not_a_difference() -> None:
    page = operator(site_of(("demo", catalog_of(*blobs("cache")))), "p/cache/cache.v1.1.0/")
    assert page.compare is not None
    assert [item.text for group in page.compare.groups for item in group.items] == []


def test_a_bundle_in_two_channels_has_one_page_with_both() -> None:
    listed = blobs("cache")
    listed.append({**listed[1], "name": "fast", "entries": [{"name": "cache.v1.1.0"}]})
    site = site_of(("demo", catalog_of(*listed)))
    page = operator(site, "p/cache/cache.v1.1.0/")
    assert page.menus is not None
    assert [one.name for one in page.menus.channels] == ["stable", "fast"]
    places = {one.bundle: one.channels for one in page.menus.versions}
    assert places == {"cache.v1.1.0": (0, 1), "cache.v1.0.0": (0,)}
    row = next(one for one in page.versions if one.bundle == "cache.v1.1.0")
    assert row.channels == ("stable", "fast")
    old = operator(site, "p/cache/cache.v1.0.0/")
    assert old.channel == "stable"


def test_images_and_permissions_are_listed(shipped: Site) -> None:
    page = operator(shipped, "p/memcached-operator/")
    assert page.images[0].name == "bundle"
    assert all(one.reference for one in page.images)
    assert page.permissions is not None
    listed = [one for each in page.permissions for one in (*each.notable, *each.others)]
    assert all(one.text.startswith("may ") for one in listed)
    assert any("deployments" in one.text for one in listed)


def test_an_invalid_icon_is_replaced_by_a_letter_and_features_have_three_states() -> None:
    features = "features.operators.openshift.io"
    notes = {f"{features}/disconnected": "true", f"{features}/fips-compliant": "false"}
    listed = blobs("cache", annotations=notes)
    listed[0]["icon"] = {"base64data": "AAAA", "mediatype": "image/png"}
    site = site_of(("demo", catalog_of(*listed)))
    page = operator(site, "p/cache/")
    assert page.icon is None
    shown = next(one for one in page.facts if one.label == "Features")
    assert {one.text: one.note for one in shown.items} == {
        "disconnected": "",
        "fips-compliant": "not supported",
    }
    first = site.pages[""]
    assert isinstance(first, ListPage)
    assert dict(first.tiles[0].facets)["feature"] == ("disconnected",)


def test_versions_without_a_path_to_the_head_are_marked() -> None:
    listed = blobs("cog")
    listed[1]["entries"] = [
        {"name": "cog.v1.0.0"},
        {"name": "cog.v1.0.5", "replaces": "cog.v1.0.0"},
        {"name": "cog.v1.1.0", "replaces": "cog.v1.0.5", "skips": ["cog.v1.0.5"]},
    ]
    site = site_of(("demo", catalog_of(*listed)))
    marks = {
        row.bundle: [badge.label for badge in row.badges if badge.label.startswith("stranded")]
        for row in operator(site, "p/cog/").versions
    }
    assert marks["cog.v1.0.0"] == ["stranded: no upgrade to the head of stable"]
    assert not any(found for name, found in marks.items() if name != "cog.v1.0.0")
