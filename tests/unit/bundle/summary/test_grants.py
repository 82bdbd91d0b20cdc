from __future__ import annotations

from typing import Any

import pytest

from olmkit.bundle.summary import grants
from olmkit.bundle.summary.grants import Grant, GrantTarget


def rule(groups: list[str], resources: list[str], verbs: list[str], **more: Any) -> dict[str, Any]:
    return {"apiGroups": groups, "resources": resources, "verbs": verbs, **more}


def csv(*rules: dict[str, Any], part: str = "clusterPermissions") -> dict[str, Any]:
    entry = {"serviceAccountName": "manager", "rules": list(rules)}
    return {"spec": {"install": {"spec": {part: [entry]}}}}


def atoms(*rules: dict[str, Any], part: str = "clusterPermissions") -> grants.Atoms:
    return grants.atoms(grants.csv_grants(csv(*rules, part=part)))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (rule([""], ["secrets"], ["delete"]), "delete `secrets` in all namespaces"),
        (rule(["apps"], ["deployments"], ["get", "list"]),
         "get and list `deployments.apps` in all namespaces"),
        (rule(["a.com"], ["pots/status"], ["update"]),
         "update `pots.a.com/status` in all namespaces"),
        (rule([""], ["nodes"], ["get"]), "get `nodes`"),
        (rule([""], ["secrets"], ["*"]), "do anything with `secrets` in all namespaces"),
        (rule(["*"], ["*"], ["*"]), "do anything with all resources in all namespaces"),
        (rule(["apps"], ["*"], ["get"]),
         "get all resources of the API group `apps` in all namespaces"),
        (rule(["*"], ["pods"], ["get"]), "get `pods` of all API groups in all namespaces"),
        (rule([""], ["configmaps"], ["get"], resourceNames=["a"]),
         "get `configmaps` named `a` in all namespaces"),
        ({"nonResourceURLs": ["/metrics"], "verbs": ["get"]}, "get the URL `/metrics`"),
    ],
)  # fmt: skip
def test_permissions_are_described_in_words(found: dict[str, Any], words: str) -> None:
    ((target, verbs),) = atoms(found).items()

    assert f"{grants.describe_verbs(verbs)} {target}" == words


def test_permissions_in_namespaces_are_for_the_watched_namespaces() -> None:
    ((target, _),) = atoms(rule([""], ["pods"], ["get"]), part="permissions").items()

    assert str(target) == "`pods` in the watched namespaces"


@pytest.mark.parametrize(
    ("wanted", "known", "left"),
    [
        (rule([""], ["pods"], ["get", "list"]), rule([""], ["pods"], ["get"]), ["list"]),
        (rule([""], ["pods"], ["get"]), rule(["*"], ["*"], ["*"]), []),
        (rule([""], ["pods"], ["*"]), rule([""], ["pods"], ["get"]), ["*"]),
        (rule([""], ["pods"], ["get"], resourceNames=["a"]), rule([""], ["pods"], ["get"]), []),
        (rule([""], ["pods"], ["get"]), rule([""], ["pods"], ["get"], resourceNames=["a"]),
         ["get"]),
        ({"nonResourceURLs": ["/a/b"], "verbs": ["get"]},
         {"nonResourceURLs": ["/a/*"], "verbs": ["get"]}, []),
        ({"nonResourceURLs": ["/a"], "verbs": ["get"]}, rule(["*"], ["*"], ["get"]), ["get"]),
    ],
)  # fmt: skip
def test_permissions_are_uncovered_if_no_other_rule_covers_them(
    wanted: dict[str, Any], known: dict[str, Any], left: list[str]
) -> None:
    found = grants.find_uncovered(atoms(wanted), atoms(known))

    assert sorted(verb for verbs in found.values() for verb in verbs) == left


def test_a_cluster_role_covers_a_role_and_not_the_reverse() -> None:
    pods = rule([""], ["pods"], ["get"])
    everywhere, near = atoms(pods), atoms(pods, part="permissions")

    assert grants.find_uncovered(near, everywhere) == {}
    assert grants.find_uncovered(everywhere, near) == everywhere


def test_roles_of_the_bundle_count_if_they_are_bound() -> None:
    role = {
        "kind": "ClusterRole",
        "metadata": {"name": "reader"},
        "rules": [rule([""], ["pods"], ["get"])],
    }
    binding = {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reader"},
        "roleRef": {"kind": "ClusterRole", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "manager"}],
    }

    assert list(grants.role_grants([role])) == []
    (found,) = grants.role_grants([role, binding])
    assert found.account == "manager"
    assert found.scope == "cluster"


def test_a_rule_without_verbs_allows_nothing() -> None:
    assert atoms(rule([""], ["pods"], [])) == {}


def test_secrets_of_all_namespaces_are_far_reaching() -> None:
    secrets = GrantTarget(scope="cluster", resource="secrets")

    assert grants.is_far_reaching(secrets, ["get"])
    assert not grants.is_far_reaching(secrets._replace(name="a"), ["get"])
    assert not grants.is_far_reaching(secrets._replace(scope="namespaces"), ["get"])


@pytest.mark.parametrize("value", [{}, {"spec": 3}, csv({"verbs": "get", "resources": 3})])
def test_invalid_permissions_never_raise_an_exception(value: Any) -> None:
    assert all(isinstance(one, Grant) for one in grants.csv_grants(value))
    grants.atoms(grants.csv_grants(value))
