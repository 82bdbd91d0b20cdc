"""Why a cluster does not serve an API; the fix depends on the owner of the API."""

from __future__ import annotations

import pytest

from olmkit.kube.objects import GVK
from olmkit.olm import missing_apis


@pytest.mark.parametrize(
    ("api_version", "kind", "cause", "why", "hint"),
    [
        ("policy/v1beta1", "PodDisruptionBudget", "removed-api", "Kubernetes 1.25 removed",
         "uses `policy/v1` instead"),
        ("policy/v1beta1", "PodSecurityPolicy", "removed-api", "Kubernetes 1.25 removed",
         "has no successor of `PodSecurityPolicy`"),
        ("extensions/v1beta1", "Ingress", "removed-api", "Kubernetes 1.22 removed",
         "uses `networking.k8s.io/v1` instead"),
        ("resource.k8s.io/v9", "ResourceClaim", "missing-api", "does not serve",
         "upgrade the cluster"),
        ("batch/v9", "Job", "missing-api", "does not serve", "upgrade the cluster"),
        ("monitoring.coreos.com/v1", "ServiceMonitor", "missing-api", "does not serve",
         "install the operator that provides the CustomResourceDefinition of `ServiceMonitor`"),
        ("gateway.networking.k8s.io/v1", "Gateway", "missing-api", "does not serve",
         "install the operator that provides the CustomResourceDefinition of `Gateway`"),
        ("snapshot.storage.k8s.io/v1", "VolumeSnapshot", "missing-api", "does not serve",
         "install the operator that provides the CustomResourceDefinition of `VolumeSnapshot`"),
    ],
)  # fmt: skip
def test_the_fix_depends_on_the_owner_of_the_api(
    api_version: str, kind: str, cause: str, why: str, hint: str
) -> None:
    found = missing_apis.explain(GVK.parse(api_version, kind))

    assert found.cause == cause
    assert why in found.why
    assert hint in found.hint
    assert found.is_final == (cause == "removed-api")
