"""A request in terms of RBAC, and the rules that grant it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olmkit.testing import rbac
from olmkit.testing.rbac import Access, Rule


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/v1/pods", Access(group="", resource="pods", verb="list")),
        (
            "GET",
            "/api/v1/namespaces/n/pods/p",
            Access(group="", resource="pods", verb="get", namespace="n", name="p"),
        ),
        (
            "POST",
            "/apis/apps/v1/namespaces/n/deployments",
            Access(group="apps", resource="deployments", verb="create", namespace="n"),
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/n/deployments/d/status",
            Access(
                group="apps", resource="deployments/status", verb="patch", namespace="n", name="d"
            ),
        ),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/n/deployments",
            Access(group="apps", resource="deployments", verb="deletecollection", namespace="n"),
        ),
        (
            "PUT",
            "/apis/a.b/v1/things/t",
            Access(group="a.b", resource="things", verb="update", name="t"),
        ),
        (
            "GET",
            "/api/v1/namespaces/n",
            Access(group="", resource="namespaces", verb="get", namespace="n", name="n"),
        ),
        (
            "PUT",
            "/api/v1/namespaces/n/finalize",
            Access(
                group="", resource="namespaces/finalize", verb="update", namespace="n", name="n"
            ),
        ),
        ("GET", "/api/v1/namespaces", Access(group="", resource="namespaces", verb="list")),
    ],
)
def test_a_request_has_its_rbac_attributes(method: str, path: str, expected: Access) -> None:
    assert rbac.access_of(method, path) == expected


@pytest.mark.parametrize("path", ["/api", "/apis", "/version", "/api/v1", "/apis/apps/v1", "/"])
def test_discovery_needs_no_role(path: str) -> None:
    assert rbac.access_of("GET", path) is None


def test_a_watch_with_a_selected_name_has_the_name() -> None:
    query = {"watch": "true", "fieldSelector": "metadata.name=p"}
    found = rbac.access_of("GET", "/api/v1/namespaces/n/pods", query)
    assert found == Access(group="", resource="pods", verb="watch", namespace="n", name="p")


def rule(**fields: object) -> Rule:
    known = {"groups": ("apps",), "resources": ("deployments",), "verbs": ("get",)}
    return Rule(**(known | fields))  # type: ignore[arg-type]


USE = Access(group="apps", resource="deployments", verb="get", namespace="n", name="d")


@pytest.mark.parametrize(
    ("granted", "expected"),
    [
        (rule(), True),
        (rule(groups=("*",), resources=("*",), verbs=("*",)), True),
        (rule(groups=("",)), False),
        (rule(resources=("deployments/status",)), False),
        (rule(verbs=("list",)), False),
        (rule(namespace="n"), True),
        (rule(namespace="m"), False),
        (rule(names=("d",)), True),
        (rule(names=("e",)), False),
    ],
)
def test_a_rule_grants_its_requests(granted: Rule, expected: bool) -> None:
    assert granted.grants(USE) is expected


def test_a_star_of_a_subresource_and_unknown_names_are_handled() -> None:
    scale = Access(
        group="apps", resource="deployments/scale", verb="patch", namespace="n", name="d"
    )
    assert rule(resources=("*/scale",), verbs=("patch",)).grants(scale)
    create = Access(group="apps", resource="deployments", verb="create", namespace="n")
    assert not rule(verbs=("create",), names=("d",)).grants(create)


def test_role_in_one_namespace_does_not_allow_the_whole_cluster() -> None:
    everywhere = Access(group="apps", resource="deployments", verb="list")
    report = rbac.compare([everywhere], [rule(verbs=("list",), namespace="n")])
    assert report.missing == (everywhere,)


def test_a_comparison_names_both_sides(tmp_path: Path) -> None:
    file = tmp_path / "role.yaml"
    file.write_text(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\n"
        "rules:\n"
        "- {apiGroups: [apps], resources: [deployments], verbs: [get, list]}\n"
        "- {nonResourceURLs: [/metrics], verbs: [get]}\n"
        "---\nkind: Role\nmetadata: {name: s}\n"
        "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n"
    )
    other = Access(group="", resource="secrets", verb="get", namespace="n", name="a")
    again = Access(group="", resource="secrets", verb="get", namespace="n", name="b")
    report = rbac.compare([USE, other, again], rbac.read([file], namespace="n"))
    assert report.words() == (
        "error: used and not granted: get secrets in namespace `n`\n"
        "note: granted and not used: list deployments.apps (`r`)\n"
        "note: granted and not used: get pods in namespace `n` (`s`)"
    )


def test_the_double_can_refuse_requests_that_are_not_granted() -> None:
    forbidden = rbac.forbids([rule()])
    assert not forbidden(USE)
    assert forbidden(Access(group="", resource="pods", verb="get"))


def test_the_smallest_role_has_the_used_rules() -> None:
    watch = Access(group="apps", resource="deployments", verb="watch")
    assert rbac.needed([watch, USE, USE]) == [
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "watch"]}
    ]


def test_uses_are_read_from_an_audit_log(tmp_path: Path) -> None:
    reference = {"resource": "deployments", "apiGroup": "apps", "namespace": "n", "name": "d"}
    lines = [
        {"verb": "get", "user": {"username": "admin"}, "objectRef": reference},
        {
            "verb": "patch",
            "user": {"username": "admin"},
            "impersonatedUser": {"username": "me"},
            "objectRef": reference | {"subresource": "status"},
        },
        {"verb": "get", "user": {"username": "me"}, "requestURI": "/api"},
    ]
    log = tmp_path / "audit.log"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert rbac.from_audit_log(log, user="me") == [
        Access(group="apps", resource="deployments/status", verb="patch", namespace="n", name="d")
    ]
    assert len(rbac.from_audit_log(log)) == 2
