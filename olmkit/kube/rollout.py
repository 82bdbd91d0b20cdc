"""The order in which objects are applied, and the objects to wait for.

Dependencies come first: namespaces and CRDs, then service accounts and roles, configuration,
workloads, and finally webhook configurations, which could block the others. Deletion uses the
reverse order.
"""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, sequence, text

_ORDER = (
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "ResourceQuota",
    "LimitRange",
    "NetworkPolicy",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "PersistentVolumeClaim",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
)
_WORKLOADS = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
_GATES = (
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
)
FIRST = ("Namespace", "CustomResourceDefinition")
"""Kinds that must exist and be known to the server before other objects are applied."""


def sort_for_apply(found: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """Return the objects in the order in which to apply them; equal ones keep their order."""
    return tuple(sorted(found, key=_rank))


def workloads(found: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """Return the Deployments among the objects, in which an operator runs."""
    return tuple(one for one in found if objects.kind(one) == "Deployment")


def with_image(found: Iterable[Manifest], image: str) -> tuple[Manifest, ...]:
    """Return the objects with another image for the operator's container.

    Raises `ConfigurationError` if no Deployment has such a container.
    """
    changed = 0
    result = []
    for one in found:
        if objects.kind(one) == "Deployment":
            containers = sequence(objects.pod_spec(one).get("containers"))
            own = [c for c in containers if text(objects.mapping(c).get("name")) == "manager"]
            if not own and len(containers) == 1:
                own = containers
            if own:
                one = _set_images(
                    one, [{**c, "image": image} if c in own else c for c in containers]
                )
                changed += 1
        result.append(one)
    if not changed:
        raise ConfigurationError(
            "no Deployment has a container `manager` whose image could be another",
            hint="leave out `--image`, and set the image in the overlay's `images`",
        )
    return tuple(result)


def _set_images(deployment: Manifest, containers: list[Manifest]) -> Manifest:
    spec = objects.mapping(deployment.get("spec"))
    template = objects.mapping(spec.get("template"))
    pod = {**objects.pod_spec(deployment), "containers": containers}
    return {**deployment, "spec": {**spec, "template": {**template, "spec": pod}}}


def _rank(manifest: Manifest) -> int:
    kind = objects.kind(manifest)
    if kind in _ORDER:
        return _ORDER.index(kind)
    if kind in _WORKLOADS:
        return len(_ORDER) + 1 + _WORKLOADS.index(kind)
    if kind in _GATES:
        return len(_ORDER) + len(_WORKLOADS) + 2
    # Objects of the operator's own kinds come last, because its webhooks may check them.
    return len(_ORDER) if _is_built_in(manifest) else len(_ORDER) + len(_WORKLOADS) + 3


def _is_built_in(manifest: Manifest) -> bool:
    group = objects.gvk(manifest).group
    return "." not in group or group.endswith(".k8s.io")
