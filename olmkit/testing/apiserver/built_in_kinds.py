"""Kinds of Kubernetes' own that operators use, for the API server double.

A real server has them without being told; the double knows what it is given:
`ApiServer.of(BUILT_IN, crds=[...])`, or the few that a test needs.
"""

from __future__ import annotations

from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK

_STATUS = frozenset({"status"})

CONFIG_MAPS = Resource(gvk=GVK("", "v1", "ConfigMap"), plural="configmaps")
SECRETS = Resource(gvk=GVK("", "v1", "Secret"), plural="secrets")
SERVICES = Resource(gvk=GVK("", "v1", "Service"), plural="services", subresources=_STATUS)
PODS = Resource(gvk=GVK("", "v1", "Pod"), plural="pods", subresources=_STATUS)
DEPLOYMENTS = Resource(
    gvk=GVK("apps", "v1", "Deployment"), plural="deployments", subresources=_STATUS
)
EVENTS = Resource(gvk=GVK("events.k8s.io", "v1", "Event"), plural="events")
LEASES = Resource(gvk=GVK("coordination.k8s.io", "v1", "Lease"), plural="leases")

BUILT_IN = (CONFIG_MAPS, SECRETS, SERVICES, PODS, DEPLOYMENTS, EVENTS, LEASES)
"""All of these."""
