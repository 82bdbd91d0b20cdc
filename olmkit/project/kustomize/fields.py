"""Fields of resources by path, and their meaning.

Kustomize has lists of paths for the fields with labels, images or names of other objects: steps
joined by `/`, which implicitly traverse lists. Projects may add to these lists. The lists here are
facts of the Kubernetes API.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.base.documents import Document
from olmkit.kube import objects
from olmkit.kube.objects import GVK
from olmkit.project.kustomize.resources import PIPE_HINT, refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSpec:
    """A path, and the kinds that have it; empty means any."""

    path: str
    group: str = ""
    version: str = ""
    kind: str = ""
    create: bool = False

    def applies(self, api: GVK) -> bool:
        return (
            self.kind in ("", api.kind)
            and self.group in ("", api.group)
            and self.version in ("", api.version)
        )


def update(value: Any, spec: FieldSpec, change: Callable[[Any], Any]) -> None:
    """Replace the value at the path by the result of `change`; None keeps it."""
    _update(value, steps(spec.path), change, create=spec.create)


def steps(path: str) -> tuple[str, ...]:
    r"""Return the steps of a path; `\/` is a slash inside a step."""
    return tuple(
        step.replace("\\/", "/").removesuffix("[]") for step in re.split(r"(?<!\\)/", path)
    )


def _update(
    value: Any, path: tuple[str, ...], change: Callable[[Any], Any], *, create: bool
) -> None:
    if isinstance(value, list):
        for item in value:
            _update(item, path, change, create=create)
        return
    if not isinstance(value, dict) or not path:
        return
    head, rest = path[0], path[1:]
    if rest:
        if create and value.get(head) is None:
            value[head] = {}
        _update(value.get(head), rest, change, create=create)
        return
    if head in value or create:
        new = change(value.get(head))
        if new is not None:
            value[head] = new


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A kind whose objects are named in fields of other objects."""

    kind: str
    group: str = ""
    version: str = ""
    fields: tuple[FieldSpec, ...] = ()

    def means(self, api: GVK) -> bool:
        return (
            self.kind == api.kind
            and self.group in ("", api.group)
            and self.version in ("", api.version)
        )


_TEMPLATED = (
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "DaemonSet",
    "StatefulSet",
    "Job",
)
_POD_SPECS: Mapping[str, str] = {
    "Pod": "spec",
    **dict.fromkeys(_TEMPLATED, "spec/template/spec"),
    "CronJob": "spec/jobTemplate/spec/template/spec",
}
_RBAC = "rbac.authorization.k8s.io"
_ADMISSION = "admissionregistration.k8s.io"


def _in_pods(*paths: str) -> tuple[FieldSpec, ...]:
    return tuple(
        FieldSpec(kind=kind, path=f"{root}/{path}")
        for kind, root in _POD_SPECS.items()
        for path in paths
    )


def _in_containers(*paths: str) -> tuple[FieldSpec, ...]:
    lists = ("containers", "initContainers", "ephemeralContainers")
    return _in_pods(*(f"{name}/{path}" for name in lists for path in paths))


REFERENCES: tuple[Reference, ...] = (
    Reference(
        kind="ConfigMap",
        fields=(
            *_in_pods("volumes/configMap/name", "volumes/projected/sources/configMap/name"),
            *_in_containers("env/valueFrom/configMapKeyRef/name", "envFrom/configMapRef/name"),
        ),
    ),
    Reference(
        kind="Secret",
        fields=(
            *_in_pods(
                "volumes/secret/secretName",
                "volumes/projected/sources/secret/name",
                "imagePullSecrets/name",
            ),
            *_in_containers("env/valueFrom/secretKeyRef/name", "envFrom/secretRef/name"),
            FieldSpec(kind="ServiceAccount", path="imagePullSecrets/name"),
            FieldSpec(kind="ServiceAccount", path="secrets/name"),
            FieldSpec(kind="Ingress", path="spec/tls/secretName"),
        ),
    ),
    Reference(
        kind="Service",
        fields=(
            FieldSpec(kind="StatefulSet", group="apps", path="spec/serviceName"),
            FieldSpec(kind="Ingress", path="spec/rules/http/paths/backend/service/name"),
            FieldSpec(kind="Ingress", path="spec/defaultBackend/service/name"),
            FieldSpec(kind="APIService", group="apiregistration.k8s.io", path="spec/service/name"),
            FieldSpec(
                kind="MutatingWebhookConfiguration",
                group=_ADMISSION,
                path="webhooks/clientConfig/service",
            ),
            FieldSpec(
                kind="ValidatingWebhookConfiguration",
                group=_ADMISSION,
                path="webhooks/clientConfig/service",
            ),
        ),
    ),
    Reference(
        kind="Role",
        group=_RBAC,
        fields=(FieldSpec(kind="RoleBinding", group=_RBAC, path="roleRef/name"),),
    ),
    Reference(
        kind="ClusterRole",
        group=_RBAC,
        fields=(
            FieldSpec(kind="RoleBinding", group=_RBAC, path="roleRef/name"),
            FieldSpec(kind="ClusterRoleBinding", group=_RBAC, path="roleRef/name"),
        ),
    ),
    Reference(
        kind="ServiceAccount",
        fields=(
            FieldSpec(kind="RoleBinding", group=_RBAC, path="subjects"),
            FieldSpec(kind="ClusterRoleBinding", group=_RBAC, path="subjects"),
            *_in_pods("serviceAccountName"),
        ),
    ),
    Reference(
        kind="PersistentVolumeClaim", fields=_in_pods("volumes/persistentVolumeClaim/claimName")
    ),
    Reference(kind="PriorityClass", fields=_in_pods("priorityClassName")),
    *(
        Reference(
            kind=kind,
            fields=(FieldSpec(kind="HorizontalPodAutoscaler", path="spec/scaleTargetRef/name"),),
        )
        for kind in ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
    ),
)

LABELS = FieldSpec(path="metadata/labels", create=True)

TEMPLATE_LABELS: tuple[FieldSpec, ...] = (
    *(
        FieldSpec(kind=kind, path="spec/template/metadata/labels", create=True)
        for kind in _TEMPLATED
    ),
    FieldSpec(kind="CronJob", path="spec/jobTemplate/metadata/labels", create=True),
    FieldSpec(kind="CronJob", path="spec/jobTemplate/spec/template/metadata/labels", create=True),
    FieldSpec(kind="StatefulSet", path="spec/volumeClaimTemplates/metadata/labels", create=True),
)

_AFFINITY = "spec/template/spec/affinity"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

SELECTORS: tuple[FieldSpec, ...] = (
    FieldSpec(kind="Service", group="", version="v1", path="spec/selector", create=True),
    FieldSpec(kind="ReplicationController", path="spec/selector", create=True),
    *(
        FieldSpec(kind=kind, path="spec/selector/matchLabels", create=True)
        for kind in ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")
    ),
    *(
        FieldSpec(kind=kind, path=f"{_AFFINITY}/{side}/{when}/labelSelector/matchLabels")
        for kind in ("Deployment", "StatefulSet")
        for side in ("podAffinity", "podAntiAffinity")
        for when in (_PREFERRED, _REQUIRED)
    ),
    *(
        FieldSpec(
            kind=kind, path="spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels"
        )
        for kind in ("Deployment", "StatefulSet")
    ),
    FieldSpec(kind="Job", path="spec/selector/matchLabels"),
    FieldSpec(kind="CronJob", path="spec/jobTemplate/spec/selector/matchLabels"),
    FieldSpec(kind="PodDisruptionBudget", path="spec/selector/matchLabels"),
    FieldSpec(kind="NetworkPolicy", path="spec/podSelector/matchLabels"),
    FieldSpec(kind="NetworkPolicy", path="spec/ingress/from/podSelector/matchLabels"),
    FieldSpec(kind="NetworkPolicy", path="spec/egress/to/podSelector/matchLabels"),
)

ANNOTATIONS: tuple[FieldSpec, ...] = (
    FieldSpec(path="metadata/annotations", create=True),
    *(
        FieldSpec(kind=kind, path="spec/template/metadata/annotations", create=True)
        for kind in _TEMPLATED
    ),
    FieldSpec(kind="CronJob", path="spec/jobTemplate/metadata/annotations", create=True),
    FieldSpec(
        kind="CronJob", path="spec/jobTemplate/spec/template/metadata/annotations", create=True
    ),
)

NAMESPACES: tuple[FieldSpec, ...] = (
    FieldSpec(
        kind="CustomResourceDefinition",
        path="spec/conversion/webhook/clientConfig/service/namespace",
    ),
    FieldSpec(kind="APIService", path="spec/service/namespace", create=True),
)

REPLICAS: tuple[FieldSpec, ...] = tuple(
    FieldSpec(kind=kind, path="spec/replicas", create=True)
    for kind in ("Deployment", "ReplicationController", "ReplicaSet", "StatefulSet")
)


VARIABLES: tuple[FieldSpec, ...] = (
    *_in_containers("args", "command", "env/value", "volumeMounts/mountPath"),
    FieldSpec(kind="Ingress", path="spec/rules/host"),
    FieldSpec(kind="Ingress", path="spec/tls/hosts"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lists:
    """The field lists of an overlay: the defaults and those of its configurations."""

    references: tuple[Reference, ...] = ()
    images: tuple[FieldSpec, ...] = ()
    labels: tuple[FieldSpec, ...] = ()
    annotations: tuple[FieldSpec, ...] = ()
    namespace: tuple[FieldSpec, ...] = ()
    name_prefix: tuple[FieldSpec, ...] = ()
    replicas: tuple[FieldSpec, ...] = ()
    variables: tuple[FieldSpec, ...] = ()

    def joined(self, other: Lists) -> Lists:
        return Lists(
            references=tuple(dict.fromkeys((*self.references, *other.references))),
            images=tuple(dict.fromkeys((*self.images, *other.images))),
            labels=tuple(dict.fromkeys((*self.labels, *other.labels))),
            annotations=tuple(dict.fromkeys((*self.annotations, *other.annotations))),
            namespace=tuple(dict.fromkeys((*self.namespace, *other.namespace))),
            name_prefix=tuple(dict.fromkeys((*self.name_prefix, *other.name_prefix))),
            replicas=tuple(dict.fromkeys((*self.replicas, *other.replicas))),
            variables=tuple(dict.fromkeys((*self.variables, *other.variables))),
        )


_CONFIGURATION_KEYS = {
    "images": "images",
    "commonLabels": "labels",
    "labels": "labels",
    "commonAnnotations": "annotations",
    "namespace": "namespace",
    "namePrefix": "name_prefix",
    "replicas": "replicas",
    "varReference": "variables",
}
_UNSUPPORTED_KEYS = frozenset({"nameSuffix", "templateLabels"})


def configuration(document: Document) -> Lists:
    """Return the lists of one file of `configurations`."""
    value = objects.mapping(document.value)
    lists: dict[str, tuple[FieldSpec, ...]] = {}
    references: tuple[Reference, ...] = ()
    for key in value:
        if key == "nameReference":
            references = tuple(_references(document))
        elif key in _CONFIGURATION_KEYS:
            lists[_CONFIGURATION_KEYS[key]] = tuple(
                _field_spec(item) for item in objects.sequence(value[key])
            )
        elif key in _UNSUPPORTED_KEYS:
            raise refusal(
                f"`{key}` of kustomize is not supported here", document.at_key(key), PIPE_HINT
            )
        else:
            raise refusal(
                f"`{key}` is not a list of fields that an overlay knows", document.at_key(key)
            )
    return Lists(references=references, **lists)


def _references(document: Document) -> Iterator[Reference]:
    for item in objects.sequence(document.get("nameReference")):
        entry = objects.mapping(item)
        yield Reference(
            kind=objects.text(entry.get("kind")),
            group=objects.text(entry.get("group")),
            version=objects.text(entry.get("version")),
            fields=tuple(_field_spec(part) for part in objects.sequence(entry.get("fieldSpecs"))),
        )


def _field_spec(item: Any) -> FieldSpec:
    entry = objects.mapping(item)
    return FieldSpec(
        path=objects.text(entry.get("path")),
        group=objects.text(entry.get("group")),
        version=objects.text(entry.get("version")),
        kind=objects.text(entry.get("kind")),
        create=entry.get("create") is True,
    )
