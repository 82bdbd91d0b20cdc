"""The permissions of an operator by the roles that its project binds."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.testing import project_roles
from olmkit.testing.rbac import Access

GROUPS = {"example.com"}


def role(kind: str, name: str, group: str, resource: str) -> str:
    rule = f"{{apiGroups: ['{group}'], resources: [{resource}], verbs: [list]}}"
    return f"kind: {kind}\nmetadata: {{name: {name}, namespace: system}}\nrules: [{rule}]\n---\n"


def binding(kind: str, to: str, name: str) -> str:
    return f"kind: {kind}\nmetadata: {{name: b}}\nroleRef: {{kind: {to}, name: {name}}}\n---\n"


def grants(folder: Path, resource: str, group: str = "", *, namespace: str = "default") -> bool:
    found = project_roles.read(folder, GROUPS)
    use = Access(group=group, resource=resource, verb="list", namespace=namespace)
    return not found.missing([use])


def test_roles_of_a_cluster_wide_operator_apply_in_its_namespace(tmp_path: Path) -> None:
    (tmp_path / "role.yaml").write_text(
        role("ClusterRole", "manager", "example.com", "toys")
        + binding("ClusterRoleBinding", "ClusterRole", "manager")
        + role("Role", "leader-election", "", "configmaps")
        + binding("RoleBinding", "Role", "leader-election")
    )
    assert grants(tmp_path, "toys", "example.com")
    assert not grants(tmp_path, "configmaps")
    assert grants(tmp_path, "configmaps", namespace="operator-system")
    assert project_roles.read(tmp_path, GROUPS).namespace == "operator-system"


def test_roles_of_other_operators_apply_in_the_namespace_of_the_samples(tmp_path: Path) -> None:
    (tmp_path / "role.yml").write_text(
        role("Role", "manager", "example.com", "toys") + binding("RoleBinding", "Role", "manager")
    )
    assert grants(tmp_path, "toys", "example.com")
    assert not grants(tmp_path, "configmaps")
    assert project_roles.read(tmp_path, GROUPS).namespace == ""


def test_a_role_with_the_name_of_a_bound_cluster_role_is_not_bound(tmp_path: Path) -> None:
    (tmp_path / "role.yaml").write_text(
        role("ClusterRole", "manager", "", "pods")
        + role("Role", "manager", "", "secrets")
        + binding("ClusterRoleBinding", "ClusterRole", "manager")
    )
    assert grants(tmp_path, "pods")
    assert not grants(tmp_path, "secrets")


def test_cluster_admin_grants_everything(tmp_path: Path) -> None:
    (tmp_path / "role.yaml").write_text(
        role("Role", "leader-election", "", "configmaps")
        + binding("RoleBinding", "Role", "leader-election")
        + binding("ClusterRoleBinding", "ClusterRole", "cluster-admin")
    )
    assert grants(tmp_path, "secrets")


def test_bound_roles_of_the_cluster_are_named(tmp_path: Path) -> None:
    (tmp_path / "role.yaml").write_text(
        role("ClusterRole", "manager", "example.com", "toys")
        + binding("ClusterRoleBinding", "ClusterRole", "manager")
        + binding("ClusterRoleBinding", "ClusterRole", "view")
    )
    found = project_roles.read(tmp_path, GROUPS)
    assert found.missing([Access(group="", resource="pods", verb="get", namespace="a")]) == [
        f"`{tmp_path / 'role.yaml'}` does not grant: get pods in namespace `a`",
        f"`{tmp_path}` binds roles that it does not contain: `view`",
    ]
    assert found.missing([]) == []


@pytest.mark.parametrize(
    "text",
    ["", role("Role", "manager", "", "pods"), binding("ClusterRoleBinding", "ClusterRole", "view")],
)
def test_without_a_bound_role_nothing_is_known(tmp_path: Path, text: str) -> None:
    (tmp_path / "role.yaml").write_text(text)
    assert project_roles.read(tmp_path, GROUPS).rules is None
    assert grants(tmp_path, "secrets")


def test_a_bound_role_without_rules_grants_nothing(tmp_path: Path) -> None:
    (tmp_path / "role.yaml").write_text(
        "kind: ClusterRole\nmetadata: {name: manager}\nrules:\n---\n"
        + binding("ClusterRoleBinding", "ClusterRole", "manager")
    )
    assert not grants(tmp_path, "secrets")


@pytest.mark.parametrize("text", ["kind: RoleBinding\nroleRef: a\n", "kind: Role\nrules: [a]\n"])
def test_malformed_roles_grant_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "role.yaml").write_text(text)
    assert project_roles.read(tmp_path, GROUPS).rules is None


def test_the_objects_of_lists_are_read() -> None:
    one = {"apiVersion": "v1", "kind": "ConfigMap"}
    inner = {"kind": "ConfigMapList", "items": [one, "text"]}
    assert [*project_roles.objects({"kind": "List", "items": [inner, one]})] == [one, one]
    assert [*project_roles.objects({"resources": ["a.yaml"]})] == []
