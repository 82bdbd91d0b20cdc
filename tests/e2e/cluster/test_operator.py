"""What the shipped operator reports to OLM, and its webhooks with OLM's certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

PACKAGE = "memcached-operator"
UNINSTALL = ("--delete-operands", "--delete-crds", "--yes")


def csv(version: str) -> str:
    return f"{PACKAGE}.v{version}"


def memcached(name: str, namespace: str, version: str = "v1alpha1", **spec: int) -> str:
    fields = ", ".join(f"{key}: {value}" for key, value in spec.items())
    return f"""apiVersion: cache.example.com/{version}
kind: Memcached
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{{fields}}}
"""


def test_the_operator_reports_that_it_is_upgradeable_and_its_webhooks_answer(
    cluster: Any, run_olmkit: Any, release: Any, namespace: str, eventually: Callable[..., Any]
) -> None:
    run_olmkit("install", "--bundle", release.bundles["0.0.2"], "-n", namespace)

    def told() -> str | None:
        name = csv("0.0.2")
        found = cluster.get("operatorconditions.operators.coreos.com", name, "-n", namespace)
        listed = (found.get("spec") or {}).get("conditions") or []
        return next((one["status"] for one in listed if one["type"] == "Upgradeable"), None)

    eventually(lambda: told() == "True", what="OLM knows that the operator may be replaced")

    warned = cluster.apply(memcached("old", namespace, size=1))
    assert "Warning: spec.size is 1" in warned
    assert "Warning" not in cluster.apply(
        memcached("new", namespace, "v1beta1", replicas=2, port=11222)
    )
    stored = cluster.get("memcacheds.v1alpha1.cache.example.com", "new", "-n", namespace)
    assert stored["spec"] == {"size": 2, "containerPort": 11222}
    # kubectl requests the newest version, which needs a conversion.
    newest = cluster.get("memcached", "old", "-n", namespace)
    assert newest["apiVersion"] == "cache.example.com/v1beta1"
    assert newest["spec"] == {"replicas": 1, "port": 11211}

    def pods() -> int:
        found = cluster.get("memcached", "new", "-n", namespace)
        return len((found.get("status") or {}).get("pods") or [])

    eventually(lambda: pods() == 2, what="both pods are reported")
    cluster.kubectl("scale", "memcached", "new", "--replicas=3", "-n", namespace)
    eventually(lambda: pods() == 3, what="the third pod is reported")
    for text in (memcached("w", namespace, size=6), memcached("w", namespace, "v1beta1", port=0)):
        assert "is invalid" in cluster.refused("apply", "-f", "-", text=text)

    # Another process, with the same certificate: stored objects are converted again. A list can
    # come from the API server's cache; a write needs the webhooks.
    cluster.kubectl("delete", "pod", "-l", "control-plane=controller-manager", "-n", namespace)

    def written() -> bool:
        words = ("annotate", "memcached", "new", "seen=again", "--overwrite", "-n", namespace)
        return "annotated" in cluster.kubectl(*words, check=False)

    eventually(written, seconds=600, what="the operator's next process converts")
    run_olmkit("uninstall", PACKAGE, "-n", namespace, *UNINSTALL)
