"""Requirements of bundles: read from properties, matched with entries, in OLM's messages."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.versions import Version
from olmkit.olm.resolver import requirements
from olmkit.olm.resolver.resolution import (
    CatalogKey,
    ResolutionError,
    ResolverEntry,
    ResolverProperty,
)

API = {"group": "example.com", "version": "v1", "kind": "K"}


def entry(*properties: tuple[str, Any], version: str = "1.2.0") -> ResolverEntry:
    listed = [ResolverProperty("olm.package", {"packageName": "b", "version": version})]
    return ResolverEntry(
        catalog=CatalogKey("cat", "olm"),
        package="b",
        channel="stable",
        name="b.v1",
        version=Version.parse(version),
        properties=(*listed, *(ResolverProperty(*one) for one in properties)),
    )


def requirement(type_: str, value: Any) -> requirements.EntryPredicate:
    (found,) = requirements.entry_requirements(entry((type_, value)))
    return found


def cel(rule: str) -> dict[str, Any]:
    return {"failureMessage": "so it is", "cel": {"rule": rule}}


IN_RANGE = {"packageName": "b", "versionRange": ">=1.0.0 <2.0.0"}
LABEL = {"label": "red"}


@pytest.mark.parametrize(
    ("type_", "value", "meets", "words"),
    [
        ("olm.gvk.required", API, ("olm.gvk", API),
         "providing an API with group: example.com, version: v1, kind: K"),
        ("olm.package.required", IN_RANGE, None,
         "with package: b and with version in range: >=1.0.0 <2.0.0"),
        ("olm.label.required", LABEL, ("olm.label", LABEL), "with label: red"),
        ("olm.constraint", {"gvk": API}, ("olm.gvk", API),
         "providing an API with group: example.com, version: v1, kind: K"),
        ("olm.constraint", {"all": {"constraints": [{"gvk": API}, {"package": IN_RANGE}]}},
         ("olm.gvk", API), ("providing an API with group: example.com, version: v1, kind: K and "
         "with package: b and with version in range: >=1.0.0 <2.0.0")),
        ("olm.constraint", {"any": {"constraints": [{"gvk": API}]}}, ("olm.gvk", API),
         "providing an API with group: example.com, version: v1, kind: K"),
        ("olm.constraint", cel('properties.exists(p, p.value.label == "red")'),
         ("olm.label", LABEL), ('with constraint: "properties.exists(p, p.value.label == '
         '\\"red\\")" and message: "so it is"')),
        ("olm.constraint", cel('properties.exists(p, p.type == "olm.package" && '
                               'semver_compare(p.value.version, "1.2") == 0)'), None, ""),
    ],
)  # fmt: skip
def test_a_requirement_is_satisfied_and_reported(
    type_: str, value: Any, meets: tuple[str, Any] | None, words: str
) -> None:
    found = requirement(type_, value)

    assert found.holds(entry(*([meets] if meets else [])))
    assert not words or str(found) == words
    other = entry(version="3.0.0")
    assert not found.holds(other)


@pytest.mark.parametrize(
    ("version", "order"), [("1.1.0", 1), ("1.2.0", 0), ("1.3.0", -1), ("v1.3", -1)]
)
def test_semver_compare_has_the_sign_of_the_reference(version: str, order: int) -> None:
    rule = f'properties.exists(p, semver_compare(p.value.version, "{version}") == {order})'
    found = requirement("olm.constraint", cel(rule))
    assert found.holds(entry(version="1.2.0"))
    wrong = rule.replace(f"== {order}", f"== {order + 1}")
    assert not requirement("olm.constraint", cel(wrong)).holds(entry(version="1.2.0"))


def test_not_excludes_entries_that_satisfy_any_of_its_parts() -> None:
    found = requirement("olm.constraint", {"not": {"constraints": [{"gvk": API}]}})

    assert found.holds(entry())
    assert not found.holds(entry(("olm.gvk", API)))


def test_not_excludes_entries_for_which_a_cel_rule_is_true() -> None:
    rule = cel('properties.exists(p, p.value.label == "red")')
    found = requirement("olm.constraint", {"not": {"constraints": [rule]}})

    assert not found.holds(entry(("olm.label", LABEL)))
    assert found.holds(entry(("olm.label", {"label": "blue"})))
    # A rule without a value is not true, so its negation is not either.
    broken = cel("properties[99].value.label == 'red'")
    assert requirement("olm.constraint", {"not": {"constraints": [broken]}}).holds(entry())


@pytest.mark.parametrize(
    ("type_", "value", "kind", "words"),
    [
        ("olm.package.required", {"packageName": "b", "versionRange": "^1.0.0"}, "range",
         "Could not parse Range"),
        ("olm.constraint", {"nope": {}}, "constraint-parse", 'unknown field "nope"'),
        ("olm.constraint", {"all": {"constraints": [{"gvk": {"x": 1}}]}}, "constraint-parse",
         'unknown field "x"'),
        ("olm.constraint", [], "constraint-parse", "must be a mapping"),
        ("olm.constraint", {}, "constraint-convert", "constraint is empty"),
        ("olm.constraint", {"cel": {"rule": "1 + 1"}}, "constraint-convert", "not bool"),
        ("olm.constraint", {"cel": {"rule": "nope"}}, "constraint-convert", "undeclared"),
        ("olm.constraint", {"cel": {"rule": "'" + "a" * 140_000 + "' == ''"}},
         "constraint-parse", "larger than 131072 bytes"),
    ],
)  # fmt: skip
def test_an_invalid_requirement_prevents_the_resolution(
    type_: str, value: Any, kind: str, words: str
) -> None:
    with pytest.raises(ResolutionError, match=words) as raised:
        requirement(type_, value)
    assert raised.value.kind == kind


@pytest.mark.parametrize(
    ("type_", "value", "fact"),
    [
        ("olm.package.required", {"packageName": "b", "versionRange": "^1.0.0"},
         ('the range `^1.0.0` of package `b` is invalid: Could not parse comparator "^" in '
         '"^1.0.0"')),
        ("olm.package.required", {"packageName": "b"}, "the range of package `b` is missing"),
        ("olm.package.required", {"packageName": "b", "versionRange": 1}, ("json: cannot unmarshal "
         "number into Go struct field PackageRequired.versionRange of type string")),
        ("olm.gvk.required", ["x"],
         "json: cannot unmarshal array into Go value of type property.GVKRequired"),
        ("olm.label.required", ["x"],
         "json: cannot unmarshal array into Go value of type LabelRequired"),
        ("olm.constraint", {"package": {"packageName": "b", "versionRange": "~1"}},
         'the range `~1` of package `b` is invalid: Could not parse comparator "~" in "~1"'),
        ("olm.constraint", {"pakage": {}}, 'unknown field "pakage"'),
        ("olm.constraint", {}, "the constraint is empty"),
        ("olm.constraint", {"cel": {"rule": "1 + 1"}}, "the CEL rule `1 + 1` is int, not bool"),
    ],
)  # fmt: skip
def test_a_requirement_that_olm_cannot_read_has_the_bundle_and_the_value(
    type_: str, value: Any, fact: str
) -> None:
    with pytest.raises(ResolutionError) as raised:
        requirement(type_, value)
    said = f"the bundle `b.v1` has a property `{type_}` that OLM cannot read: {fact}"
    assert raised.value.fact == said


def test_keys_of_a_requirement_are_read_in_any_case_as_in_olm() -> None:
    found = requirement("olm.package.required", {"PackageName": "b", "versionrange": ">=1.0.0"})
    assert str(found) == "with package: b and with version in range: >=1.0.0"


def test_other_properties_require_nothing() -> None:
    assert requirements.entry_requirements(entry(("olm.maxOpenShiftVersion", "4.12"))) == []
