"""The CRDs of an operator that do not work, from the answers of the API server."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import conversions
from olmkit.kube.api import ClusterError


def crd(name: str, **metadata: str) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name, **metadata},
        "spec": {"versions": [{"name": "v1", "served": True, "schema": {"large": True}}]},
        "status": {"conditions": [{"type": "Terminating", "status": "True", "message": "soon"}]},
    }


class Reader:
    """Has one CRD that is being deleted, one that stays, and one that cannot be read."""

    async def find(self, _: Any, name: str) -> dict[str, Any] | None:
        if name == "hidden.example.com":
            raise ClusterError("denied", code=500)
        if name == "goes.example.com":
            return crd(name, deletionTimestamp="2026-01-01T10:00:00Z")
        return crd(name) if name == "stays.example.com" else None


def test_crds_that_are_being_deleted_are_found_and_stored_without_schema() -> None:
    names = ("goes", "stays", "hidden", "gone")
    owned = [{"name": f"{name}.example.com"} for name in names]
    csv = {"spec": {"customresourcedefinitions": {"owned": owned}}}
    found = asyncio.run(conversions.ailing(cast(ClusterObjects, Reader()), [csv]))
    assert [one["metadata"]["name"] for one in found.ending] == ["goes.example.com"]
    assert found.unconverted == {}
    assert "spec" not in found.ending[0]
    assert found.ending[0]["status"]["conditions"][0]["message"] == "soon"
