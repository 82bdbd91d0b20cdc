"""The objects that run scorecard tests in a cluster: a ConfigMap with the bundle, and pods.

They are those of operator-sdk, so that test images find what they expect: the bundle in `/bundle`,
and the variables `SCORECARD_NAMESPACE` and `SCORECARD_STORAGE`. Two things differ: the ConfigMap
owns the pods, so that the garbage collector removes the objects of an interrupted run, and the
container that keeps results also has the restricted security context.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.bundle.scorecard.configuration import ScorecardTest
from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.oci import layer

NAME = "scorecard-test"
UNTAR_NAME = "scorecard-untar"
GATHER_NAME = "scorecard-gather"
RUN_LABEL = "testrun"
BUNDLE_FOLDER = "/bundle"
ARCHIVE = "bundle.tar.gz"
MAX_ARCHIVE = 1024 * 1024  # the API server's limit on a ConfigMap's data

STORAGE_IMAGE = (
    "quay.io/operator-framework/scorecard-storage"
    "@sha256:a3bfda71281393c7794cabdd39c563fb050d3020fd0b642ea164646bdd39a0e2"
)
UNTAR_IMAGE = (
    "quay.io/operator-framework/scorecard-untar"
    "@sha256:2e728c5e67a7f4dec0df157a322dd5671212e8ae60f69137463bd4fdfbff8747"
)

_SECURITY: Mapping[str, Any] = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
}
_POD_SECURITY: Mapping[str, Any] = {
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


class PodSettings(NamedTuple):
    """The settings of the pods of a run."""

    namespace: str
    service_account: str = "default"
    untar_image: str = UNTAR_IMAGE
    storage_image: str = STORAGE_IMAGE
    restricted: bool = False


def config_map(tree: Tree, name: str, namespace: str) -> Manifest:
    """Return the ConfigMap with the files of the bundle; raise `InputError` if they do not fit."""
    archive = layer.write(tree).data
    if len(archive) > MAX_ARCHIVE:
        raise InputError(
            f"the compressed bundle is {len(archive) / 1e6:.1f} MB, more than the "
            f"{MAX_ARCHIVE / 1e6:.1f} MB that fit into a ConfigMap",
            hint="remove files that the tests do not need from the bundle",
        )
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": NAME}},
        "binaryData": {ARCHIVE: base64.b64encode(archive).decode()},
    }


def pod(test: ScorecardTest, name: str, owner: Manifest, settings: PodSettings) -> Manifest:
    """Return the pod of one test; `owner` is the ConfigMap as the API server returned it."""
    run = objects.name(owner)
    containers = [_test_container(test, settings)]
    volumes: list[dict[str, Any]] = [
        {"name": "scorecard-bundle", "configMap": {"name": run}},
        {"name": "scorecard-untar", "emptyDir": {}},
    ]
    if test.storage:
        volumes.append({"name": "scorecard-storage", "emptyDir": {}})
        containers.append(_gather_container(test, settings))
    spec: dict[str, Any] = {
        "serviceAccountName": settings.service_account,
        "restartPolicy": "Never",
        "initContainers": [_untar_container(settings)],
        "containers": containers,
        "volumes": volumes,
    }
    if settings.restricted:
        spec["securityContext"] = dict(_POD_SECURITY)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": settings.namespace,
            "labels": {"app": NAME, RUN_LABEL: run},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "name": run,
                    "uid": objects.text(objects.metadata(owner).get("uid")),
                }
            ],
        },
        "spec": spec,
    }


def _test_container(test: ScorecardTest, settings: PodSettings) -> dict[str, Any]:
    environment: list[dict[str, Any]] = [
        {
            "name": "SCORECARD_NAMESPACE",
            "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
        }
    ]
    mounts = [{"name": "scorecard-untar", "mountPath": BUNDLE_FOLDER, "readOnly": True}]
    if test.storage:
        environment.append({"name": "SCORECARD_STORAGE", "value": test.storage})
        mounts.append({"name": "scorecard-storage", "mountPath": test.storage, "readOnly": False})
    container = _container(NAME, test.image, settings, mounts)
    if test.entrypoint:
        container["command"] = list(test.entrypoint)
    return container | {"env": environment}


def _untar_container(settings: PodSettings) -> dict[str, Any]:
    mounts = [
        {"name": "scorecard-bundle", "mountPath": "/scorecard", "readOnly": True},
        {"name": "scorecard-untar", "mountPath": "/scorecard-bundle", "readOnly": False},
    ]
    container = _container(UNTAR_NAME, settings.untar_image, settings, mounts)
    return container | {"args": ["tar", "xvzf", f"/scorecard/{ARCHIVE}", "-C", "/scorecard-bundle"]}


def _gather_container(test: ScorecardTest, settings: PodSettings) -> dict[str, Any]:
    mounts = [{"name": "scorecard-storage", "mountPath": test.storage, "readOnly": True}]
    container = _container(GATHER_NAME, settings.storage_image, settings, mounts)
    return container | {"args": ["/bin/sh", "-c", "sleep 1000"]}


def _container(
    name: str, image: str, settings: PodSettings, mounts: list[dict[str, Any]]
) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "volumeMounts": mounts,
    }
    if settings.restricted:
        container["securityContext"] = dict(_SECURITY)
    return container
