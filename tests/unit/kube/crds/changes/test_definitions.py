from __future__ import annotations

import copy
from typing import Any

import pytest

from olmkit.kube.crds.changes import crd_versions, definitions
from olmkit.kube.crds.changes.definitions import CrdChange


def version(name: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": schema},
        **more,
    }


def crd(*versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": list(versions or (version("v1"),)),
            **spec,
        },
    }


def with_spec(found: dict[str, Any], **schema: Any) -> dict[str, Any]:
    """A version whose `spec` has another schema."""
    found = copy.deepcopy(found)
    found["schema"]["openAPIV3Schema"]["properties"]["spec"] = {"type": "object", **schema}
    return found


def only(found: tuple[CrdChange, ...]) -> CrdChange:
    assert len(found) == 1, found
    return found[0]


def test_equal_crds_have_no_differences() -> None:
    assert definitions.compare_crds(crd(), crd()) == ()


def test_another_scope_is_refused_by_the_api_server() -> None:
    found = only(definitions.compare_crds(crd(), crd(scope="Cluster")))

    assert found.rule == "scope-changed"
    assert found.message == "the scope changes from `Namespaced` to `Cluster`"
    assert found.is_refused
    assert not found.is_safe


def test_another_kind_is_refused_by_the_api_server_and_ignored_by_crdify() -> None:
    found = only(definitions.compare_crds(crd(), crd(names={"kind": "Other", "plural": "things"})))

    assert found.rule == "name-changed"
    assert found.keys == ("spec", "names", "kind")
    assert found.is_refused


def test_a_version_with_stored_objects_must_stay() -> None:
    old = crd(version("v1alpha1", served=False), version("v1"))
    old["status"] = {"storedVersions": ["v1alpha1", "v1"]}

    found = only(definitions.compare_crds(old, crd()))

    assert found.rule == "stored-version-removed"
    assert found.loses_stored
    assert not found.is_safe
    assert found.keys == ("spec", "versions", 0)


def test_a_stored_version_that_the_old_crd_does_not_list_is_also_missing() -> None:
    old = crd()
    old["status"] = {"storedVersions": ["v1alpha1", "v1"]}

    assert crd_versions.removed_stored_versions(old, crd()) == ("v1alpha1",)
    assert only(definitions.compare_crds(old, crd())).rule == "stored-version-removed"


def test_without_a_status_the_storage_version_counts_as_stored() -> None:
    assert crd_versions.stored_versions(crd()) == ("v1",)
    assert crd_versions.removed_stored_versions(crd(), crd(version("v2", storage=True))) == ("v1",)


@pytest.mark.parametrize(
    ("before", "after", "rules"),
    [
        ({"served": True}, {"served": False}, ["version-not-served"]),
        ({"served": False}, {"served": True}, ["version-served"]),
        ({}, {"deprecated": True}, ["version-deprecated"]),
        ({"subresources": {"status": {}}}, {}, ["subresource-removed"]),
        ({}, {"subresources": {"status": {}}}, ["subresource-added"]),
        (
            {"subresources": {"scale": {"specReplicasPath": ".spec.a"}}},
            {"subresources": {"scale": {"specReplicasPath": ".spec.b"}}},
            ["subresource-changed"],
        ),
        ({"additionalPrinterColumns": [{"name": "Age"}]}, {}, ["column-removed"]),
    ],
)
def test_the_fields_of_a_version_are_compared(before: Any, after: Any, rules: list[str]) -> None:
    old = crd(version("v1"), version("v1beta1", **before))
    new = crd(version("v1"), version("v1beta1", **after))

    found = definitions.compare_crds(old, new)

    assert [one.rule for one in found] == rules
    assert all(one.is_safe for one in found)


def test_objects_are_converted_to_a_new_storage_version() -> None:
    new = crd(version("v1", storage=False), version("v2", storage=True))

    found = definitions.compare_crds(crd(), new)

    assert [one.rule for one in found] == ["version-added", "storage-changed"]
    assert "keep `v1` in the CRD" in found[1].hint


def test_a_change_of_a_schema_has_its_place_and_an_example_object() -> None:
    old = crd(with_spec(version("v1"), properties={"size": {"type": "integer"}}))
    new = crd(with_spec(version("v1"), properties={"size": {"type": "integer", "minimum": 3}}))

    found = only(definitions.compare_crds(old, new))

    assert found.message == "`spec.size` must now be at least `3`"
    assert found.keys == (
        *("spec", "versions", 0, "schema", "openAPIV3Schema"),
        *("properties", "spec", "properties", "size", "minimum"),
    )
    assert found.field == "spec.size"
    assert found.example == {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "example", "namespace": "default"},
        "spec": {"size": 1},
    }


def test_the_schema_of_v1beta1_is_that_of_all_versions() -> None:
    def beta(**schema: Any) -> dict[str, Any]:
        found = crd(version="v1", versions=[{"name": "v1", "served": True, "storage": True}])
        found["apiVersion"] = "apiextensions.k8s.io/v1beta1"
        inner = {"type": "object", "properties": {"spec": {"type": "object", **schema}}}
        found["spec"]["validation"] = {"openAPIV3Schema": inner}
        return found

    found = only(definitions.compare_crds(beta(), beta(required=["a"])))

    assert found.rule == "required-added"
    assert found.keys[:3] == ("spec", "validation", "openAPIV3Schema")


def test_served_versions_must_not_differ_more_than_before() -> None:
    narrow = with_spec(version("v1beta1"), properties={"a": {"type": "string", "maxLength": 9}})
    wide = with_spec(version("v1"), properties={"a": {"type": "string"}})
    tight = with_spec(version("v1"), properties={"a": {"type": "string", "maxLength": 3}})

    fresh = definitions.compare_crds(crd(narrow), crd(narrow, tight))
    known = definitions.compare_crds(crd(narrow, tight), crd(narrow, tight))
    converted = definitions.compare_crds(
        crd(narrow, conversion={"strategy": "Webhook"}),
        crd(narrow, tight, conversion={"strategy": "Webhook"}),
    )
    looser = definitions.compare_crds(crd(narrow), crd(narrow, wide))

    assert "served-versions-differ" in [one.rule for one in fresh]
    assert known == ()
    assert "served-versions-differ" not in [one.rule for one in converted]
    assert "served-versions-differ" not in [one.rule for one in looser]


@pytest.mark.parametrize(
    ("one", "other"),
    [("v1beta1", "v1"), ("v1alpha1", "v1beta1"), ("v2beta1", "v1"), ("v1", "v10"), ("foo", "v1")],
)
def test_versions_are_compared_in_the_order_of_kubernetes(one: str, other: str) -> None:
    lower = with_spec(version(one), properties={"a": {"type": "string"}})
    higher = with_spec(version(other), properties={"a": {"type": "integer"}})

    for listed in ((lower, higher), (higher, lower)):
        found = definitions.compare_crds(crd(), crd(*listed))
        assert f"{one} -> {other}" in [change.version for change in found]


def test_an_added_or_removed_conversion_is_named() -> None:
    webhook = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1", "v1beta1"]}}
    fewer = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}
    pair = (version("v1"), version("v2"))

    came = only(definitions.compare_crds(crd(*pair), crd(*pair, conversion=webhook)))
    gone = only(definitions.compare_crds(crd(*pair, conversion=webhook), crd(*pair)))
    reviews = only(
        definitions.compare_crds(crd(*pair, conversion=webhook), crd(*pair, conversion=fewer))
    )

    assert came.rule == gone.rule == reviews.rule == "conversion-changed"
    assert came.is_breaking
    assert "`v1beta1`" in reviews.message


def test_added_and_removed_names_are_listed() -> None:
    old = crd(names={"kind": "Thing", "plural": "things", "shortNames": ["th"]})
    new = crd(names={"kind": "Thing", "plural": "things", "categories": ["all"]})

    messages = [one.message for one in definitions.compare_crds(old, new)]

    assert messages == ["the short name `th` is gone", "the category `all` is new"]


@pytest.mark.parametrize("value", [None, "x", [], {"spec": 3}, {"spec": {"versions": [None, 3]}}])
def test_invalid_crds_never_raise_an_exception(value: Any) -> None:
    broken = value if isinstance(value, dict) else {"spec": value}

    definitions.compare_crds(broken, crd())
    definitions.compare_crds(crd(), broken)
