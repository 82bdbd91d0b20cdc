"""When Kubernetes deprecated and removed its API versions.

Source: the generated files `zz_generated.prerelease-lifecycle.go` of `k8s.io/api` 0.33 and 0.37,
and the deprecation guide (https://kubernetes.io/docs/reference/using-api/deprecation-guide/) for
what that module does not have. Releases are minor numbers of Kubernetes 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from olmkit.base import names
from olmkit.kube.objects import GVK

LATEST: Final = 36
"""The newest release that the table was compared with; later removals are announced only."""


class Lifecycle(NamedTuple):
    """The end of an API version: the releases that deprecate and remove it, and what to use.

    `replacement` is the API version to use instead, empty if the kind has none.
    """

    deprecated: int
    removed: int
    replacement: str


_Entry = tuple[str, str, int, int, str]

# API version, kinds, deprecated in, removed in, replacement.
_TABLE: Final[tuple[_Entry, ...]] = (
    ("apps/v1beta1", "ControllerRevision Deployment StatefulSet", 8, 16, "apps/v1"),
    (
        "apps/v1beta2",
        "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
        9,
        16,
        "apps/v1",
    ),
    ("extensions/v1beta1", "DaemonSet Deployment ReplicaSet", 8, 16, "apps/v1"),
    ("extensions/v1beta1", "NetworkPolicy", 9, 16, "networking.k8s.io/v1"),
    ("extensions/v1beta1", "PodSecurityPolicy", 11, 16, ""),
    (
        "admissionregistration.k8s.io/v1beta1",
        "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
        16,
        22,
        "admissionregistration.k8s.io/v1",
    ),
    (
        "apiextensions.k8s.io/v1beta1",
        "CustomResourceDefinition",
        16,
        22,
        "apiextensions.k8s.io/v1",
    ),
    ("apiregistration.k8s.io/v1beta1", "APIService", 19, 22, "apiregistration.k8s.io/v1"),
    ("authentication.k8s.io/v1beta1", "TokenReview", 19, 22, "authentication.k8s.io/v1"),
    (
        "authorization.k8s.io/v1beta1",
        (
            "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview "
            "SubjectAccessReview"
        ),
        19,
        22,
        "authorization.k8s.io/v1",
    ),
    (
        "certificates.k8s.io/v1beta1",
        "CertificateSigningRequest",
        19,
        22,
        "certificates.k8s.io/v1",
    ),
    ("coordination.k8s.io/v1beta1", "Lease", 19, 22, "coordination.k8s.io/v1"),
    ("extensions/v1beta1", "Ingress", 14, 22, "networking.k8s.io/v1"),
    ("networking.k8s.io/v1beta1", "Ingress IngressClass", 19, 22, "networking.k8s.io/v1"),
    (
        "rbac.authorization.k8s.io/v1alpha1",
        "ClusterRole ClusterRoleBinding Role RoleBinding",
        17,
        22,
        "rbac.authorization.k8s.io/v1",
    ),
    (
        "rbac.authorization.k8s.io/v1beta1",
        "ClusterRole ClusterRoleBinding Role RoleBinding",
        17,
        22,
        "rbac.authorization.k8s.io/v1",
    ),
    ("scheduling.k8s.io/v1alpha1", "PriorityClass", 14, 17, "scheduling.k8s.io/v1"),
    ("scheduling.k8s.io/v1beta1", "PriorityClass", 14, 22, "scheduling.k8s.io/v1"),
    (
        "storage.k8s.io/v1beta1",
        "CSIDriver CSINode StorageClass VolumeAttachment",
        19,
        22,
        "storage.k8s.io/v1",
    ),
    ("storage.k8s.io/v1alpha1", "CSIStorageCapacity VolumeAttachment", 21, 24, "storage.k8s.io/v1"),
    ("autoscaling/v2beta1", "HorizontalPodAutoscaler", 22, 25, "autoscaling/v2"),
    ("batch/v1beta1", "CronJob", 21, 25, "batch/v1"),
    ("discovery.k8s.io/v1beta1", "EndpointSlice", 21, 25, "discovery.k8s.io/v1"),
    ("events.k8s.io/v1beta1", "Event", 22, 25, "events.k8s.io/v1"),
    ("node.k8s.io/v1beta1", "RuntimeClass", 22, 25, "node.k8s.io/v1"),
    ("policy/v1beta1", "Eviction PodDisruptionBudget", 21, 25, "policy/v1"),
    ("policy/v1beta1", "PodSecurityPolicy", 21, 25, ""),
    ("autoscaling/v2beta2", "HorizontalPodAutoscaler", 23, 26, "autoscaling/v2"),
    (
        "flowcontrol.apiserver.k8s.io/v1beta1",
        "FlowSchema PriorityLevelConfiguration",
        23,
        26,
        "flowcontrol.apiserver.k8s.io/v1",
    ),
    ("storage.k8s.io/v1beta1", "CSIStorageCapacity", 24, 27, "storage.k8s.io/v1"),
    (
        "flowcontrol.apiserver.k8s.io/v1beta2",
        "FlowSchema PriorityLevelConfiguration",
        26,
        29,
        "flowcontrol.apiserver.k8s.io/v1",
    ),
    (
        "admissionregistration.k8s.io/v1alpha1",
        "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
        29,
        32,
        "admissionregistration.k8s.io/v1",
    ),
    ("authentication.k8s.io/v1alpha1", "SelfSubjectReview", 29, 32, "authentication.k8s.io/v1"),
    (
        "flowcontrol.apiserver.k8s.io/v1beta3",
        "FlowSchema PriorityLevelConfiguration",
        29,
        32,
        "flowcontrol.apiserver.k8s.io/v1",
    ),
    ("authentication.k8s.io/v1beta1", "SelfSubjectReview", 30, 33, "authentication.k8s.io/v1"),
    (
        "admissionregistration.k8s.io/v1beta1",
        "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
        31,
        34,
        "admissionregistration.k8s.io/v1",
    ),
    ("storage.k8s.io/v1alpha1", "VolumeAttributesClass", 32, 35, "storage.k8s.io/v1"),
    ("certificates.k8s.io/v1alpha1", "ClusterTrustBundle", 34, 37, "certificates.k8s.io/v1beta1"),
    ("networking.k8s.io/v1beta1", "IPAddress ServiceCIDR", 34, 37, "networking.k8s.io/v1"),
    ("storage.k8s.io/v1beta1", "VolumeAttributesClass", 34, 37, "storage.k8s.io/v1"),
    (
        "admissionregistration.k8s.io/v1alpha1",
        "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding",
        35,
        38,
        "admissionregistration.k8s.io/v1",
    ),
    ("coordination.k8s.io/v1alpha2", "LeaseCandidate", 35, 38, "coordination.k8s.io/v1beta1"),
    (
        "resource.k8s.io/v1beta1",
        "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
        35,
        38,
        "resource.k8s.io/v1",
    ),
    (
        "resource.k8s.io/v1beta2",
        "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
        36,
        39,
        "resource.k8s.io/v1",
    ),
)


def _lifecycles() -> Mapping[GVK, Lifecycle]:
    return {
        GVK.parse(api_version, kind): Lifecycle(deprecated, removed, replacement)
        for api_version, kinds, deprecated, removed, replacement in _TABLE
        for kind in kinds.split()
    }


LIFECYCLES: Final[Mapping[GVK, Lifecycle]] = _lifecycles()


def find(gvk: GVK) -> Lifecycle | None:
    """Return when the API ends; None if it is not deprecated."""
    return LIFECYCLES.get(gvk)


def removed_resources() -> Iterator[tuple[str, str, int]]:
    """Yield group, plural and release of each resource without a remaining served version."""
    for gvk, end in LIFECYCLES.items():
        if not end.replacement and end.removed <= LATEST and gvk.group != "extensions":
            yield gvk.group, names.plural_of_kind(gvk.kind), end.removed
