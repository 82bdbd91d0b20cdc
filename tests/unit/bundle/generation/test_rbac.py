"""Permissions are divided by their bindings."""

from __future__ import annotations

from typing import Any

from olmkit.base import documents
from olmkit.bundle.generation import collect, rbac
from olmkit.bundle.generation.rbac import AccountAccess

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec: {template: {spec: {serviceAccountName: ours}}}
---
"""


def role(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, **({"namespace": more.pop("namespace")} if more else {})},
        "rules": [{"resources": [name], "verbs": ["get"]}],
    }


def binding(kind: str, name: str, to: tuple[str, str], *subjects: str) -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": to[0], "name": to[1]},
        "subjects": [
            {"kind": kind, "name": name}
            for kind, _, name in (subject.partition("/") for subject in subjects)
        ],
    }


def divided(*manifests: dict[str, Any], extra: tuple[str, ...] = ()) -> AccountAccess:
    text = DEPLOYMENT.encode() + b"---\n".join(documents.dump(item) for item in manifests)
    return rbac.divide(collect.collect(documents.load_all(text, "in")), extra)


def granted(permissions: tuple[rbac.ServiceAccountRules, ...]) -> dict[str, list[str]]:
    return {
        item.service_account: [rule["resources"][0] for rule in item.rules] for item in permissions
    }


def test_the_binding_decides_where_rules_go() -> None:
    access = divided(
        role("Role", "local"),
        role("ClusterRole", "wide"),
        binding("RoleBinding", "a", ("Role", "local"), "ServiceAccount/ours"),
        binding("RoleBinding", "b", ("ClusterRole", "wide"), "ServiceAccount/ours"),
        binding("ClusterRoleBinding", "c", ("ClusterRole", "wide"), "ServiceAccount/ours"),
    )
    assert granted(access.permissions) == {"ours": ["local", "wide"]}
    assert granted(access.cluster_permissions) == {"ours": ["wide"]}
    assert access.leftover == ()


def test_bindings_of_other_subjects_are_kept() -> None:
    access = divided(
        role("ClusterRole", "theirs"),
        role("ClusterRole", "nobodys"),
        binding("ClusterRoleBinding", "a", ("ClusterRole", "theirs"), "ServiceAccount/theirs"),
        binding("ClusterRoleBinding", "b", ("ClusterRole", "view"), "ServiceAccount/ours"),
        binding("ClusterRoleBinding", "empty", ("ClusterRole", "nobodys")),
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "theirs"}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ours"}},
    )
    assert [item.name for item in access.leftover] == ["theirs", "nobodys", "a", "b", "theirs"]
    assert not access.permissions


def test_extra_accounts_count_as_the_operators() -> None:
    access = divided(
        role("Role", "r"),
        binding("RoleBinding", "a", ("Role", "r"), "ServiceAccount/agent"),
        extra=("agent", "nowhere"),
    )
    assert granted(access.permissions) == {"agent": ["r"]}
    assert [found.rule for found in access.findings] == ["PRJ115", "PRJ118"]


def test_a_binding_with_other_subjects_is_reported() -> None:
    access = divided(
        role("Role", "r"),
        binding("RoleBinding", "a", ("Role", "r"), "ServiceAccount/ours", "User/jane"),
    )
    assert [item.kind for item in access.leftover] == ["RoleBinding"]
    assert [found.rule for found in access.findings] == ["PRJ110"]


def test_an_aggregated_role_is_reported() -> None:
    aggregated = role("ClusterRole", "r") | {"aggregationRule": {"clusterRoleSelectors": [{}]}}
    access = divided(
        aggregated, binding("ClusterRoleBinding", "a", ("ClusterRole", "r"), "ServiceAccount/ours")
    )
    assert [found.rule for found in access.findings] == ["PRJ109"]


def test_lost_permissions_of_an_account_are_reported() -> None:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "ours", "annotations": {"a": "b"}},
        "imagePullSecrets": [{"name": "pull"}],
    }
    codes = [found.rule for found in divided(account).findings]
    assert codes == ["PRJ112", "PRJ112", "PRJ118"]


def test_an_account_without_rules_is_reported() -> None:
    bound = binding("ClusterRoleBinding", "a", ("ClusterRole", "view"), "ServiceAccount/ours")
    assert [found.rule for found in divided().findings] == ["PRJ118"]
    assert [found.rule for found in divided(bound).findings] == []


def test_roles_with_the_same_name_are_distinguished_by_namespace() -> None:
    first, second = role("Role", "r", namespace="one"), role("Role", "r", namespace="two")
    second["rules"][0]["resources"] = ["other"]
    bound = binding("RoleBinding", "b", ("Role", "r"), "ServiceAccount/ours")
    bound["metadata"]["namespace"] = "one"
    access = divided(first, second, bound)
    assert granted(access.permissions) == {"ours": ["r"]}
    assert [item.name for item in access.leftover] == ["r"]


def test_a_role_of_another_api_group_is_not_a_role() -> None:
    odd = binding("RoleBinding", "b", ("Role", "r"), "ServiceAccount/ours")
    odd["roleRef"]["apiGroup"] = "example.com"
    access = divided(role("Role", "r"), odd)
    assert not access.permissions


def test_a_deployment_without_an_account_uses_the_default_account() -> None:
    text = b"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
    collection = collect.collect(documents.load_all(text, "in"))
    assert rbac.operator_accounts(collection.deployments, ["x"]) == ("default", "x")
