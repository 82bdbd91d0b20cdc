"""References follow renamed objects."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.documents import Document
from olmkit.project.kustomize import names as kustomize_names
from olmkit.project.kustomize.fields import REFERENCES
from olmkit.project.kustomize.resources import Resource


def resource(kind: str, name: str, namespace: str = "", **fields: Any) -> Resource:
    groups = {"RoleBinding": "rbac.authorization.k8s.io/v1", "Role": "rbac.authorization.k8s.io/v1"}
    value: dict[str, Any] = {"apiVersion": groups.get(kind, "v1"), "kind": kind}
    value["metadata"] = {"name": name, **({"namespace": namespace} if namespace else {})}
    value |= fields
    return Resource(value, Document(value, path=f"{name}.yaml"))


def account(namespace: str = "old") -> Resource:
    found = resource("ServiceAccount", "runner", namespace)
    found.rename(name="my-runner", namespace="new")
    return found


def binding(*subjects: dict[str, str], namespace: str = "new") -> Resource:
    return resource("RoleBinding", "b", namespace, subjects=list(subjects))


@pytest.mark.parametrize(
    ("subject", "name", "namespace"),
    [
        ({"kind": "ServiceAccount", "name": "runner", "namespace": "old"}, "my-runner", "new"),
        ({"kind": "ServiceAccount", "name": "runner", "namespace": "new"}, "my-runner", "new"),
        ({"kind": "ServiceAccount", "name": "runner"}, "my-runner", "new"),
        ({"kind": "ServiceAccount", "name": "runner", "namespace": "else"}, "runner", "else"),
        ({"kind": "ServiceAccount", "name": "other", "namespace": "old"}, "other", "old"),
        ({"kind": "User", "name": "runner"}, "runner", None),
    ],
)
def test_subjects_follow_their_account(
    subject: dict[str, str], name: str, namespace: str | None
) -> None:
    bound = binding(subject)
    kustomize_names.rewrite([account(), bound], REFERENCES)
    assert bound.value["subjects"][0]["name"] == name
    assert bound.value["subjects"][0].get("namespace") == namespace


def test_a_subject_of_an_unchanged_account_is_unchanged() -> None:
    bound = binding({"kind": "ServiceAccount", "name": "runner"})
    kustomize_names.rewrite([resource("ServiceAccount", "runner", "n"), bound], REFERENCES)
    assert bound.value["subjects"] == [{"kind": "ServiceAccount", "name": "runner"}]


@pytest.mark.parametrize(
    ("group", "kind", "name"),
    [
        ("rbac.authorization.k8s.io", "Role", "my-r"),
        ("rbac.authorization.k8s.io", "ClusterRole", "r"),
        ("example.com", "Role", "r"),
    ],
)
def test_a_role_is_identified_by_kind_and_group(group: str, kind: str, name: str) -> None:
    role = resource("Role", "r", "n")
    role.rename(name="my-r")
    bound = resource(
        "RoleBinding", "b", "n", roleRef={"apiGroup": group, "kind": kind, "name": "r"}
    )
    kustomize_names.rewrite([role, bound], REFERENCES)
    assert bound.value["roleRef"]["name"] == name


def test_names_in_another_namespace_are_other_objects() -> None:
    config = resource("ConfigMap", "c", "one")
    config.rename(name="my-c")
    pod = resource("Pod", "p", "two", spec={"volumes": [{"configMap": {"name": "c"}}]})
    kustomize_names.rewrite([config, pod], REFERENCES)
    assert pod.value["spec"]["volumes"][0]["configMap"]["name"] == "c"


def test_a_reference_to_several_objects_is_refused() -> None:
    first, second = resource("Service", "web", "a"), resource("Service", "web", "b")
    first.rename(name="one")
    second.rename(name="two")
    hook = resource("Ingress", "i", "c", spec={"defaultBackend": {"service": {"name": "web"}}})
    kustomize_names.rewrite([first, second, hook], REFERENCES)
    assert hook.value["spec"]["defaultBackend"]["service"]["name"] == "web"

    cluster_wide = resource(
        "APIService", "v1.x", "", spec={"service": {"name": "web", "namespace": "a"}}
    )
    cluster_wide.value["apiVersion"] = "apiregistration.k8s.io/v1"
    with pytest.raises(InputError, match="may refer to several objects"):
        kustomize_names.rewrite([first, second, cluster_wide], REFERENCES)
