"""Validation rules of CRDs: the result of olmkit is that of a real API server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.kube.api import ClusterError
from olmkit.testing.control_plane import ControlPlane
from tests.unit.kube.crds.test_cel_types import RULES, SCHEMA

pytestmark = pytest.mark.e2e


def _crd(number: int, rule: str) -> dict[str, Any]:
    spec = {**SCHEMA, "x-kubernetes-validations": [{"rule": rule, "message": "no"}]}
    names = {"kind": f"Kettle{number}", "plural": f"kettle{number}s", "singular": f"kettle{number}"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"kettle{number}s.cel.example.com"},
        "spec": {
            "group": "cel.example.com",
            "scope": "Namespaced",
            "names": {**names, "listKind": f"Kettle{number}List"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                }
            ],
        },
    }


def test_every_rule_is_accepted_or_refused_as_olmkit_reports(apiserver: ControlPlane) -> None:
    async def verdicts() -> dict[str, str]:
        found: dict[str, str] = {}
        async with HttpCluster(kubeconfig.load(paths=[apiserver.kubeconfig])) as cluster:
            crds = await cluster.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
            for number, rule in enumerate(RULES):
                try:
                    await cluster.create(crds, _crd(number, rule))
                except ClusterError as error:
                    found[rule] = error.message
        return found

    refused = asyncio.run(verdicts())

    different = [rule for rule, is_right in RULES.items() if (rule not in refused) is not is_right]
    assert different == [], [refused.get(rule) for rule in different]
