"""OLM itself, installed from manifests into a cluster that has none, and removed again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents

pytestmark = pytest.mark.e2e


def manifests(cluster: Any) -> list[dict[str, Any]]:
    """What a release's `olm.yaml` holds, without the parts that nothing depends on."""
    account = "olm-operator-serviceaccount"
    meta = {"namespace": "olm"}
    role = "system:controller:operator-lifecycle-manager"
    verbs = ["watch", "list", "get", "create", "update", "patch", "delete", "deletecollection",
             "escalate", "bind"]  # fmt: skip
    rules = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": verbs},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    rbac = "rbac.authorization.k8s.io"
    found: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in ("olm", "operators")
    ]
    found += [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, **meta}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": role},
         "rules": rules},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding",
         "metadata": {"name": "olm-operator-binding-olm"},
         "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
         "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "olm"}]},
        {"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
         "metadata": {"name": "global-operators", "namespace": "operators"}, "spec": {}},
    ]  # fmt: skip
    registry = cluster.registry
    images = ["--opmImage", f"{registry}/opm:1", "--util-image", f"{registry}/olm:1"]
    for name, words in (
        ("olm-operator", ["/bin/olm"]),
        ("catalog-operator", ["/bin/catalog", *images, "--set-workload-user-id=true"]),
    ):
        words = [*words, "--namespace", "olm", "--interval", "1m"]
        labels = {"app": name}
        container = {
            "name": name,
            "image": f"{registry}/olm-operators:1",
            "command": words,
            "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}},
            "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - in the container
        }
        pod = {"serviceAccountName": account, "containers": [container],
               "volumes": [{"name": "tmp", "emptyDir": {}}]}  # fmt: skip
        found.append(
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, **meta},
             "spec": {"strategy": {"type": "Recreate"}, "replicas": 1,
                      "selector": {"matchLabels": labels},
                      "template": {"metadata": {"labels": labels}, "spec": pod}}}
        )  # fmt: skip
    return found


def test_installed_used_and_removed(
    cluster_without_olm: Any, typist_of: Callable[[Any], Any], tmp_path: Path
) -> None:
    cluster = cluster_without_olm
    typist = typist_of(cluster)
    crds = sorted((cluster.programs["olm"] / "crds").glob("*.yaml"))
    file = tmp_path / "olm.yaml"
    parts = [documents.dump(one) for one in manifests(cluster)]
    file.write_bytes(b"---\n".join(parts))
    words = [word for crd in crds for word in ("-f", str(crd))] + ["-f", str(file)]

    assert "not installed" in typist.try_("olm", "status", code=1).out
    assert "olmkit olm install" in typist.try_("status", code=1).err

    typist("olm", "install", *words)
    assert typist.try_("olm", "status", "-o", "json").json["result"]["generations"] == ["v0"]

    bundle = tmp_path / "bundle"
    write_bundle(bundle, f"{cluster.registry}/busybox:1")
    typist("install", "--bundle", bundle, "-n", "operators")
    refused = typist.try_("olm", "uninstall", *words, "--yes", code=1)
    assert "`operators/little`" in refused.err
    typist("uninstall", "little", "-n", "operators", "--yes")

    typist("olm", "uninstall", *words, "--yes")
    assert "not installed" in typist.try_("olm", "status", code=1).out


def write_bundle(folder: Path, image: str) -> None:
    """The least of a bundle."""
    labels = {"app": "little"}
    container = {"name": "manager", "image": image, "command": ["sleep", "1000"],
                 "securityContext": {"runAsUser": 1001}}  # fmt: skip
    csv = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "little.v1.0.0"},
        "spec": {
            "displayName": "Little",
            "version": "1.0.0",
            "installModes": [
                {"type": "OwnNamespace", "supported": True},
                {"type": "SingleNamespace", "supported": True},
                {"type": "MultiNamespace", "supported": True},
                {"type": "AllNamespaces", "supported": True},
            ],
            "install": {"strategy": "deployment", "spec": {"deployments": [{
                "name": "little",
                "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
                    "metadata": {"labels": labels}, "spec": {"containers": [container]}}},
            }]}},
        },
    }  # fmt: skip
    prefix = "operators.operatorframework.io.bundle"
    annotations = {
        f"{prefix}.mediatype.v1": "registry+v1",
        f"{prefix}.manifests.v1": "manifests/",
        f"{prefix}.metadata.v1": "metadata/",
        f"{prefix}.package.v1": "little",
        f"{prefix}.channels.v1": "stable",
        f"{prefix}.channel.default.v1": "stable",
    }
    for name, value in (
        ("manifests/little.clusterserviceversion.yaml", csv),
        ("metadata/annotations.yaml", {"annotations": annotations}),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))
