"""The permissions of an installer: those that a real operator-controller used."""

from __future__ import annotations

from typing import Any

from olmkit.base.versions import Version
from olmkit.olm.v1 import permissions

Manifest = dict[str, Any]
FIRST, LATER = Version(1, 2, 0), Version(1, 4, 0)
# The name that release 1.2.0 gave to the role of this bundle.
ROLE = "toy.v1.0.0-toy-90plrhelpgknqxre287eu495v3j7li3zwg7f5il1a1h"
RULE = {"apiGroups": ["example.com"], "resources": ["toys"], "verbs": ["get", "list", "watch"]}
OWN = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}


def csv(**parts: Any) -> Manifest:
    pod = {"serviceAccountName": "toy", "containers": []}
    deployment = {"name": "toy", "spec": {"template": {"spec": pod}}}
    cluster = [{"serviceAccountName": "toy", "rules": [RULE]}]
    spec = {"deployments": [deployment], "clusterPermissions": cluster, **parts}
    return {
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "toy.v1.0.0"},
        "spec": {"install": {"spec": spec}},
    }


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "toys.example.com"},
}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "metrics"}}


def lines(rules: tuple[Manifest, ...]) -> set[str]:
    return {permissions.describe_rule(rule) for rule in rules}


def test_an_installer_creates_changes_and_watches_each_object_of_the_bundle() -> None:
    needs = permissions.required_permissions([csv(), CRD, SERVICE], extension="toy", release=FIRST)
    api = "rbac.authorization.k8s.io"

    assert lines(needs.cluster) == {
        "list, watch: serviceaccounts",
        "list, watch: services",
        "list, watch: deployments.apps",
        "create, list, watch: customresourcedefinitions.apiextensions.k8s.io",
        (
            "get, patch, delete: customresourcedefinitions.apiextensions.k8s.io named "
            "toys.example.com"
        ),
        f"create, list, watch: clusterroles.{api}",
        f"get, patch, delete: clusterroles.{api} named {ROLE}",
        f"create, list, watch: clusterrolebindings.{api}",
        f"get, patch, delete: clusterrolebindings.{api} named {ROLE}",
        "update: clusterextensions/finalizers.olm.operatorframework.io named toy",
    }
    assert lines(needs.local) == {
        "create: serviceaccounts", "get, patch, delete: serviceaccounts named toy",
        "create: services", "get, patch, delete: services named metrics",
        "create: deployments.apps", "get, patch, delete: deployments.apps named toy",
    }  # fmt: skip
    assert lines(needs.granted) == {"get, list, watch: toys.example.com"}


def test_an_installer_has_the_permissions_of_the_bundle() -> None:
    own = [{"serviceAccountName": "other", "rules": [OWN]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "viewer"}, "rules": [OWN | {"verbs": ["list"]}]}  # fmt: skip
    near = role | {"kind": "Role", "rules": [OWN | {"verbs": ["watch"]}]}
    needs = permissions.required_permissions(
        [csv(permissions=own), role, near], extension="toy", release=FIRST
    )

    assert lines(needs.granted) == {
        "get, list, watch: toys.example.com", "get: configmaps", "list: configmaps",
    }  # fmt: skip
    assert "watch: configmaps" in lines(needs.local)
    assert "get, patch, delete: serviceaccounts named other, toy" in lines(needs.local)


def test_later_releases_can_name_the_roles_differently_and_add_a_rule() -> None:
    own = [{"serviceAccountName": "toy", "rules": [OWN]}]
    for release in (LATER, None):
        needs = permissions.required_permissions(
            [csv(permissions=own)], extension="toy", release=release
        )
        assert "get, patch, delete: clusterroles.rbac.authorization.k8s.io" in lines(needs.cluster)
        assert "get, list, watch: namespaces" in lines(needs.granted)


def test_an_account_has_its_roles_and_bindings() -> None:
    needs = permissions.required_permissions([csv(), CRD], extension="toy", release=FIRST)
    found = permissions.account_objects(needs, account="installer", namespace="n", package="toy")

    assert [(one["kind"], one["metadata"]["name"]) for one in found] == [
        ("ServiceAccount", "installer"), ("ClusterRole", "n-installer"),
        ("ClusterRoleBinding", "n-installer"), ("Role", "installer"), ("RoleBinding", "installer"),
    ]  # fmt: skip
    assert found[2]["roleRef"]["name"] == "n-installer"
    assert found[4]["subjects"] == [
        {"kind": "ServiceAccount", "name": "installer", "namespace": "n"}
    ]


def test_fields_that_a_rule_does_not_have_are_not_granted() -> None:
    rule = {"apigroups": ["example.com"], "resources": ["toys"], "verbs": ["get"], "replaces": "x"}
    found = csv(clusterPermissions=[{"serviceAccountName": "toy", "rules": [rule]}])
    needs = permissions.required_permissions([found], extension="toy", release=FIRST)
    expected = {"apiGroups": ["example.com"], "resources": ["toys"], "verbs": ["get"]}
    assert needs.granted == (expected,)
