"""The kinds that a double has without being told of each."""

from __future__ import annotations

from olmkit.testing import BUILT_IN
from olmkit.testing.apiserver.server import ApiServer


def test_kinds_are_where_kubernetes_keeps_them() -> None:
    assert set(ApiServer.of(BUILT_IN).collections) == {
        "/api/v1/configmaps",
        "/api/v1/secrets",
        "/api/v1/services",
        "/api/v1/pods",
        "/apis/apps/v1/deployments",
        "/apis/events.k8s.io/v1/events",
        "/apis/coordination.k8s.io/v1/leases",
    }
