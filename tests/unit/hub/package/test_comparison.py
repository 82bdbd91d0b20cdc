"""Facts of versions have the differences of `bundle diff`, and are written without loss."""

from __future__ import annotations

import dataclasses
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from olmkit.bundle.changes import difference
from olmkit.bundle.changes.change import Area
from olmkit.catalog.model import Bundle, Catalog, Package
from olmkit.hub import paths, records
from olmkit.hub.package import comparison, schemas, upgrades
from olmkit.hub.package import version_page as operators
from olmkit.hub.package.comparison import Fact, Facts
from olmkit.hub.package.version_page import Contents
from olmkit.hub.pages.kind_pages import CrdPage
from olmkit.jobs.catalog import catalogs

ROOT = Path(__file__).resolve().parents[4]


def facts(package: Package, contents: Contents) -> frozenset[Fact]:
    pages: dict[str, CrdPage] = {}
    for crd in contents.record.crds.values():
        pages.update(schemas.pages(crd))
    name = contents.record.bundle.name
    channels = [one.name for one in package.channels.values() if name in one.entries]
    return comparison.facts(contents.record, contents.summary, channels, pages.get)


def contents(bundle: Bundle) -> Contents:
    return operators.contents(records.read_record(bundle))


def uncovered(package: Package, one: Bundle, other: Bundle) -> list[str]:
    """Areas in which `bundle diff` finds a difference, and the facts do not differ."""
    old, new = contents(one), contents(other)
    assert old.bundle is not None
    assert new.bundle is not None
    found = facts(package, old) ^ facts(package, new)
    areas = {comparison.titles()[fact.area] for fact in found}
    reported = difference.compare_bundles(old.bundle, new.bundle).changes
    return [
        f"{change.area}: {change.message}"
        for change in reported
        if change.area is not Area.UPGRADE and comparison.title(change.area) not in areas
    ]


def test_the_shipped_versions_differ_as_in_bundle_diff() -> None:
    package = shipped().packages["memcached-operator"]
    new, old = upgrades.bundles(package)
    assert uncovered(package, old, new) == []
    assert facts(package, contents(old)) != facts(package, contents(new))


@pytest.mark.parametrize("name", ["v4.12", "v4.14", "v4.17", "v4.18", "v4.21"])
def test_versions_of_real_catalogs_differ_as_in_bundle_diff(name: str, cases: Path) -> None:
    found = catalogs.read(str(cases / "catalogs" / name), valid=False)
    for package in found.packages.values():
        listed = upgrades.bundles(package)
        for new, old in (*pairwise(listed[:6]), (listed[0], listed[-1])):
            assert uncovered(package, old, new) == []


def test_fields_of_crds_are_facts() -> None:
    package = shipped().packages["memcached-operator"]
    new, old = (facts(package, contents(one)) for one in upgrades.bundles(package))
    place = comparison.titles().index("Fields")
    added = {fact.key: fact.value for fact in new - old if fact.area == place}
    assert added["Memcached v1beta1: spec.replicas"].startswith("integer")


def test_a_long_value_that_changes_is_a_difference() -> None:
    package = shipped().packages["memcached-operator"]
    (first, *_) = upgrades.bundles(package)
    found = contents(first)
    assert found.summary is not None
    values = set()
    for end in "ab":
        summary = dataclasses.replace(found.summary, description="x" * 500 + end)
        made = facts(package, dataclasses.replace(found, summary=summary))
        (value,) = (fact.value for fact in made if fact.key == "description")
        assert len(value) < 200
        values.add(value)
    assert len(values) == 2


def rebuilt(data: Any) -> dict[str, set[tuple[int, str, str]]]:
    """The facts of each version, as the script of the page collects them."""
    found: set[int] = set()
    made = {}
    for version in data["versions"]:
        found = (found - set(version["less"])) | set(version["more"])
        listed = (data["facts"][one] for one in found)
        made[version["bundle"]] = {(a, data["texts"][k], data["texts"][v]) for a, k, v in listed}
    return made


def test_written_facts_are_read_back() -> None:
    wanted = {
        "a": frozenset({Fact(0, "x", "1"), Fact(1, "y", "")}),
        "b": frozenset({Fact(0, "x", "2")}),
        "c": frozenset({Fact(0, "x", "1"), Fact(1, "z", "</script>")}),
    }
    made = Facts()
    for name, found in wanted.items():
        made.add(name, found)
    script = comparison.script(made.data())
    assert "<" not in script
    data = json.loads(script.removeprefix("window.hubFacts = ").removesuffix(";\n"))
    assert rebuilt(data) == {name: set(map(tuple, found)) for name, found in wanted.items()}


def test_too_many_facts_only_omit_the_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_MOST", 3)
    place = comparison.titles().index("Fields")
    made = Facts()
    for name in "ab":
        made.add(name, frozenset({Fact(0, "x", ""), Fact(place, "spec", "object")}))
    assert made.without_fields
    assert rebuilt(made.data()) == {"a": {(0, "x", "")}, "b": {(0, "x", "")}}


def test_the_page_exists_for_two_versions_or_more() -> None:
    assert paths.folder("compare") != "compare"  # a bundle with that name gets another directory


def shipped() -> Catalog:
    return catalogs.read(str(ROOT / "catalog"), valid=False)
