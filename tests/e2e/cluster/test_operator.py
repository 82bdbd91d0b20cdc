"""What OLM tells the shipped operator, what the operator tells OLM, and its webhooks, for real."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
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


@pytest.fixture
def others(cluster: Any, namespace: str) -> Iterator[tuple[str, str]]:
    """Two namespaces beside the operator's."""
    names = (f"{namespace}-a", f"{namespace}-b")
    for name in names:
        cluster.kubectl("create", "namespace", name)
    yield names
    for name in names:
        cluster.kubectl("delete", "namespace", name, "--wait=false")


@pytest.mark.parametrize(
    ("mode", "watched"),
    [
        ("OwnNamespace", (True, False, False)),
        ("SingleNamespace={0}", (False, True, False)),
        ("MultiNamespace={0},{1}", (False, True, True)),
        ("AllNamespaces", (True, True, True)),
    ],
)
def test_operator_works_in_the_namespaces_that_its_install_mode_names(
    cluster: Any,
    typist: Any,
    release: Any,
    namespace: str,
    others: tuple[str, str],
    eventually: Callable[..., Any],
    mode: str,
    watched: tuple[bool, bool, bool],
) -> None:
    typist("install", "--bundle", release.folders["0.0.1"], "-n", namespace,
           "--mode", mode.format(*others))  # fmt: skip
    places = (namespace, *others)
    for place in places:
        cluster.kubectl("apply", "-f", "-", text=memcached("cache", place, size=1))

    def made() -> tuple[bool, ...]:
        return tuple(
            cluster.get("deployment", "cache", "-n", place) is not None for place in places
        )

    eventually(lambda: made() == watched, what=f"Deployments as {watched}")

    def told() -> str | None:
        found = cluster.get(
            "operatorconditions.operators.coreos.com", csv("0.0.1"), "-n", namespace
        )
        listed = (found.get("spec") or {}).get("conditions") or []
        return next((one["status"] for one in listed if one["type"] == "Upgradeable"), None)

    eventually(lambda: told() == "True", what="OLM knows that the operator may be replaced")
    # Nobody takes the finalizers of objects away that are not watched: it never set any.
    for place in places:
        cluster.kubectl("delete", "memcached", "cache", "-n", place, "--timeout=60s")
    typist("uninstall", PACKAGE, "-n", namespace, *UNINSTALL)


def test_webhooks_answer_behind_the_certificate_that_olm_made(
    cluster: Any, typist: Any, release: Any, namespace: str, eventually: Callable[..., Any]
) -> None:
    typist("install", "--bundle", release.bundles["0.0.2"], "-n", namespace)

    def apply(text: str) -> str:
        done = subprocess.run(
            [*cluster.words, "apply", "-f", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stderr

    warned = apply(memcached("old", namespace, size=1))
    assert "Warning: spec.size is 1" in warned
    assert "Warning" not in apply(memcached("new", namespace, "v1beta1", replicas=2, port=11222))
    stored = cluster.get("memcacheds.v1alpha1.cache.example.com", "new", "-n", namespace)
    assert stored["spec"] == {"size": 2, "containerPort": 11222}
    # kubectl asks for the newest version, and so for a conversion.
    newest = cluster.get("memcached", "old", "-n", namespace)
    assert newest["apiVersion"] == "cache.example.com/v1beta1"
    assert newest["spec"] == {"replicas": 1, "port": 11211}

    def pods() -> int:
        found = cluster.get("memcached", "new", "-n", namespace)
        return len((found.get("status") or {}).get("pods") or [])

    eventually(lambda: pods() == 2, what="both pods are told of")
    cluster.kubectl("scale", "memcached", "new", "--replicas=3", "-n", namespace)
    eventually(lambda: pods() == 3, what="the third pod is told of")
    for text in (memcached("w", namespace, size=6), memcached("w", namespace, "v1beta1", port=0)):
        assert "is invalid" in cluster.refused("apply", "-f", "-", text=text)

    # Another process, with the same certificate: what is stored is converted again.
    cluster.kubectl("delete", "pod", "-l", "control-plane=controller-manager", "-n", namespace)
    eventually(
        lambda: "new" in cluster.kubectl("get", "memcacheds", "-n", namespace, check=False),
        what="the operator's next process converts",
    )
    typist("uninstall", PACKAGE, "-n", namespace, *UNINSTALL)
