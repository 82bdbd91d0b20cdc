"""The operator without OLM: deployed, run, diagnosed, and removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

PLACE = "memcached-operator-system"
CACHE = """apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: plain, namespace: default}
spec: {size: 1, containerPort: 11211}
"""


def test_the_operator_is_deployed_changed_and_removed(
    cluster: Any, run_olmkit: Any, release: Any, eventually: Callable[..., Any]
) -> None:
    project = ["-C", release.project]
    image = f"{release.image}:v0.0.1"
    shown = run_olmkit("deploy", *project, "--image", image, "--dry-run")
    assert f"would create Namespace {PLACE}" in shown
    assert cluster.get("namespace", PLACE) is None

    run_olmkit("deploy", *project, "--image", image)
    cluster.kubectl("apply", "-f", "-", text=CACHE)
    eventually(
        lambda: (
            (cluster.get("memcacheds.v1alpha1.cache.example.com", "plain").get("status") or {}).get(
                "readyReplicas"
            )
            == 1
        ),
        what="the operator has made a cache",
    )
    shown = run_olmkit("deploy", *project, "--image", image, "--dry-run")
    assert f"would leave Deployment {PLACE}/memcached-operator-controller-manager" in shown

    done = run_olmkit.try_("deploy", *project, "--image", f"{cluster.registry}/nowhere:2",
                       "--timeout", "20s", code=3)  # fmt: skip
    assert "nowhere:2` cannot be pulled: not found" in done.out.splitlines()[0]

    refused = run_olmkit.try_("undeploy", *project, "--yes", code=1)
    assert "`--delete-operands`" in refused.err
    assert (
        "requires confirmation" in run_olmkit.try_("undeploy", *project, "--keep-crds", code=2).err
    )
    shown = run_olmkit("undeploy", *project, "--delete-operands", "--dry-run")
    assert shown.splitlines()[0] == "Memcached default/plain"
    assert f"Namespace {PLACE}" in shown
    assert cluster.get("namespace", PLACE) is not None
    run_olmkit("deploy", *project, "--image", image)
    run_olmkit("undeploy", *project, "--yes", "--delete-operands")
    assert cluster.get("namespace", PLACE) is None
    assert cluster.get("crd", "memcacheds.cache.example.com") is None
    assert "/memcached-" not in cluster.kubectl(
        "get", "clusterrole,clusterrolebinding", "-o", "name"
    )
