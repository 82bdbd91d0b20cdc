"""The objects that install an operator through OLM v1, and what they request.

A ClusterExtension names a package and, optionally, a range of versions. OLM v1 has no
approval, no channel head and no dependencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.install_objects import OURS, PART_OF

GROUP = "olm.operatorframework.io"
API = f"{GROUP}/v1"
CLUSTER_CATALOG = (API, "ClusterCatalog")
CLUSTER_EXTENSION = (API, "ClusterExtension")
CRD_NAME = "clusterextensions.olm.operatorframework.io"
CATALOG_NAME_LABEL = "olm.operatorframework.io/metadata.name"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionRequest:
    """The requested install. `version` is a range; `catalog` the name of a ClusterCatalog.

    `catalog_image`: the catalog is created from this image, with `catalog_priority`.
    `service_account` is set if the CRD requires one.
    """

    package: str
    namespace: str
    version: str = ""
    channels: tuple[str, ...] = ()
    catalog: str = ""
    catalog_image: str = ""
    catalog_priority: int = -1
    poll_minutes: int = 0
    service_account: str = ""


def cluster_catalog(request: ExtensionRequest) -> Manifest:
    """Return the ClusterCatalog of a request with `catalog_image`."""
    image: dict[str, Any] = {"ref": request.catalog_image}
    if request.poll_minutes:
        image["pollIntervalMinutes"] = request.poll_minutes
    return {
        "apiVersion": API,
        "kind": "ClusterCatalog",
        "metadata": {"name": request.catalog, "labels": {**OURS, PART_OF: request.package}},
        "spec": {
            "priority": request.catalog_priority,
            "source": {"type": "Image", "image": image},
        },
    }


def cluster_extension(request: ExtensionRequest) -> Manifest:
    """Return the ClusterExtension of a request; fields that are not requested are left out."""
    catalog: dict[str, Any] = {"packageName": request.package}
    if request.version:
        catalog["version"] = request.version
    if request.channels:
        catalog["channels"] = list(request.channels)
    if request.catalog:
        catalog["selector"] = {"matchLabels": {CATALOG_NAME_LABEL: request.catalog}}
    spec: dict[str, Any] = {
        "namespace": request.namespace,
        "source": {"sourceType": "Catalog", "catalog": catalog},
    }
    if request.service_account:
        spec["serviceAccount"] = {"name": request.service_account}
    return {
        "apiVersion": API,
        "kind": "ClusterExtension",
        "metadata": {"name": request.package, "labels": {**OURS, PART_OF: request.package}},
        "spec": spec,
    }


def requires_service_account(crd: Manifest) -> bool:
    """Return whether the CRD of ClusterExtensions requires a service account (before 1.11)."""
    for version in sequence(kinds.spec(crd).get("versions")):
        schema = mapping(mapping(mapping(version).get("schema")).get("openAPIV3Schema"))
        spec = mapping(mapping(schema.get("properties")).get("spec"))
        if "serviceAccount" in sequence(spec.get("required")):
            return True
    return False


def request_of(extension: Manifest) -> Mapping[str, Any]:
    """Return the request to the catalogs: package, version, channels, selector."""
    return mapping(mapping(kinds.spec(extension).get("source")).get("catalog"))


def split_channels(channels: str) -> tuple[str, ...]:
    """Return the channels in a list with commas; the name of a channel cannot have a comma."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, channels.split(",")))))


def catalog_name(requested: Mapping[str, Any]) -> str:
    """Return the only ClusterCatalog that may be used; empty if the selector names none."""
    labels = mapping(mapping(requested.get("selector")).get("matchLabels"))
    return text(labels.get(CATALOG_NAME_LABEL))


def installed_bundle(extension: Manifest) -> tuple[str, str]:
    """Return name and version of the installed bundle; empty if there is none."""
    bundle = mapping(mapping(kinds.status(extension).get("install")).get("bundle"))
    return text(bundle.get("name")), text(bundle.get("version"))
