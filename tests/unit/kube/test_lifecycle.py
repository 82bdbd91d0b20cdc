"""When API versions of Kubernetes are removed."""

from __future__ import annotations

import pytest

from olmkit.kube import lifecycle
from olmkit.kube.objects import GVK


@pytest.mark.parametrize(
    ("api_version", "kind", "removed"),
    [
        ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 22),
        ("policy/v1beta1", "PodDisruptionBudget", 25),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler", 26),
        ("storage.k8s.io/v1beta1", "CSIStorageCapacity", 27),
        ("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema", 29),
        ("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", 32),
        ("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy", 34),
        ("storage.k8s.io/v1alpha1", "VolumeAttributesClass", 35),
    ],
)
def test_an_api_version_has_its_removal(api_version: str, kind: str, removed: int) -> None:
    end = lifecycle.find(GVK.parse(api_version, kind))

    assert end is not None
    assert end.removed == removed
    assert end.deprecated < removed


@pytest.mark.parametrize(
    ("api_version", "kind", "deprecated", "removed"),
    [
        ("apps/v1beta2", "DaemonSet", 9, 16),
        ("coordination.k8s.io/v1beta1", "Lease", 19, 22),
        ("extensions/v1beta1", "Ingress", 14, 22),
        ("networking.k8s.io/v1beta1", "Ingress", 19, 22),
        ("rbac.authorization.k8s.io/v1alpha1", "ClusterRole", 17, 22),
        ("rbac.authorization.k8s.io/v1beta1", "RoleBinding", 17, 22),
        ("scheduling.k8s.io/v1alpha1", "PriorityClass", 14, 17),
        ("scheduling.k8s.io/v1beta1", "PriorityClass", 14, 22),
        ("storage.k8s.io/v1alpha1", "CSIStorageCapacity", 21, 24),
        ("batch/v1beta1", "CronJob", 21, 25),
    ],
)
def test_an_api_version_has_its_deprecation(
    api_version: str, kind: str, deprecated: int, removed: int
) -> None:
    end = lifecycle.find(GVK.parse(api_version, kind))

    assert end is not None
    assert (end.deprecated, end.removed) == (deprecated, removed)


def test_a_served_version_has_none() -> None:
    assert lifecycle.find(GVK.parse("apps/v1", "Deployment")) is None


def test_a_replacement_is_not_removed_earlier() -> None:
    for gvk, end in lifecycle.LIFECYCLES.items():
        later = lifecycle.find(GVK.parse(end.replacement, gvk.kind))
        assert later is None or later.removed > end.removed, gvk


def test_pod_security_policies_have_no_replacement() -> None:
    assert list(lifecycle.removed_resources()) == [("policy", "podsecuritypolicies", 25)]
