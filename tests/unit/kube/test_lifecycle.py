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


def test_a_served_version_has_none() -> None:
    assert lifecycle.find(GVK.parse("apps/v1", "Deployment")) is None


def test_a_replacement_is_not_removed_earlier() -> None:
    for gvk, end in lifecycle.LIFECYCLES.items():
        later = lifecycle.find(GVK.parse(end.replacement, gvk.kind))
        assert later is None or later.removed > end.removed, gvk


def test_pod_security_policies_have_no_replacement() -> None:
    assert list(lifecycle.removed_resources()) == [("policy", "podsecuritypolicies", 25)]
