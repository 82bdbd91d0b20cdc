"""The packages that a resolution of one package can read."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.olm.resolver.resolution import CatalogKey, ResolverEntry, ResolverProperty
from olmkit.olm.resolver.surroundings import Surroundings

KEY = CatalogKey("catalog", "operators")


def entry(package: str, *properties: tuple[str, Any]) -> ResolverEntry:
    return ResolverEntry(
        catalog=KEY,
        package=package,
        channel="stable",
        name=f"{package}.v1.0.0",
        properties=tuple(ResolverProperty(*one) for one in properties),
    )


def api(kind: str) -> dict[str, str]:
    return {"group": "g", "version": "v1", "kind": kind}


def provides(kind: str) -> tuple[str, Any]:
    return ("olm.gvk", api(kind))


def needs(kind: str) -> tuple[str, Any]:
    return ("olm.gvk.required", api(kind))


def needs_package(name: str) -> tuple[str, Any]:
    return ("olm.package.required", {"packageName": name, "versionRange": ">=1.0.0"})


def constraint(**value: Any) -> tuple[str, Any]:
    return ("olm.constraint", {"failureMessage": "no", **value})


def surrounding_packages(package: str, *entries: ResolverEntry) -> list[str]:
    return [one.package for one in Surroundings(entries).of(package)]


def test_a_package_without_dependencies_is_alone() -> None:
    assert surrounding_packages("b", entry("a"), entry("b", provides("B")), entry("c")) == ["b"]


def test_direct_and_indirect_dependencies_have_the_order_of_the_catalog() -> None:
    entries = (
        entry("d", provides("D")),
        entry("c", provides("C"), needs_package("d")),
        entry("other", provides("E")),
        entry("a", needs("C")),
    )

    assert surrounding_packages("a", *entries) == ["d", "c", "a"]


def test_all_providers_of_an_api_are_included() -> None:
    entries = (entry("a", needs("C")), entry("c", provides("C")), entry("e", provides("C")))

    assert surrounding_packages("a", *entries) == ["a", "c", "e"]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"gvk": api("C")}, ["a", "c"]),
        ({"any": {"constraints": [{"gvk": api("C")}]}}, ["a", "c"]),
        ({"not": {"constraints": [{"gvk": api("C")}]}}, ["a", "c", "e"]),
        ({"cel": {"rule": "properties.exists(p, p.type == 'x')"}}, ["a", "c", "e"]),
    ],
)
def test_the_parts_of_a_constraint_are_followed(value: dict[str, Any], found: list[str]) -> None:
    entries = (entry("a", constraint(**value)), entry("c", provides("C")), entry("e"))

    assert surrounding_packages("a", *entries) == found


def test_a_label_can_be_in_any_package() -> None:
    entries = (entry("a", ("olm.label.required", {"label": "x"})), entry("b"))

    assert surrounding_packages("a", *entries) == ["a", "b"]


def test_an_unreadable_requirement_is_ignored() -> None:
    wrong = ("olm.package.required", {"packageName": "b", "versionRange": "^1"})

    assert surrounding_packages("a", entry("a", wrong), entry("b")) == ["a"]


def test_a_bundle_can_name_another_package_than_its_own() -> None:
    named = entry("c", ("olm.package", {"packageName": "b", "version": "1.0.0"}))

    assert surrounding_packages("a", entry("a", needs_package("b")), named) == ["a", "c"]
