"""OLM itself, installed from manifests into a cluster without it, and removed again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents

pytestmark = pytest.mark.e2e


def manifests(cluster: Any) -> list[dict[str, Any]]:
    """Return the contents of a release's `olm.yaml`, without optional parts."""
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
        {"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
         "metadata": {"name": "olm-operators", **meta}, "spec": {"targetNamespaces": ["olm"]}},
        package_server(cluster, account),
    ]  # fmt: skip
    registry = cluster.registry
    host, _, port = cluster.slow_server.rpartition(":")
    images = ["--opmImage", f"{registry}/opm:1", "--util-image", f"{registry}/olm:1"]
    for name, words in (
        ("olm-operator", ["/bin/olm"]),
        ("catalog-operator", ["/bin/catalog", *images, "--set-workload-user-id=true"]),
    ):
        words = [*words, "--namespace", "olm", "--interval", "1m"]
        spec = deployment(cluster, name, account, words, {"path": "/healthz", "port": 8080})
        spec["template"]["spec"]["containers"][0]["env"] = [
            {"name": "KUBERNETES_SERVICE_HOST", "value": host},
            {"name": "KUBERNETES_SERVICE_PORT", "value": port},
        ]
        found.append(
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, **meta},
             "spec": {"strategy": {"type": "Recreate"}, **spec}}
        )  # fmt: skip
    return found


def deployment(
    cluster: Any, name: str, account: str, words: list[str], probe: dict[str, Any]
) -> dict[str, Any]:
    """Return the `spec` of a Deployment of one of OLM's programs."""
    labels = {"app": name}
    container = {
        "name": name,
        "image": f"{cluster.registry}/olm-operators:1",
        "command": words,
        "readinessProbe": {"httpGet": probe},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108 - in the container
    }
    pod = {"serviceAccountName": account, "containers": [container],
           "volumes": [{"name": "tmp", "emptyDir": {}}]}  # fmt: skip
    return {"replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod}}  # fmt: skip


def package_server(cluster: Any, account: str) -> dict[str, Any]:
    """Return the CSV with which OLM runs its own package server."""
    words = ["/bin/package-server", "--secure-port", "5443", "--global-namespace", "olm"]
    probe = {"path": "/healthz", "port": 5443, "scheme": "HTTPS"}
    group = "packages.operators.coreos.com"
    reading = ["get", "list", "watch"]
    rules = [
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"],
         "verbs": ["create", "get"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": reading},
        {"apiGroups": ["operators.coreos.com"], "resources": ["catalogsources"],
         "verbs": reading},
        {"apiGroups": [group], "resources": ["packagemanifests"], "verbs": reading},
    ]  # fmt: skip
    modes = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
    served = {"group": group, "version": "v1", "kind": "PackageManifest",
              "name": "packagemanifests", "displayName": "PackageManifest",
              "description": "a package", "deploymentName": "packageserver",
              "containerPort": 5443}  # fmt: skip
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "packageserver", "namespace": "olm"},
        "spec": {
            "displayName": "Package Server",
            "version": "0.46.0",
            "installModes": [{"type": mode, "supported": True} for mode in modes],
            "install": {"strategy": "deployment", "spec": {
                "clusterPermissions": [{"serviceAccountName": account, "rules": rules}],
                "deployments": [{"name": "packageserver",
                                 "spec": deployment(cluster, "packageserver", account, words,
                                                    probe)}],
            }},
            "apiservicedefinitions": {"owned": [served]},
        },
    }  # fmt: skip


def test_olm_is_installed_used_and_removed(
    cluster_without_olm: Any,
    run_olmkit_of: Callable[[Any], Any],
    tmp_path: Path,
    eventually: Callable[..., Any],
    write_bundle: Callable[[Path, dict[str, Any]], None],
) -> None:
    cluster = cluster_without_olm
    run_olmkit = run_olmkit_of(cluster)
    crds = sorted((cluster.programs["olm"] / "crds").glob("*.yaml"))
    file = tmp_path / "olm.yaml"
    file.write_bytes(documents.dump_all(manifests(cluster)))
    words = [word for crd in crds for word in ("-f", str(crd))] + ["-f", str(file)]

    assert "not installed" in run_olmkit.try_("olm", "status", code=1).out
    assert "olmkit olm install" in run_olmkit.try_("status", code=1).err

    run_olmkit("olm", "install", *words)
    assert run_olmkit.try_("olm", "status", "-o", "json").json["result"]["generations"] == ["v0"]

    bundle = tmp_path / "bundle"
    write_bundle(bundle, csv_of(f"{cluster.registry}/busybox:1"))
    run_olmkit("install", "--bundle", bundle, "-n", "operators")
    refused = run_olmkit.try_("olm", "uninstall", *words, "--yes", code=1)
    assert "`operators/little`" in refused.err
    run_olmkit("uninstall", "little", "-n", "operators", "--yes")

    for name in ("little", "lesser"):
        write_bundle(tmp_path / name / "bundle", csv_of(f"{cluster.registry}/busybox:1", name))
        cluster.apply(json.dumps(shelf(run_olmkit, cluster.registry, name, tmp_path / name)))
    # OLM's own list of packages shows which of the two has it.
    eventually(
        lambda: (
            {"little", "lesser"}
            <= {
                one["metadata"]["name"]
                for one in cluster.list("packagemanifests", "-n", "operators")
            }
        ),
        what="the packages are listed",
    )
    done = run_olmkit.try_("install", "lesser", "-n", "operators")
    assert "from catalog `operators/lesser-shelf`" in done.err
    refused = run_olmkit.try_("install", "least", "-n", "operators", code=1)
    assert "no catalog offers the package `least`" in refused.err
    run_olmkit("uninstall", "lesser", "-n", "operators", "--yes")

    run_olmkit("olm", "uninstall", *words, "--yes")
    assert "not installed" in run_olmkit.try_("olm", "status", code=1).out


def shelf(run_olmkit: Any, registry: str, name: str, folder: Path) -> dict[str, Any]:
    """A catalog with one package, as an image in the registry, and its CatalogSource."""
    bundle = run_olmkit("bundle", "build", folder / "bundle", "-t", f"{registry}/{name}-bundle:1",
                    "--push").strip()  # fmt: skip
    catalog = folder / "catalog"
    catalog.mkdir()
    (catalog / "catalog.yaml").write_text(run_olmkit("catalog", "init", name, "-c", "stable"))
    run_olmkit("catalog", "add", catalog, bundle, "--channel", "stable")
    image = f"{registry}/{name}-shelf:1"
    run_olmkit("catalog", "build", catalog, "-t", image, "--push")
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": f"{name}-shelf", "namespace": "operators"},
        "spec": {"sourceType": "grpc", "image": image,
                 "grpcPodConfig": {"extractContent": {"catalogDir": "/configs"}}},
    }  # fmt: skip


def csv_of(image: str, package: str = "little") -> dict[str, Any]:
    labels = {"app": package}
    container = {"name": "manager", "image": image, "command": ["sleep", "1000"],
                 "securityContext": {"runAsUser": 1001}}  # fmt: skip
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"{package}.v1.0.0"},
        "spec": {
            "displayName": package,
            "version": "1.0.0",
            "installModes": [
                {"type": "OwnNamespace", "supported": True},
                {"type": "SingleNamespace", "supported": True},
                {"type": "MultiNamespace", "supported": True},
                {"type": "AllNamespaces", "supported": True},
            ],
            "install": {"strategy": "deployment", "spec": {"deployments": [{
                "name": package,
                "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
                    "metadata": {"labels": labels}, "spec": {"containers": [container]}}},
            }]}},
        },
    }  # fmt: skip
