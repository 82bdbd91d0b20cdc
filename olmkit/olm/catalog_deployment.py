"""A catalog server on Kubernetes that several pods share, as values.

A CatalogSource with `spec.image` has one pod, which OLM replaces. Here a Deployment serves
instead, and the CatalogSource names its Service: a new catalog is rolled out without a moment
without a pod. A ClusterCatalog of OLM v1 takes an image only, which catalogd serves itself, so
there it is the only object.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from olmkit.base import names
from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube.objects import Manifest
from olmkit.oci.reference import Reference
from olmkit.olm import kinds
from olmkit.olm.install_objects import CATALOG_PORT, MANAGED_BY, OURS
from olmkit.olm.v1 import extension as v1

NAME = "app.kubernetes.io/name"
INSTANCE = "app.kubernetes.io/instance"
COMPONENT = "catalog-server"
# What OLM allows its own pods to start in: a catalog without a cache is read for that long.
_START_SECONDS = 150
_PERIOD = 10
_MAX_REPLICAS = 100
_QUANTITY = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:m|[kMGT]|[KMGT]i)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogDeployment:
    """What is deployed: an image that serves its catalog on port 50051, and how many pods.

    An autoscaler is added when `max_replicas` is larger than `replicas`. `drain` is for how many
    seconds a pod that ends still takes connections, while the Service forgets it. `cpu` and
    `memory` are requests of each pod. `priority` and `display_name` are those of the catalog.
    """

    name: str
    namespace: str
    image: str
    replicas: int = 2
    max_replicas: int = 6
    cpu: str = "50m"
    memory: str = "128Mi"
    drain: int = 5
    display_name: str = ""
    priority: int = 0
    secrets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # The name is also that of the Service.
        if not names.is_label(self.name) or not self.name[0].isalpha():
            raise ConfigurationError(
                f"`{self.name}` cannot be the name of a Service",
                hint="use lower-case letters, digits and `-`, and begin with a letter",
            )
        if not names.is_label(self.namespace):
            raise ConfigurationError(f"`{self.namespace}` is not a valid namespace name")
        Reference.parse(self.image)
        if not 1 <= self.replicas <= self.max_replicas <= _MAX_REPLICAS:
            raise ConfigurationError(
                f"{self.replicas} to {self.max_replicas} replicas is not a range",
                hint=f"at least 1, at most {_MAX_REPLICAS}, and the maximum not below the minimum",
            )
        for amount in (self.cpu, self.memory):
            if not _QUANTITY.fullmatch(amount):
                raise ConfigurationError(
                    f"`{amount}` is not a quantity", hint="write `50m` for CPU, `128Mi` for memory"
                )
        for secret in self.secrets:
            if not names.is_subdomain(secret):
                raise ConfigurationError(f"`{secret}` cannot be the name of a Secret")

    @property
    def address(self) -> str:
        """Where pods of the cluster reach the Service."""
        return f"{self.name}.{self.namespace}.svc:{CATALOG_PORT}"

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the pods, which the others select."""
        return {NAME: COMPONENT, INSTANCE: self.name}


def served_objects(wanted: CatalogDeployment) -> tuple[Manifest, ...]:
    """All objects for OLM v0, in the order in which they are applied."""
    scaled = (_autoscaler(wanted),) if wanted.max_replicas > wanted.replicas else ()
    return (
        _network_policy(wanted),
        _service(wanted),
        _disruption_budget(wanted),
        _deployment(wanted),
        *scaled,
        _catalog_source(wanted),
    )


def cluster_catalog(name: str, image: str, *, priority: int = 0, poll_minutes: int = 0) -> Manifest:
    """The ClusterCatalog of the image for OLM v1.

    Raises `ConfigurationError` for a name or image that cannot be one, and for an image that is
    named by its digest and polled: catalogd refuses that.
    """
    if not names.is_subdomain(name):
        raise ConfigurationError(f"`{name}` cannot be the name of a ClusterCatalog")
    if Reference.parse(image).digest is not None and poll_minutes:
        raise ConfigurationError(
            "an image that is named by its digest does not change, so it cannot be polled",
            hint="name the image by its tag, or leave out `--poll`",
        )
    source: dict[str, Any] = {"ref": image}
    if poll_minutes:
        source["pollIntervalMinutes"] = poll_minutes
    return {
        "apiVersion": v1.API,
        "kind": "ClusterCatalog",
        "metadata": {"name": name, "labels": dict(OURS)},
        "spec": {"priority": priority, "source": {"type": "Image", "image": source}},
    }


def _metadata(wanted: CatalogDeployment) -> dict[str, Any]:
    return {
        "name": wanted.name,
        "namespace": wanted.namespace,
        "labels": {**OURS, **wanted.labels},
    }


def _network_policy(wanted: CatalogDeployment) -> Manifest:
    """As OLM's own for its pods of catalogs: in on the port from anywhere, and nothing out."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(wanted),
        "spec": {
            "podSelector": {"matchLabels": wanted.labels},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"ports": [{"protocol": "TCP", "port": CATALOG_PORT}]}],
        },
    }


def _service(wanted: CatalogDeployment) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(wanted),
        "spec": {
            "selector": wanted.labels,
            "ports": [
                {
                    "name": "grpc",
                    "protocol": "TCP",
                    "port": CATALOG_PORT,
                    "targetPort": CATALOG_PORT,
                    "appProtocol": "kubernetes.io/h2c",
                }
            ],
        },
    }


def _disruption_budget(wanted: CatalogDeployment) -> Manifest:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(wanted),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": wanted.labels}},
    }


def _deployment(wanted: CatalogDeployment) -> Manifest:
    # With an autoscaler the number is the autoscaler's: a value here would undo its work.
    fixed = {} if wanted.max_replicas > wanted.replicas else {"replicas": wanted.replicas}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(wanted),
        "spec": {
            **fixed,
            "selector": {"matchLabels": wanted.labels},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
            },
            "template": {
                "metadata": {"labels": {MANAGED_BY: OURS[MANAGED_BY], **wanted.labels}},
                "spec": _pod(wanted),
            },
        },
    }


def _pod(wanted: CatalogDeployment) -> dict[str, Any]:
    secrets: dict[str, Any] = {}
    if wanted.secrets:
        secrets["imagePullSecrets"] = [{"name": name} for name in wanted.secrets]
    return {
        **secrets,
        "automountServiceAccountToken": False,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": wanted.labels},
            }
        ],
        "terminationGracePeriodSeconds": 30 + wanted.drain,
        "containers": [_container(wanted)],
    }


def _container(wanted: CatalogDeployment) -> dict[str, Any]:
    probe = {"grpc": {"port": CATALOG_PORT}, "periodSeconds": _PERIOD, "timeoutSeconds": 5}
    drained: dict[str, Any] = {}
    if wanted.drain:
        drained["lifecycle"] = {"preStop": {"sleep": {"seconds": wanted.drain}}}
    return {
        "name": "registry-server",
        "image": wanted.image,
        "ports": [{"name": "grpc", "containerPort": CATALOG_PORT, "protocol": "TCP"}],
        "startupProbe": {
            **probe,
            "periodSeconds": 2,
            "failureThreshold": _START_SECONDS // 2,
        },
        "readinessProbe": probe,
        "livenessProbe": probe,
        **drained,
        "resources": {"requests": {"cpu": wanted.cpu, "memory": wanted.memory}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _autoscaler(wanted: CatalogDeployment) -> Manifest:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": _metadata(wanted),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": wanted.name},
            "minReplicas": wanted.replicas,
            "maxReplicas": wanted.max_replicas,
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {
                        "name": "cpu",
                        "target": {"type": "Utilization", "averageUtilization": 80},
                    },
                }
            ],
        },
    }


def _catalog_source(wanted: CatalogDeployment) -> Manifest:
    spec: dict[str, Any] = {
        "sourceType": "grpc",
        "address": wanted.address,
        "displayName": wanted.display_name or wanted.name,
    }
    if wanted.priority:
        spec["priority"] = wanted.priority
    return {
        "apiVersion": kinds.V1ALPHA1,
        "kind": "CatalogSource",
        "metadata": _metadata(wanted),
        "spec": spec,
    }
