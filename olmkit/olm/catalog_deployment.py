"""The objects of a catalog server with several pods.

A CatalogSource with `spec.image` has one pod, which OLM replaces. Here a Deployment serves the
catalog, and the CatalogSource names its Service: while a new catalog is rolled out, at least one
pod is always running. A ClusterCatalog of OLM v1 accepts only an image, which catalogd serves
itself, so it is the only object there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

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
# OLM's startup limit for its own pods: reading a catalog without a cache takes that long.
_START_SECONDS = 150
_PERIOD = 10
_MAX_REPLICAS = 100
_MAX_PORT = 65535
_TLS_FOLDER = "/etc/olmkit/tls"
_QUANTITY = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:m|[kMGT]|[KMGT]i)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class FurtherCatalog:
    """Another catalog in the same pods: its name and its image."""

    name: str
    image: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogDeployment:
    """The deployment: an image that serves its catalog on port 50051, and the number of pods.

    Each of `further` is an additional container, with the next ports and a CatalogSource.
    `http_port` is that of the HTTP API, `metrics_port` that of metrics; the two may be equal.
    `tls_secret` names a Secret of type `kubernetes.io/tls` for both. Only olmkit's own server has
    these.

    An autoscaler is added if `max_replicas` is larger than `replicas`. `drain` is the number of
    seconds for which a terminating pod still accepts connections, until the Service removes it.
    `cpu` and `memory` are requests of each pod. `priority` and `display_name` are those of the
    catalog.
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
    further: tuple[FurtherCatalog, ...] = ()
    http_port: int | None = None
    metrics_port: int | None = None
    tls_secret: str = ""

    def __post_init__(self) -> None:
        # The first name is also that of the Service, and each is a part of port names.
        for one in self.containers:
            if not names.is_label(one.name) or not one.name[0].isalpha():
                raise ConfigurationError(
                    f"`{one.name}` cannot be the name of a Service",
                    hint="use lower-case letters, digits and `-`, and begin with a letter",
                )
            Reference.parse(one.image)
        self._check_ports()
        if not names.is_label(self.namespace):
            raise ConfigurationError(f"`{self.namespace}` is not a valid namespace name")
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
        for secret in (*self.secrets, *filter(None, [self.tls_secret])):
            if not names.is_subdomain(secret):
                raise ConfigurationError(f"`{secret}` cannot be the name of a Secret")

    def _check_ports(self) -> None:
        called = [one.name for one in self.containers]
        if len(set(called)) != len(called):
            raise ConfigurationError("two catalogs have the same name", hint="name each once")
        if self.tls_secret and self.http_port is None and self.metrics_port is None:
            raise ConfigurationError(
                "a Secret for TLS needs the HTTP API or metrics",
                hint="pass `--http-port` or `--metrics-port`; OLM v0 uses gRPC without TLS",
            )
        numbers = [port.number for one in self.containers for port in one.ports]
        if len(set(numbers)) != len(numbers):
            raise ConfigurationError(
                "two ports of the pods have the same number",
                hint=f"gRPC has {CATALOG_PORT} and the following ports, one for each catalog; "
                "the HTTP API and metrics have as many from their first port",
            )
        # A user without privileges, as in the pods, may not listen on ports below this.
        if not all(1024 <= number <= _MAX_PORT for number in numbers):
            raise ConfigurationError(f"ports of the pods are from 1024 to {_MAX_PORT}")

    @property
    def containers(self) -> tuple[CatalogContainer, ...]:
        """Return one container for each catalog, in order."""
        every = ((self.name, self.image), *((one.name, one.image) for one in self.further))
        return tuple(
            CatalogContainer(self, number, name, image)
            for number, (name, image) in enumerate(every)
        )

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels of the pods, which the other objects select."""
        return {NAME: COMPONENT, INSTANCE: self.name}


class Port(NamedTuple):
    """A port of a container and of the Service."""

    name: str
    number: int
    protocol: str = ""

    @property
    def container_port(self) -> dict[str, Any]:
        return {"name": self.name, "containerPort": self.number, "protocol": "TCP"}

    @property
    def service_port(self) -> dict[str, Any]:
        spoken = {"appProtocol": self.protocol} if self.protocol else {}
        where = {"port": self.number, "targetPort": self.number}
        return {"name": self.name, "protocol": "TCP", **where, **spoken}


@dataclass(frozen=True, slots=True)
class CatalogContainer:
    """The server of one catalog; `number` counts them from 0 and is added to each first port."""

    deployment: CatalogDeployment
    number: int
    name: str
    image: str

    @property
    def address(self) -> str:
        """Return the address at which pods of the cluster reach its gRPC port."""
        wanted = self.deployment
        return f"{wanted.name}.{wanted.namespace}.svc:{self.grpc_port}"

    @property
    def grpc_port(self) -> int:
        return CATALOG_PORT + self.number

    @property
    def ports(self) -> tuple[Port, ...]:
        end = f"-{self.number}" if self.number else ""
        http, metrics = self.deployment.http_port, self.deployment.metrics_port
        over = "https" if self.deployment.tls_secret else "http"
        made = [Port(f"grpc{end}", self.grpc_port, "kubernetes.io/h2c")]
        if http is not None:
            made.append(Port(f"http{end}", http + self.number, over))
        if metrics is not None and metrics != http:
            made.append(Port(f"metrics{end}", metrics + self.number, over))
        return tuple(made)

    @property
    def variables(self) -> dict[str, str]:
        """Return the variables for `olmkit catalog serve` whose values differ from the defaults."""
        wanted = self.deployment
        found: dict[str, str] = {}
        if self.number:
            found["PORT"] = str(self.grpc_port)
        if wanted.http_port is not None:
            found["HTTP_PORT"] = str(wanted.http_port + self.number)
        if wanted.metrics_port is not None:
            found["METRICS_PORT"] = str(wanted.metrics_port + self.number)
        if "HTTP_PORT" in found or "METRICS_PORT" in found:
            found["NAME"] = self.name
        if wanted.tls_secret:
            found["TLS_CERT"] = f"{_TLS_FOLDER}/tls.crt"
            found["TLS_KEY"] = f"{_TLS_FOLDER}/tls.key"
        return {f"OLMKIT_SERVE_{name}": value for name, value in found.items()}


def served_objects(settings: CatalogDeployment) -> tuple[Manifest, ...]:
    """Return all objects for OLM v0, in the order in which they are applied."""
    scaled = (_autoscaler(settings),) if settings.max_replicas > settings.replicas else ()
    return (
        _network_policy(settings),
        _service(settings),
        _disruption_budget(settings),
        _deployment(settings),
        *scaled,
        *(_catalog_source(settings, one) for one in settings.containers),
    )


def cluster_catalog(name: str, image: str, *, priority: int = 0, poll_minutes: int = 0) -> Manifest:
    """Return the ClusterCatalog of the image for OLM v1.

    Raises `ConfigurationError` for an invalid name or image, and for polling an image that is named
    by its digest: catalogd refuses that.
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


def _metadata(settings: CatalogDeployment) -> dict[str, Any]:
    return {
        "name": settings.name,
        "namespace": settings.namespace,
        "labels": {**OURS, **settings.labels},
    }


def _network_policy(settings: CatalogDeployment) -> Manifest:
    """Return a policy like OLM's for its catalog pods: ingress to the ports, no egress."""
    ports = [port.number for one in settings.containers for port in one.ports]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(settings),
        "spec": {
            "podSelector": {"matchLabels": settings.labels},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [{"ports": [{"protocol": "TCP", "port": port} for port in ports]}],
        },
    }


def _service(settings: CatalogDeployment) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(settings),
        "spec": {
            "selector": settings.labels,
            "ports": [port.service_port for one in settings.containers for port in one.ports],
        },
    }


def _disruption_budget(settings: CatalogDeployment) -> Manifest:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(settings),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": settings.labels}},
    }


def _deployment(settings: CatalogDeployment) -> Manifest:
    # With an autoscaler, the autoscaler sets the number: a value here would undo its work.
    fixed = {} if settings.max_replicas > settings.replicas else {"replicas": settings.replicas}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(settings),
        "spec": {
            **fixed,
            "selector": {"matchLabels": settings.labels},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
            },
            "template": {
                "metadata": {"labels": {MANAGED_BY: OURS[MANAGED_BY], **settings.labels}},
                "spec": _pod(settings),
            },
        },
    }


def _pod(settings: CatalogDeployment) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if settings.secrets:
        more["imagePullSecrets"] = [{"name": name} for name in settings.secrets]
    if settings.tls_secret:
        more["volumes"] = [{"name": "tls", "secret": {"secretName": settings.tls_secret}}]
    return {
        **more,
        "automountServiceAccountToken": False,
        # A Service called `olmkit-serve` would set OLMKIT_SERVE_PORT to an address.
        "enableServiceLinks": False,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": settings.labels},
            }
        ],
        "terminationGracePeriodSeconds": 30 + settings.drain,
        "containers": [_container(settings, one) for one in settings.containers],
    }


def _container(settings: CatalogDeployment, one: CatalogContainer) -> dict[str, Any]:
    probe = {"grpc": {"port": one.grpc_port}, "periodSeconds": _PERIOD, "timeoutSeconds": 5}
    more: dict[str, Any] = {}
    if one.variables:
        more["env"] = [{"name": name, "value": value} for name, value in one.variables.items()]
    if settings.tls_secret:
        more["volumeMounts"] = [{"name": "tls", "mountPath": _TLS_FOLDER, "readOnly": True}]
    if settings.drain:
        more["lifecycle"] = {"preStop": {"sleep": {"seconds": settings.drain}}}
    return {
        "name": "registry-server" if one.number == 0 else f"registry-server-{one.number}",
        "image": one.image,
        "ports": [port.container_port for port in one.ports],
        "startupProbe": {
            **probe,
            "periodSeconds": 2,
            "failureThreshold": _START_SECONDS // 2,
        },
        "readinessProbe": probe,
        "livenessProbe": probe,
        **more,
        "resources": {"requests": {"cpu": settings.cpu, "memory": settings.memory}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _autoscaler(settings: CatalogDeployment) -> Manifest:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": _metadata(settings),
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": settings.name,
            },
            "minReplicas": settings.replicas,
            "maxReplicas": settings.max_replicas,
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


def _catalog_source(settings: CatalogDeployment, one: CatalogContainer) -> Manifest:
    spec: dict[str, Any] = {
        "sourceType": "grpc",
        "address": one.address,
        "displayName": (settings.display_name if one.number == 0 else "") or one.name,
    }
    if settings.priority:
        spec["priority"] = settings.priority
    return {
        "apiVersion": kinds.V1ALPHA1,
        "kind": "CatalogSource",
        "metadata": {**_metadata(settings), "name": one.name},
        "spec": spec,
    }
