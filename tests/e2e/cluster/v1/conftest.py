"""OLM v1 on the shared cluster, and small bundles and catalogs for it.

catalogd and operator-controller are real; `tests/cluster/olm_v1.py` has their releases. A
bundle here is one Deployment of a busybox, which starts in a second, and one CRD.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.tree import Tree
from olmkit.catalog import image as catalog_image
from olmkit.cli import main
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.image import publish
from olmkit.jobs.image.publish import PublishOptions
from olmkit.oci.image import OLM_PLATFORMS

Manifest = dict[str, Any]
ACCOUNT = "installer"
_ANNOTATION = "operators.operatorframework.io.bundle"
_MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")


@pytest.fixture(scope="session")
def olm_v1(cluster: Any, root: Path) -> Any:
    """The shared cluster, with catalogd and operator-controller."""
    words = [sys.executable, str(root / "tests/cluster"), "olm-v1"]
    environment = os.environ | {"OLMKIT_CLUSTER": str(cluster.folder)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return cluster


@dataclass(frozen=True, kw_only=True)
class Toy:
    """One version of a toy operator. `fields` are those of the spec of its kind.

    `properties` are those of its entry in the catalog, by type. `bundle_image`: what the catalog
    names instead of the built bundle. `is_plain`: its operator gets no roles, so that
    many can be installed at the same time.
    """

    version: str
    image: str = ""
    bundle_image: str = ""
    modes: Sequence[str] = ("AllNamespaces",)
    replicas: int = 1
    fields: Sequence[str] = ("size",)
    required: Sequence[str] = ()
    needs: Sequence[str] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)
    webhooks: bool = False
    rules: Sequence[Manifest] = ()
    others: Sequence[Manifest] = ()
    has_crd: bool = True
    is_plain: bool = False
    converts: bool = False


@dataclass
class Shop:
    """Builds toys and their catalogs, with names that belong to one test."""

    cluster: Any
    folder: Path
    name: str = field(default_factory=lambda: f"toy-{uuid.uuid4().hex[:6]}")

    @property
    def group(self) -> str:
        return f"{self.name}.example.com"

    @property
    def crd(self) -> str:
        return f"toys.{self.group}"

    def build(self, *toys: Toy, tag: str = "v1") -> str:
        """Return the image of a catalog with the toys, each replacing the previous one."""
        blobs: list[Manifest] = [
            {"schema": "olm.package", "name": self.name, "defaultChannel": "stable"}
        ]
        entries: list[Manifest] = []
        for toy in toys:
            name = f"{self.name}.v{toy.version}"
            before = {"replaces": entries[-1]["name"]} if entries else {}
            entries.append({"name": name, **before})
            blobs.append(self._blob(toy, name))
        blobs.append(
            {"schema": "olm.channel", "name": "stable", "package": self.name, "entries": entries}
        )
        return self.publish(blobs, tag)

    def publish(self, blobs: Sequence[Manifest], tag: str) -> str:
        """Return the image of a catalog with these blobs, which can be invalid."""
        lines = "".join(json.dumps(blob) + "\n" for blob in blobs)
        tree = Tree({"catalog.json": lines.encode()})
        image = f"{self.cluster.registry}/{self.name}-catalog:{tag}"
        options = PublishOptions(target=image, push=True, project=self.folder)
        built = catalog_image.image(tree, platforms=OLM_PLATFORMS, created=0)
        asyncio.run(publish.publish(built, tag, options, Access(plain_http=True)))
        return image

    def _blob(self, toy: Toy, name: str) -> Manifest:
        properties = [{"type": "olm.package",
                       "value": {"packageName": self.name, "version": toy.version}}]  # fmt: skip
        for one in toy.needs:
            value = {"group": "example.com", "kind": one.title(), "version": "v1"}
            properties.append({"type": "olm.gvk.required", "value": value})
        for type_, value in toy.properties.items():
            properties.append({"type": type_, "value": value})
        return {
            "schema": "olm.bundle",
            "name": name,
            "package": self.name,
            "image": toy.bundle_image or self.bundle(toy),
            "properties": properties,
        }

    def serve(self, image: str, *, name: str = "", priority: int = 0) -> str:
        """Create a ClusterCatalog of the image, and wait until it is served."""
        name = name or self.name
        self.cluster.apply(json.dumps(catalog(name, image, priority)))
        self.cluster.kubectl("wait", "--for=condition=Serving", f"clustercatalog/{name}",
                             "--timeout=300s")  # fmt: skip
        return name

    def account(self, namespace: str, role: str = "cluster-admin") -> None:
        """Create a namespace with a service account; unless empty, with a cluster role."""
        place = {"namespace": namespace, "name": ACCOUNT}
        made: list[Manifest] = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place},
        ]
        if role:
            api = "rbac.authorization.k8s.io"
            made.append(
                {
                    "apiVersion": f"{api}/v1",
                    "kind": "ClusterRoleBinding",
                    "metadata": {"name": f"{namespace}-{ACCOUNT}"},
                    "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": role},
                    "subjects": [{"kind": "ServiceAccount", **place}],
                }
            )
        self.cluster.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}))

    def operand(self, namespace: str, *finalizers: str, name: str = "one") -> Manifest:
        """Return an object of the kind of the toys."""
        return {
            "apiVersion": f"{self.group}/v1",
            "kind": "Toy",
            "metadata": {"name": name, "namespace": namespace, "finalizers": list(finalizers)},
            "spec": {"size": 1},
        }

    def bundle(self, toy: Toy) -> str:
        """Return the image of the bundle."""
        folder = self.folder / f"bundle-{toy.version}"
        for part in ("manifests", "metadata"):
            (folder / part).mkdir(parents=True)
        annotations = {
            f"{_ANNOTATION}.mediatype.v1": "registry+v1",
            f"{_ANNOTATION}.manifests.v1": "manifests/",
            f"{_ANNOTATION}.metadata.v1": "metadata/",
            f"{_ANNOTATION}.package.v1": self.name,
            f"{_ANNOTATION}.channels.v1": "stable",
        }
        manifests = [self._csv(toy), *([self._crd(toy)] if toy.has_crd else ()), *toy.others]
        for number, manifest in enumerate(manifests):
            (folder / f"manifests/{number}.yaml").write_text(json.dumps(manifest))
        (folder / "metadata/annotations.yaml").write_text(json.dumps({"annotations": annotations}))
        image = f"{self.cluster.registry}/{self.name}-bundle:v{toy.version}"
        _olmkit("bundle", "build", str(folder), "-t", image)
        return image

    def _crd(self, toy: Toy) -> Manifest:
        spec: Manifest = {
            "type": "object",
            "properties": {name: {"type": "integer"} for name in toy.fields},
        }
        if toy.required:
            spec["required"] = list(toy.required)
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        versions = [{"name": "v1", "served": True, "storage": not toy.converts, "schema": schema}]
        more: Manifest = {}
        if toy.converts:
            versions.append({"name": "v2", "served": True, "storage": True, "schema": schema})
            service = {"name": "nowhere", "namespace": "default", "path": "/convert"}
            webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
            more = {"conversion": {"strategy": "Webhook", "webhook": webhook}}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.crd},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {"kind": "Toy", "listKind": "ToyList", "plural": "toys",
                          "singular": "toy"},
                "versions": versions,
                **more,
            },
        }  # fmt: skip

    def _csv(self, toy: Toy) -> Manifest:
        name = self.name
        container = {
            "name": "manager",
            "image": toy.image or f"{self.cluster.registry}/busybox:1",
            "command": ["sleep", "2147483647"],
        }
        pod = {
            "serviceAccountName": name,
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
        }
        deployment = {
            "name": name,
            "spec": {
                "replicas": toy.replicas,
                "selector": {"matchLabels": {"app": name}},
                "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
            },
        }
        rules = toy.rules or [
            {"apiGroups": [self.group], "resources": ["toys"], "verbs": ["get", "list", "watch"]}
        ]
        spec: Manifest = {
            "version": toy.version.removesuffix("-other"),
            "displayName": name,
            "installModes": [{"type": mode, "supported": mode in toy.modes} for mode in _MODES],
            "install": {
                "strategy": "deployment",
                "spec": {
                    "deployments": [deployment],
                    "clusterPermissions": [{"serviceAccountName": name, "rules": list(rules)}],
                },
            },
            "customresourcedefinitions": {
                "owned": [{"name": self.crd, "kind": "Toy", "version": "v1"}],
                "required": [
                    {"name": f"{one}s.example.com", "kind": one.title(), "version": "v1"}
                    for one in toy.needs
                ],
            },
        }
        if toy.is_plain:
            pod.pop("serviceAccountName")
            del spec["install"]["spec"]["clusterPermissions"]
        if not toy.has_crd:
            del spec["customresourcedefinitions"]
        if toy.webhooks:
            spec["webhookdefinitions"] = [
                {
                    "type": "ValidatingAdmissionWebhook",
                    "generateName": f"v.{self.group}",
                    "deploymentName": name,
                    "containerPort": 443,
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                    "rules": [{"apiGroups": [self.group], "apiVersions": ["v1"],
                               "operations": ["CREATE"], "resources": ["toys"]}],
                }
            ]  # fmt: skip
        return {
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "ClusterServiceVersion",
            "metadata": {"name": f"{name}.v{toy.version}", "annotations": {"toy": toy.version}},
            "spec": spec,
        }


def _olmkit(*words: str) -> None:
    """Run a command that pushes, in this process: a new one needs a second to start."""
    assert main.run([*words, "--push", "--plain-http"]) == 0


def catalog(name: str, image: str, priority: int = 0) -> Manifest:
    return {
        "apiVersion": "olm.operatorframework.io/v1",
        "kind": "ClusterCatalog",
        "metadata": {"name": name},
        "spec": {
            "priority": priority,
            "source": {"type": "Image", "image": {"ref": image}},
        },
    }


@pytest.fixture(scope="module")
def toy() -> type[Toy]:
    return Toy


@pytest.fixture
def shop(olm_v1: Any, tmp_path: Path, namespace: str) -> Iterator[Shop]:
    """A separate shop for one test; everything that it serves and installs is removed."""
    made = Shop(cluster=olm_v1, folder=tmp_path)
    yield made
    own = (
        f"clusterextension/{made.name}",
        *(f"clustercatalog/{made.name}{suffix}" for suffix in ("", "-catalog", "-theirs")),
        f"clusterrolebinding/{namespace}-{ACCOUNT}",
    )
    olm_v1.kubectl("delete", "--ignore-not-found", "--timeout=300s", *own)


@pytest.fixture(scope="session")
def shop_of() -> Callable[[Any, Path], Shop]:
    """Return a shop that pushes to the registry of a cluster, from a directory."""
    return lambda cluster, folder: Shop(cluster=cluster, folder=folder)


@pytest.fixture
def catalog_of_image() -> Callable[..., Manifest]:
    return catalog
