"""The objects that install an operator through OLM v0, as values.

An `InstallRequest` becomes objects to create, each once and in this order: Namespace,
OperatorGroup, CatalogSource, Subscription. They have a label that identifies objects of olmkit, and
only these are removed later.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.base import names
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.bundle.model import INSTALL_MODES
from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.olm import kinds

MANAGED_BY = "app.kubernetes.io/managed-by"
PART_OF = "app.kubernetes.io/part-of"
OURS = {MANAGED_BY: "olmkit"}

CATALOG_PORT = 50051
# The size limit of a ConfigMap, and of the request that writes it.
MAX_CATALOG = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscribedCatalog:
    """The catalog of a Subscription.

    `image` serves the catalog itself or, with `folder`, only has its files there; `address` is a
    running server. With none of them, the catalog already exists.
    """

    name: str
    namespace: str
    image: str = ""
    folder: str = ""
    address: str = ""
    poll: str = ""
    secrets: tuple[str, ...] = ()

    @property
    def is_new(self) -> bool:
        return bool(self.image or self.address)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """An install mode and the namespaces that it names."""

    type: str
    namespaces: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Mode:
        """Parse `AllNamespaces`, `OwnNamespace`, `SingleNamespace=a` or `MultiNamespace=a,b`."""
        type_, _, listed = text.partition("=")
        places = tuple(name for name in listed.split(",") if name)
        if type_ not in INSTALL_MODES:
            known = ", ".join(f"`{mode}`" for mode in INSTALL_MODES)
            raise ConfigurationError(f"`{type_}` is not an install mode", hint=f"there are {known}")
        needs = {"SingleNamespace": 1, "MultiNamespace": 2}.get(type_, 0)
        if (needs == 2 and len(places) < 2) or (needs < 2 and len(places) != needs):
            example = {1: f"`{type_}=apps`", 2: f"`{type_}=apps,tests`"}.get(needs, f"`{type_}`")
            raise ConfigurationError(
                f"the install mode `{text}` names the wrong number of namespaces",
                hint=f"write {example}",
            )
        for name in places:
            if not names.is_label(name):
                raise ConfigurationError(f"`{name}` is not a valid namespace name")
        return cls(type=type_, namespaces=places)

    def targets(self, namespace: str) -> tuple[str, ...]:
        """Return the target namespaces of an OperatorGroup; empty means all namespaces."""
        return (namespace,) if self.type == "OwnNamespace" else self.namespaces

    def __str__(self) -> str:
        return f"{self.type}={','.join(self.namespaces)}" if self.namespaces else self.type


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallRequest:
    """The requested install. `starting_csv` needs manual approval."""

    package: str
    namespace: str
    catalog: SubscribedCatalog
    channel: str = ""
    starting_csv: str = ""
    manual: bool = False
    config: Mapping[str, Any] | None = None


def subscription_objects(request: InstallRequest, mode: Mode | None) -> tuple[Manifest, ...]:
    """Return the objects to create; `mode` is None if an OperatorGroup exists."""
    made: list[Manifest] = []
    if mode is not None:
        made.append(operator_group(request.namespace, request.package, mode))
    if request.catalog.is_new:
        made.append(catalog_source(request.catalog, request.package))
    return (*made, subscription(request))


def namespace(name: str) -> Manifest:
    """Return the namespace of an install, with the label by which olmkit knows its objects."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": OURS}}


def operator_group(place: str, package: str, mode: Mode) -> Manifest:
    """Return the OperatorGroup of the namespace `place`; `spec` is empty for all namespaces."""
    targets = mode.targets(place)
    return {
        "apiVersion": kinds.V1,
        "kind": "OperatorGroup",
        "metadata": _metadata(f"{package}-group", place, package),
        "spec": {"targetNamespaces": list(targets)} if targets else {},
    }


def catalog_source(catalog: SubscribedCatalog, package: str) -> Manifest:
    """Return the CatalogSource of an address, or of an image that OLM runs or extracts."""
    spec: dict[str, Any] = {"sourceType": "grpc", "displayName": package}
    if catalog.address:
        spec["address"] = catalog.address
    else:
        spec["image"] = catalog.image
        pod: dict[str, Any] = {"securityContextConfig": "restricted"}
        if catalog.folder:
            pod["extractContent"] = {"catalogDir": catalog.folder}
        spec["grpcPodConfig"] = pod
    if catalog.secrets:
        spec["secrets"] = list(catalog.secrets)
    if catalog.poll:
        spec["updateStrategy"] = {"registryPoll": {"interval": catalog.poll}}
    return {
        "apiVersion": kinds.V1ALPHA1,
        "kind": "CatalogSource",
        "metadata": _metadata(catalog.name, catalog.namespace, package),
        "spec": spec,
    }


def subscription(request: InstallRequest) -> Manifest:
    """Return the Subscription that requests the package."""
    spec: dict[str, Any] = {
        "name": request.package,
        "source": request.catalog.name,
        "sourceNamespace": request.catalog.namespace,
        "installPlanApproval": "Manual" if request.manual else "Automatic",
    }
    if request.channel:
        spec["channel"] = request.channel
    if request.starting_csv:
        spec["startingCSV"] = request.starting_csv
    if request.config:
        spec["config"] = dict(request.config)
    return {
        "apiVersion": kinds.V1ALPHA1,
        "kind": "Subscription",
        "metadata": _metadata(request.package, request.namespace, request.package),
        "spec": spec,
    }


# A catalog of one bundle, served inside the cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedCatalog:
    """A catalog that olmkit creates, and the image that serves it, which must contain `opm`."""

    namespace: str
    package: str
    blobs: bytes
    image: str
    secrets: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name; each catalog gets another one, because OLM is slow to notice changes."""
        digest = hashlib.sha256(self.blobs + self.image.encode()).hexdigest()[:8]
        return f"{self.package[:40].rstrip('-.')}-{digest}".replace(".", "-")

    @property
    def address(self) -> str:
        return f"{self.name}.{self.namespace}.svc:{CATALOG_PORT}"


def served_objects(served: ServedCatalog) -> tuple[Manifest, ...]:
    """Return the ConfigMap with the catalog, the Pod that serves it, and its Service.

    Raises `InputError` when the catalog is too large.
    """
    encoded = base64.b64encode(served.blobs).decode()
    if len(encoded) > MAX_CATALOG:
        raise InputError(
            f"the bundle takes {len(encoded) / 1e6:.1f} MB as a catalog, and a ConfigMap holds "
            f"{MAX_CATALOG / 1e6:.1f} MB",
            hint="build its image and name that, or install it from the image of a catalog",
        )
    labels = {**OURS, PART_OF: served.package, "olmkit.dev/catalog": served.name}
    metadata = _metadata(served.name, served.namespace, served.package)
    return (
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "binaryData": {"catalog.json": encoded},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**metadata, "labels": labels},
            "spec": _serving_pod(served),
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {
                "selector": {"olmkit.dev/catalog": served.name},
                "ports": [{"name": "grpc", "port": CATALOG_PORT, "targetPort": CATALOG_PORT}],
            },
        },
    )


def _serving_pod(served: ServedCatalog) -> Manifest:
    security = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    # Mounted as one file: `opm` cannot read the symbolic links of a mounted ConfigMap.
    file = "/configs/catalog.json"
    words = ["opm", "serve", "/configs", "-p", str(CATALOG_PORT), "--cache-dir=/tmp/cache"]
    words += ["--cache-enforce-integrity=false", "--termination-log=/tmp/termination"]
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 1001,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "catalog",
                "image": served.image,
                "command": words,
                "ports": [{"name": "grpc", "containerPort": CATALOG_PORT}],
                "readinessProbe": {"grpc": {"port": CATALOG_PORT}, "periodSeconds": 1},
                "resources": {"requests": {"cpu": "10m", "memory": "50Mi"}},
                "securityContext": security,
                "volumeMounts": [
                    {"name": "catalog", "mountPath": file, "subPath": "catalog.json"},
                    {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - in the container
                ],
            }
        ],
        "volumes": [
            {"name": "catalog", "configMap": {"name": served.name}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }
    if served.secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in served.secrets]
    return spec


def is_ours(manifest: Manifest) -> bool:
    """Return whether olmkit has created the object, by its label."""
    return objects.labels_of(manifest).get(MANAGED_BY) == "olmkit"


def choose_mode(supported: Sequence[str], namespace: str, requested: Mode | None) -> Mode:
    """Return the requested install mode, else the widest supported one.

    `supported` is empty if the bundle is unknown. Raises `InputError` if the bundle does not
    support the mode, or if the mode needs names of namespaces.
    """
    if requested is not None:
        needed = kinds.required_modes(requested.targets(namespace) or ("",), namespace)
        lacking = [mode for mode in needed if supported and mode not in supported]
        if lacking:
            raise InputError(
                f"the bundle does not support the install mode `{lacking[0]}`",
                hint=f"it supports {', '.join(f'`{mode}`' for mode in supported)}",
                cause="install-mode-not-supported",
            )
        return requested
    if not supported or "AllNamespaces" in supported:
        return Mode(type="AllNamespaces")
    if "OwnNamespace" in supported:
        return Mode(type="OwnNamespace")
    raise InputError(
        f"the bundle supports only {', '.join(f'`{mode}`' for mode in supported)}: "
        "name the namespaces to watch",
        hint=f"`--mode {supported[0]}=NAMESPACE`",
        cause="install-mode-not-supported",
    )


def check_group(group: Manifest, supported: Sequence[str], requested: Mode | None) -> None:
    """Raise `InputError` if the existing OperatorGroup does not allow the request."""
    place = objects.namespace(group)
    targets = kinds.target_namespaces(group)
    if requested is not None and sorted(requested.targets(place) or ("",)) != sorted(targets):
        watched = "all namespaces" if targets == ("",) else ", ".join(targets)
        raise InputError(
            f"namespace `{place}` has the OperatorGroup `{objects.name(group)}`, which watches "
            f"{watched}, not what `{requested}` says",
            hint="change it, or use another namespace: a namespace has one OperatorGroup",
            cause="install-mode-not-supported",
        )
    lacking = [mode for mode in kinds.required_modes(targets, place) if mode not in supported]
    if supported and lacking:
        raise InputError(
            f"the bundle does not support the install mode `{lacking[0]}` that OperatorGroup "
            f"`{objects.name(group)}` of namespace `{place}` requires",
            hint=f"it supports {', '.join(f'`{mode}`' for mode in supported)}: "
            "use another namespace",
            cause="install-mode-not-supported",
        )


def _metadata(name: str, place: str, package: str) -> dict[str, Any]:
    return {"name": name, "namespace": place, "labels": {**OURS, PART_OF: package}}
