"""The kinds that a registry+v1 bundle may contain.

Readers match only by the kind's name, regardless of the API group. The values show whether a kind
has a namespace according to the readers, which differs from Kubernetes in some cases.
"""

from __future__ import annotations

from collections.abc import Mapping

SUPPORTED: Mapping[str, bool] = {
    "ClusterRole": False,
    "ClusterRoleBinding": False,
    "ClusterServiceVersion": True,
    "ConfigMap": True,
    "ConsoleCLIDownload": False,
    "ConsoleLink": False,
    "ConsolePlugin": False,
    "ConsoleQuickStart": False,
    "ConsoleYAMLSample": False,
    "CustomResourceDefinition": False,
    "NetworkPolicy": True,
    "PodDisruptionBudget": True,
    "PodMonitor": True,
    "PriorityClass": False,
    "PrometheusRule": True,
    "Role": True,
    "RoleBinding": True,
    "Secret": True,
    "Service": True,
    "ServiceAccount": True,
    "ServiceMonitor": True,
    "VerticalPodAutoscaler": False,
}
"""Supported kind → whether its objects have a namespace."""

REPLACED_BY_OLM: Mapping[tuple[str, str], str] = {
    ("", "Namespace"): "OLM installs into the namespace that the user chooses; suggest one with "
    "the annotation `operatorframework.io/suggested-namespace`",
    ("cert-manager.io", "Certificate"): "OLM creates the certificates of webhooks itself",
    ("cert-manager.io", "Issuer"): "OLM creates the certificates of webhooks itself",
    ("cert-manager.io", "ClusterIssuer"): "OLM creates the certificates of webhooks itself",
}
"""Kinds that a bundle must not contain because OLM does their work, and how."""
