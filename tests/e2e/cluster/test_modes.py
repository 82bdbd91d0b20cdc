"""Each install mode: the operator reconciles exactly the namespaces of the mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

PACKAGE = "memcached-operator"


def cache(namespace: str, name: str) -> str:
    return f"""apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{size: 1, containerPort: 11211}}
---
"""


@pytest.mark.parametrize(
    ("mode", "watched"),
    [
        ("AllNamespaces", "home a b"),
        ("OwnNamespace", "home"),
        ("SingleNamespace=a", "a"),
        ("MultiNamespace=a,b", "a b"),
    ],
)
def test_the_operator_watches_the_namespaces_of_its_mode(
    cluster: Any,
    run_olmkit: Any,
    release: Any,
    namespace: str,
    eventually: Callable[..., Any],
    mode: str,
    watched: str,
) -> None:
    places = {"home": namespace, "a": f"{namespace}-a", "b": f"{namespace}-b"}
    for word in ("a", "b"):
        cluster.kubectl("create", "namespace", places[word])
    type_, _, named = mode.partition("=")
    names = ",".join(places[word] for word in named.split(",") if word)
    words = f"{type_}={names}" if names else type_
    done = run_olmkit.try_("install", "--bundle", release.folders["0.0.1"], "-n", namespace,
                       "--mode", words)  # fmt: skip
    try:
        assert "watching" in done.err

        everywhere = [cache(place, "first") for place in places.values()]
        cluster.kubectl("apply", "-f", "-", text="".join(everywhere))
        wanted = {places[word] for word in watched.split()}
        eventually(
            lambda: reconciled_namespaces(cluster, "first", places) >= wanted, what=f"{wanted}"
        )
        # Later objects are reconciled later: by then, the others would have been reconciled.
        later = [cache(place, "later") for place in wanted]
        cluster.kubectl("apply", "-f", "-", text="".join(later))
        eventually(
            lambda: reconciled_namespaces(cluster, "later", places) == wanted, what=f"{wanted}"
        )
        assert reconciled_namespaces(cluster, "first", places) == wanted
    finally:
        run_olmkit(
            "uninstall", PACKAGE, "-n", namespace, "--delete-crds", "--delete-operands", "--yes"
        )
        for word in ("a", "b"):
            cluster.kubectl("delete", "namespace", places[word], "--wait=false")


def test_a_mode_that_the_bundle_lacks_is_refused_before_a_write(
    cluster: Any, run_olmkit: Any, release: Any, namespace: str
) -> None:
    done = run_olmkit.try_("install", "--bundle", release.folders["0.0.2"], "-n", namespace,
                       "--mode", "OwnNamespace", code=1)  # fmt: skip

    assert "does not support the install mode `OwnNamespace`" in done.err
    assert cluster.get("namespace", namespace) is None


def reconciled_namespaces(cluster: Any, name: str, places: dict[str, str]) -> set[str]:
    """Return the namespaces in which the operator has created the objects of a Memcached."""
    return {place for place in places.values() if cluster.get("deployment", name, "-n", place)}
