"""What releases of OLM v1 before 1.4 refuse in a new CRD."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube.crds.changes import early_safety


def version(name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", **spec}}}
    return {"name": name, "served": True, "schema": {"openAPIV3Schema": schema}, **more}


def crd(*versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"scope": "Namespaced", "versions": list(versions), **spec}}


def one(**schema: Any) -> dict[str, Any]:
    return crd(version("v1", {"properties": {"a": schema}}))


def found(old: dict[str, Any], new: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(r.check, r.version, r.field) for r in early_safety.refusals(old, new)]


CHANGED = [("ChangeValidator", "v1", "^.spec.a")]


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ({}, {}, []),
        ({"type": "string"}, {"type": "string", "nullable": False, "x-other": 1}, []),
        ({"enum": ["x"]}, {"enum": ["y", "x"]}, []),
        ({"enum": ["x", "y"]}, {"enum": ["x"]}, CHANGED),
        ({}, {"enum": ["x"]}, CHANGED),
        ({"maximum": 3}, {"maximum": 4}, []),
        ({"maximum": 3}, {}, []),
        ({"maximum": 3}, {"maximum": 2}, CHANGED),
        ({}, {"minLength": 0}, CHANGED),
        ({"required": ["b"]}, {}, []),
        ({"required": ["b", "c"]}, {"required": ["c", "b"]}, []),
        ({"default": 1}, {"default": 1.0}, []),
        ({"default": 1}, {}, CHANGED),
        ({"type": "string"}, {"type": "integer"}, CHANGED),
        ({"description": "x"}, {"description": "y"}, CHANGED),
        ({"pattern": "x"}, {}, CHANGED),
        ({"maximum": 3, "description": "x"}, {"maximum": 4, "description": "x"}, []),
        # Only the last alternative of a field is compared.
        ({"anyOf": [{"type": "string"}]}, {"anyOf": [{"type": "string"}], "default": "x"}, []),
        # Whatever changes below an item changes the list.
        (
            {"items": {"properties": {"b": {}}}},
            {"items": {"properties": {"b": {}, "c": {}}}},
            [*CHANGED],
        ),
        ({"properties": {"b": {}}}, {"properties": {"b": {}, "c": {}}}, []),
    ],
)
def test_a_field_accepts_few_changes(
    old: dict[str, Any], new: dict[str, Any], refused: list[tuple[str, str, str]]
) -> None:
    assert found(one(**old), one(**new)) == refused


def test_a_removed_field_hides_the_other_changes_of_its_version() -> None:
    old = crd(version("v1", {"properties": {"a": {}, "b": {"type": "string"}}}))
    new = crd(version("v1", {"properties": {"b": {"type": "integer"}}}))
    assert found(old, new) == [
        ("NoExistingFieldRemoved", "v1", "^.spec.a"),
        ("ChangeValidator", "v1", ""),
    ]


def test_the_served_versions_of_the_new_crd_are_compared_even_if_nothing_changes() -> None:
    both = (version("v1", {"description": "x"}), version("v1alpha1", {"properties": {"a": {}}}))
    assert found(crd(*both), crd(*both)) == [("ServedVersionValidator", "v1alpha1 -> v1", "")]
    converted = crd(*both, conversion={"strategy": "Webhook"})
    assert found(crd(*both), converted) == []
    unserved = (both[0], {**both[1], "served": False})
    assert found(crd(*both), crd(*unserved)) == []
    (refusal,) = early_safety.refusals(crd(*both), crd(both[0], version("v1beta1", {})))
    assert refusal.message == (
        "`spec` differs between the served versions `v1beta1` and `v1`, and no webhook converts: "
        "the change of `description` is not known to be safe"
    )


def test_the_scope_and_the_stored_versions_stay() -> None:
    old = one() | {"status": {"storedVersions": ["v0", "v1"]}}
    new = one()
    new["spec"]["scope"] = "Cluster"
    assert found(old, new) == [("NoScopeChange", "", ""), ("NoStoredVersionRemoved", "v0", "")]
