"""Kubernetes objects as plain data.

Kubernetes' own schema is too large to mirror, so an object is a `Manifest`, a mapping as read, and
only the parts that olmkit analyzes have types. The functions are lenient: a field that is missing
or has the wrong type counts as empty. Code that needs more uses the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Manifest = dict[str, Any]
"""A Kubernetes object as plain data; unknown fields are part of it."""


class GVK(NamedTuple):
    """Group, version and kind of an API."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        """Format the GVK like Go tools; users search for this form."""
        joined = f"{self.group}/{self.version}" if self.group or self.version else "/"
        return f"{joined}, Kind={self.kind}"

    @property
    def api_version(self) -> str:
        """Return group and version as in manifests; the core group has no name."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def parse(cls, api_version: str, kind: str) -> GVK:
        """Return the GVK of an object with this `apiVersion` and `kind`."""
        group, _, version = api_version.rpartition("/")
        return cls(group=group, version=version, kind=kind)


class ObjectKey(NamedTuple):
    """What identifies an object in a cluster, apart from its API version."""

    group: str
    kind: str
    namespace: str
    name: str


CLUSTER_SCOPED: frozenset[tuple[str, str]] = frozenset(
    {
        ("", "Namespace"),
        ("", "Node"),
        ("", "PersistentVolume"),
        ("", "ComponentStatus"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "APIService"),
        ("certificates.k8s.io", "CertificateSigningRequest"),
        ("certificates.k8s.io", "ClusterTrustBundle"),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
        ("networking.k8s.io", "IngressClass"),
        ("node.k8s.io", "RuntimeClass"),
        ("policy", "PodSecurityPolicy"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
        ("resource.k8s.io", "DeviceClass"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("storage.k8s.io", "CSIDriver"),
        ("storage.k8s.io", "CSINode"),
        ("storage.k8s.io", "StorageClass"),
        ("storage.k8s.io", "VolumeAttachment"),
    }
)
"""Built-in kinds without a namespace; any other kind may have one."""


def text(value: Any) -> str:
    """Return `value` if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def scalar_text(value: Any) -> str:
    """Return a string, or a number or boolean as YAML writes it; empty for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return ""


def mapping(value: Any) -> Mapping[str, Any]:
    """Return `value` if it is a mapping, else an empty one."""
    # The common case first: a check of the abstract class costs ten times as much.
    return value if type(value) is dict or isinstance(value, Mapping) else {}


def sequence(value: Any) -> list[Any]:
    """Return `value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def items_of(manifest: Manifest) -> list[Manifest]:
    """Return the objects of a `List` of any kind; any other object alone."""
    if not kind(manifest).endswith("List") or not isinstance(manifest.get("items"), list):
        return [manifest]
    return [one for one in manifest["items"] if isinstance(one, dict)]


def gvk(manifest: Any) -> GVK:
    """Return the GVK of an object; missing parts are empty."""
    return GVK.parse(text(mapping(manifest).get("apiVersion")), kind(manifest))


def kind(manifest: Any) -> str:
    """Return `kind`, or an empty string."""
    return text(mapping(manifest).get("kind"))


def metadata(manifest: Any) -> Mapping[str, Any]:
    """Return `metadata`, or an empty mapping."""
    return mapping(mapping(manifest).get("metadata"))


def name(manifest: Any) -> str:
    """Return `metadata.name`, or an empty string."""
    return text(metadata(manifest).get("name"))


def namespace(manifest: Any) -> str:
    """Return `metadata.namespace`, or an empty string."""
    return text(metadata(manifest).get("namespace"))


def labels_of(manifest: Any) -> Mapping[str, str]:
    """Return the labels of an object; values that are not strings are left out."""
    return _texts(metadata(manifest).get("labels"))


def annotations_of(manifest: Any) -> Mapping[str, str]:
    """Return the annotations of an object; values that are not strings are left out."""
    return _texts(metadata(manifest).get("annotations"))


def key(manifest: Any) -> ObjectKey:
    """Return the identity of the object in a cluster."""
    return ObjectKey(
        group=gvk(manifest).group,
        kind=kind(manifest),
        namespace=namespace(manifest),
        name=name(manifest),
    )


def is_cluster_scoped(api: GVK) -> bool:
    """Return whether a kind certainly has no namespace; unknown kinds count as namespaced."""
    return (api.group, api.kind) in CLUSTER_SCOPED


def pod_spec(manifest: Any) -> Mapping[str, Any]:
    """Return the pod spec of a workload, empty if it is not a workload."""
    spec = mapping(mapping(manifest).get("spec"))
    if kind(manifest) == "Pod":
        return spec
    if kind(manifest) == "CronJob":
        spec = mapping(mapping(spec.get("jobTemplate")).get("spec"))
    return mapping(mapping(spec.get("template")).get("spec"))


def _texts(value: Any) -> dict[str, str]:
    return {item_key: item for item_key, item in mapping(value).items() if isinstance(item, str)}
