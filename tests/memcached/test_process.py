"""The whole process against a small API server: flags, election, probes, metrics, signals."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import aiohttp
from memcached_operator import __main__ as process
from memcached_operator.api.v1alpha1.memcached import Memcached
from memcached_operator.decisions import DEPLOYMENT, POD, SERVICE

from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.testing.apiserver import ApiServer
from olmkit.testing.registry import free_port

STATUS = frozenset({"status"})
RESOURCES = [
    Resource(gvk=Memcached.gvk, plural="memcacheds", subresources=STATUS),
    Resource(gvk=DEPLOYMENT, plural="deployments", subresources=STATUS),
    Resource(gvk=SERVICE, plural="services"),
    Resource(gvk=POD, plural="pods", subresources=STATUS),
    Resource(gvk=GVK(group="events.k8s.io", version="v1", kind="Event"), plural="events"),
    Resource(gvk=GVK(group="coordination.k8s.io", version="v1", kind="Lease"), plural="leases"),
]


def test_process_leads_works_answers_and_gives_the_lease_back(tmp_path: Path) -> None:
    health, metrics = free_port(), free_port()
    config = tmp_path / "kubeconfig"
    given = process.arguments(
        [
            f"--kubeconfig={config}",
            f"--health-probe-bind-address=127.0.0.1:{health}",
            f"--metrics-bind-address=127.0.0.1:{metrics}",
            "--metrics-secure=false",
            "--leader-elect",
            "--leader-election-namespace=default",
        ]
    )

    async def work() -> None:
        async with asyncio.timeout(30), ApiServer.of(RESOURCES).serving() as server:
            config.write_text(
                "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], "
                f"clusters: [{{name: k, cluster: {{server: '{server.url}'}}}}], "
                "users: [{name: u, user: {}}]}"
            )
            server.put("memcacheds", {"metadata": {"name": "m"}, "spec": {}})
            running = asyncio.create_task(process.run(given, {"MEMCACHED_IMAGE": "m:1"}))
            while server.get("services", "m") is None:
                assert not running.done()
                await asyncio.sleep(0.02)
            lease = server.get("leases", process.LOCK)
            assert lease is not None
            assert lease["spec"]["holderIdentity"]
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{health}/readyz?verbose") as answer:
                    assert await answer.text() == "[+]manager ok\n[+]ping ok\nreadyz check passed\n"
                async with session.get(f"http://127.0.0.1:{metrics}/metrics") as answer:
                    text = await answer.text()
            assert 'leader_election_master_status{name="86f835c3.example.com"} 1\n' in text
            assert 'controller_runtime_max_concurrent_reconciles{controller="memcached"} 2' in text
            os.kill(os.getpid(), signal.SIGTERM)
            await running
            lease = server.get("leases", process.LOCK)
            assert lease is not None
            assert lease["spec"]["holderIdentity"] == ""

    asyncio.run(work())
