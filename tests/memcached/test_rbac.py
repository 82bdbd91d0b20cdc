"""The roles of the shipped operator: sufficient, and their unused permissions.

The whole process runs with a server that refuses what the roles do not grant,
through the life of a Memcached: created, scaled, read, drifted, removed.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
from memcached_operator.__main__ import operator
from memcached_operator.api.v1alpha1.memcached import Memcached

from olmkit.runtime import Resource, parse_flags, run
from olmkit.testing import BUILT_IN, ApiServer, Report, free_port, rbac

ROLES = Path(__file__).parent.parent.parent / "operator/config/rbac"
FILES = [ROLES / f"{name}.yaml" for name in ("role", "leader_election_role", "metrics_auth_role")]
RESOURCES = [
    Resource(gvk=Memcached.gvk, plural="memcacheds", subresources=frozenset({"status"})),
    *BUILT_IN,
]

# Permissions that are not used here, each with its reason.
BEYOND = {
    # OpenShift requires it to set `blockOwnerDeletion`; no request uses it.
    "update memcacheds/finalizers.cache.example.com",
    # Only if the watch is late, or the cluster was restored from a backup.
    "get memcacheds.cache.example.com",
    # The double only checks a server-side apply as a patch.
    "create deployments.apps",
    "create services",
    # The older API of events, which leader election uses.
    "create events",
    "patch events",
    # Reading all leases, and the locks of older leader election.
    "list leases.coordination.k8s.io",
    "watch leases.coordination.k8s.io",
    "patch leases.coordination.k8s.io",
    "delete leases.coordination.k8s.io",
    *(
        f"{verb} configmaps"
        for verb in ("get", "list", "watch", "create", "update", "patch", "delete")
    ),
}


def live(tmp_path: Path) -> Report:
    """Run everything once, and compare it with the roles."""
    granted = rbac.read(FILES, namespace="default")
    server = ApiServer.of(RESOURCES)
    server.denies = rbac.forbids(granted)
    metrics = free_port()
    config = tmp_path / "kubeconfig"
    given = parse_flags(
        operator(),
        [
            f"--kubeconfig={config}",
            "--health-probe-bind-address=0",
            f"--metrics-bind-address=127.0.0.1:{metrics}",
            "--leader-elect",
            "--leader-election-namespace=default",
            "--leader-elect-lease-duration=2",
            "--leader-elect-renew-deadline=1",
            "--leader-elect-retry-period=0.2",
        ],
    )

    async def until(holds: Callable[[], Any]) -> Any:
        while not (found := holds()):  # noqa: ASYNC110 - nothing signals the change
            await asyncio.sleep(0.02)
        return found

    def change(plural: str, alter: Callable[[Any], None]) -> None:
        found = server.get(plural, "m")
        assert found is not None
        alter(found)
        server.put(plural, found)

    def did(verb: str, resource: str) -> bool:
        return any((one.verb, one.resource) == (verb, resource) for one in server.accesses)

    def replicas() -> Any:
        return ((server.get("deployments", "m") or {}).get("spec") or {}).get("replicas")

    async def scrape() -> int:
        context = ssl._create_unverified_context()  # noqa: S323, SLF001 - its own certificate
        headers = {"Authorization": "Bearer double"}
        url = f"https://127.0.0.1:{metrics}/metrics"
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(url, ssl=context) as answer,
        ):
            return answer.status

    async def scenario() -> None:
        async with asyncio.timeout(60), server.serving():
            config.write_text(
                "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], "
                f"clusters: [{{name: k, cluster: {{server: '{server.url}'}}}}], "
                "users: [{name: u, user: {}}]}"
            )
            server.put("memcacheds", {"metadata": {"name": "m"}, "spec": {"size": 1}})
            environment = {"MEMCACHED_IMAGE": "m:1"}
            running = asyncio.create_task(run(operator(), given, environment))
            stopped = asyncio.ensure_future(asyncio.wait([running]))
            await until(lambda: server.get("services", "m") or stopped.done())
            change("memcacheds", lambda one: one["spec"].update(size=3))
            await until(lambda: replicas() == 3)
            change("deployments", lambda one: one["spec"].update(replicas=1))
            await until(lambda: replicas() == 3)
            assert await scrape() == 200
            await until(lambda: did("update", "leases") and did("patch", "events"))
            async with aiohttp.ClientSession() as session:
                path = "/apis/cache.example.com/v1alpha1/namespaces/default/memcacheds/m"
                server.denies, denies = lambda _: False, server.denies
                kept = list(server.accesses)
                async with session.delete(server.url + path) as answer:
                    assert answer.status == 200
                server.accesses[:] = kept  # requests of the test are not the operator's
                server.denies = denies
            await until(lambda: server.get("memcacheds", "m") is None)
            running.cancel()
            await asyncio.wait([running])

    asyncio.run(scenario())
    return rbac.compare(server.accesses, granted)


def test_roles_are_sufficient_and_their_unused_permissions_are_known(tmp_path: Path) -> None:
    report = live(tmp_path)
    assert not report.missing, report.words()
    beyond = {str(rule).partition(" in namespace")[0].partition(" (")[0] for rule in report.unused}
    assert beyond == BEYOND
