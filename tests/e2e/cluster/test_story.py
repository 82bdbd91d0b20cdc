"""The whole life of the shipped operator on a real cluster, with its output (`pytest -s`).

Images and catalogs are created by olmkit and are in the cluster's registry; the operator is
installed, serves a cache to a real client, is upgraded and removed completely.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from olmkit.testing import rbac
from olmkit.testing.rbac import Rule

pytestmark = pytest.mark.e2e

PACKAGE = "memcached-operator"
# With its version: kubectl remembers for minutes which kinds existed.
CACHES = "memcacheds.v1alpha1.cache.example.com"


# Permissions that are not used here, each with its reason.
BEYOND = {
    # OpenShift requires it to set `blockOwnerDeletion`; no request uses it.
    "update memcacheds/finalizers.cache.example.com",
    # A scaffold grants reading its whole kind; the operator reads it through lists and watches.
    "get memcacheds.cache.example.com",
    # The operator applies its children, which the server can count as a creation.
    "create deployments.apps",
    "create services",
    # The older API of events.
    "create events",
    "patch events",
    # Reading all leases, and the locks of older leader election.
    *(f"{verb} leases.coordination.k8s.io" for verb in ("list", "watch", "patch", "delete")),
    *(f"{verb} configmaps"
      for verb in ("get", "list", "watch", "create", "update", "patch", "delete")),
    # For readers of its metrics; there are none here.
    "create tokenreviews.authentication.k8s.io",
    "create subjectaccessreviews.authorization.k8s.io",
    # What OLM adds itself: for all namespaces, and for the OperatorCondition.
    *(f"{verb} namespaces" for verb in ("get", "list", "watch")),
    "update operatorconditions.operators.coreos.com",
}  # fmt: skip
# Used when one event is repeated within minutes, which depends on the machine.
SOMETIMES = {"patch events.events.k8s.io"}


def csv(version: str) -> str:
    return f"{PACKAGE}.v{version}"


def sample(namespace: str, name: str = "cache", size: int = 2) -> str:
    return f"""apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{size: {size}, containerPort: 11211}}
"""


def answers(address: str, port: int = 11211) -> bool:
    """Return whether a memcached stores values."""
    try:
        with socket.create_connection((address, port), timeout=5) as connection:
            with closing(connection.makefile("rb")) as lines:
                connection.sendall(b"set story 0 60 5\r\nhello\r\n")
                assert lines.readline() == b"STORED\r\n"
                connection.sendall(b"get story\r\n")
                return (
                    lines.readline() == b"VALUE story 0 5\r\n" and lines.readline() == b"hello\r\n"
                )
    except OSError:
        return False


@contextmanager
def served(run_olmkit: Any, cluster: Any, words: list[str], port: int) -> Iterator[str]:
    """A server of a catalog on this machine, at an address that the cluster can reach."""
    process = run_olmkit.start(*words)
    try:
        end = 300
        while not _listens(cluster.outside, port):
            end -= 1
            assert end, "the catalog is not served"
            assert process.poll() is None, process.stdout.read()
            time.sleep(0.1)
        yield f"{cluster.outside}:{port}"
    finally:
        process.terminate()
        process.communicate(timeout=120)


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def granted(cluster: Any, namespace: str, version: str) -> list[Rule]:
    """Return the permissions that OLM has granted to the operator, by the roles of the CSV."""
    label = f"olm.owner={csv(version)},olm.owner.namespace={namespace}"
    found = cluster.list("clusterrole,clusterrolebinding,role,rolebinding", "-n", namespace,
                         "-l", label)  # fmt: skip
    # OLM gives it a separate role for its OperatorCondition.
    found.append(cluster.get("role", csv(version), "-n", namespace))
    return rbac.rules(found)


@pytest.mark.parametrize("round_", [1, 2])
def test_an_operator_is_built_installed_used_upgraded_and_removed(
    cluster: Any,
    run_olmkit: Any,
    catalog_of: Callable[..., Path],
    namespace: str,
    eventually: Callable[..., Any],
    emptied: Callable[[str], None],
    round_: int,
) -> None:
    tag = f"{cluster.registry}/catalog:round{round_}"
    run_olmkit.tell("A catalog of the first version, as an image of files alone")
    run_olmkit("catalog", "build", catalog_of("0.0.1"), "-t", tag, "--push")

    run_olmkit.tell("Installed through Subscription, InstallPlan and unpack Job")
    done = run_olmkit.try_("install", PACKAGE, "--catalog", tag, "-n", namespace, "--poll", "20s")
    assert "permissions in the whole cluster" in done.err
    assert f"`{csv('0.0.1')}` is installed and healthy" in done.out
    installed = cluster.get("csv", csv("0.0.1"), "-n", namespace)
    assert installed["status"]["phase"] == "Succeeded"

    run_olmkit.tell("A cache of two pods, which answers a client of memcached")
    cluster.apply(sample(namespace))
    eventually(lambda: _ready(cluster, namespace) == 2, what="two pods are ready")
    address = cluster.get("service", "cache", "-n", namespace)["spec"]["clusterIP"]
    eventually(lambda: answers(address), what="the cache answers")
    shown = cluster.kubectl("get", CACHES, "-n", namespace)
    run_olmkit.tell(shown)
    assert "True" in shown

    roles = granted(cluster, namespace, "0.0.1")

    run_olmkit.tell("A new catalog under the same tag: OLM continues by itself")
    run_olmkit("catalog", "build", catalog_of("0.0.1", "0.0.2"), "-t", tag, "--push")
    eventually(
        lambda: (
            _phase(cluster, csv("0.0.2"), namespace) == "Succeeded"
            and _phase(cluster, csv("0.0.1"), namespace) is None
        ),
        seconds=240,
        what="0.0.2 has replaced 0.0.1",
    )
    done = run_olmkit.try_("upgrade", PACKAGE, "-n", namespace)
    assert "no newer version is offered" in done.err
    run_olmkit("status", PACKAGE, "-n", namespace, "--exit-code")
    assert answers(address), "the cache has always answered"

    run_olmkit.tell("Webhooks and conversion, with the certificates that OLM makes")
    converted = cluster.get("memcacheds.v1beta1.cache.example.com", "cache", "-n", namespace)
    assert converted["spec"]["replicas"] == 2
    refused = cluster.refused("apply", "-f", "-", text=sample(namespace, size=4_000))
    assert "4000" in refused or "denied" in refused or "Invalid" in refused

    run_olmkit.tell("Its roles are enough and no more, by the server's own record")
    account = f"system:serviceaccount:{namespace}:{PACKAGE}-controller-manager"
    uses = rbac.from_audit_log(cluster.folder / "audit.log", user=account)
    assert uses
    report = rbac.compare(uses, [*roles, *granted(cluster, namespace, "0.0.2")])
    assert not report.missing, report.words()
    unused = {str(rule).partition(" in namespace")[0].partition(" (")[0] for rule in report.unused}
    run_olmkit.tell("Granted and not used: " + ", ".join(sorted(unused)))
    assert unused - SOMETIMES == BEYOND

    run_olmkit.tell("Uninstalled: nothing is left")
    run_olmkit("uninstall", PACKAGE, "-n", namespace, "--delete-operands", "--delete-crds", "--yes")
    emptied(namespace)


def test_upgrades_wait_for_approval_on_request(
    cluster: Any,
    run_olmkit: Any,
    catalog_of: Callable[..., Path],
    namespace: str,
    eventually: Callable[..., Any],
) -> None:
    folder = catalog_of("0.0.1", "0.0.2")
    port = 15100
    serve = ["catalog", "serve", str(folder), "--host", cluster.outside, "--port", str(port)]
    with served(run_olmkit, cluster, serve, port) as address:
        run_olmkit("install", PACKAGE, "--catalog-address", address, "--channel", "alpha",
               "--version", "0.0.1", "-n", namespace)  # fmt: skip
        eventually(
            lambda: (
                run_olmkit.try_("status", PACKAGE, "-n", namespace, "-o", "json").json["result"][
                    "operators"
                ][0]["cause"]
                == "upgrade-needs-approval"
            ),
            what="the next version waits",
        )
        assert _phase(cluster, csv("0.0.2"), namespace) is None
        done = run_olmkit.try_("upgrade", PACKAGE, "--to", "0.0.2", "-n", namespace, "-o", "json")
        assert done.json["result"]["hops"] == [csv("0.0.2")]
        assert _phase(cluster, csv("0.0.1"), namespace) is None
        run_olmkit("uninstall", PACKAGE, "-n", namespace, "--delete-crds", "--yes")


def test_a_bundle_is_installed_and_upgraded_without_a_catalog(
    cluster: Any, run_olmkit: Any, release: Any, namespace: str
) -> None:
    run_olmkit("install", "--bundle", release.folders["0.0.1"], "-n", namespace)
    assert _phase(cluster, csv("0.0.1"), namespace) == "Succeeded"
    done = run_olmkit.try_("upgrade", "--bundle", release.bundles["0.0.2"], "-n", namespace,
                       "-o", "json")  # fmt: skip
    assert done.json["result"]["hops"] == [csv("0.0.2")]
    assert _phase(cluster, csv("0.0.2"), namespace) == "Succeeded"
    run_olmkit("uninstall", PACKAGE, "-n", namespace, "--delete-crds", "--yes")


def _ready(cluster: Any, namespace: str) -> int:
    found = cluster.get(CACHES, "cache", "-n", namespace)
    return int((found.get("status") or {}).get("readyReplicas") or 0)


def _phase(cluster: Any, name: str, namespace: str) -> str | None:
    found = cluster.get("csv", name, "-n", namespace)
    return None if found is None else str(found.get("status", {}).get("phase"))
