"""The whole process with a small API server: flags, election, probes, metrics, signals."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
from pathlib import Path

import aiohttp
import pytest
from memcached_operator.__main__ import operator
from memcached_operator.api.v1alpha1.memcached import Memcached

from olmkit.runtime import LeadershipLost, Resource, parse_flags, run, self_signed
from olmkit.testing import BUILT_IN, ApiServer, Fault, free_port

ENVIRONMENT = {"MEMCACHED_IMAGE": "m:1"}
RESOURCES = [
    Resource(gvk=Memcached.gvk, plural="memcacheds", subresources=frozenset({"status"})),
    *BUILT_IN,
]


def test_the_process_leads_works_answers_and_releases_the_lease(tmp_path: Path) -> None:
    health, metrics = free_port(), free_port()
    config = tmp_path / "kubeconfig"
    flags = parse_flags(
        operator(),
        [
            f"--kubeconfig={config}",
            f"--health-probe-bind-address=127.0.0.1:{health}",
            f"--metrics-bind-address=127.0.0.1:{metrics}",
            "--metrics-secure=false",
            "--leader-elect",
            "--leader-election-namespace=default",
        ],
    )

    async def work() -> None:
        async with asyncio.timeout(30), ApiServer.of(RESOURCES).serving() as server:
            _write_kubeconfig(config, server)
            server.put("memcacheds", {"metadata": {"name": "m"}, "spec": {}})
            running = asyncio.create_task(run(operator(), flags, ENVIRONMENT))
            while server.get("services", "m") is None:
                assert not running.done()
                await asyncio.sleep(0.02)
            lease = server.get("leases", operator().lock)
            assert lease is not None
            assert lease["spec"]["holderIdentity"]
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{health}/readyz?verbose") as answer:
                    assert await answer.text() == (
                        "[+]manager ok\n[+]ping ok\n[+]watches ok\nreadyz check passed\n"
                    )
                async with session.get(f"http://127.0.0.1:{metrics}/metrics") as answer:
                    text = await answer.text()
            assert 'leader_election_master_status{name="86f835c3.example.com"} 1.0\n' in text
            assert 'controller_runtime_max_concurrent_reconciles{controller="memcached"} 2' in text
            os.kill(os.getpid(), signal.SIGTERM)
            await running
            lease = server.get("leases", operator().lock)
            assert lease is not None
            assert lease["spec"]["holderIdentity"] == ""

    asyncio.run(work())


def test_a_process_that_loses_its_lease_ends_with_an_error_at_once(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    flags = parse_flags(
        operator(),
        [
            f"--kubeconfig={config}",
            "--health-probe-bind-address=0",
            "--leader-elect",
            "--leader-election-namespace=default",
            "--leader-elect-lease-duration=1",
            "--leader-elect-renew-deadline=0.6",
            "--leader-elect-retry-period=0.1",
        ],
    )

    async def work() -> None:
        async with asyncio.timeout(30), ApiServer.of(RESOURCES).serving() as server:
            _write_kubeconfig(config, server)
            running = asyncio.create_task(run(operator(), flags, ENVIRONMENT))
            while not (found := server.get("leases", operator().lock)):
                assert not running.done()
                await asyncio.sleep(0.02)
            stolen = found["spec"] | {"holderIdentity": "another", "leaseDurationSeconds": 60}
            server.put("leases", found | {"spec": stolen})
            with pytest.raises(LeadershipLost):
                await running
            # From now on, the other process does the work.
            server.put("memcacheds", {"metadata": {"name": "late"}, "spec": {}})
            await asyncio.sleep(0.2)
            assert server.get("deployments", "late") is None

    asyncio.run(work())


def test_the_process_serves_webhooks_and_is_ready_without_any_list(tmp_path: Path) -> None:
    """A list can need a conversion, and the API server only converts through ready pods."""
    health, port = free_port(), free_port()
    config = tmp_path / "kubeconfig"
    certificate, key = self_signed.make()
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    flags = parse_flags(
        operator(),
        [
            f"--kubeconfig={config}",
            f"--health-probe-bind-address=127.0.0.1:{health}",
            f"--webhook-bind-address=127.0.0.1:{port}",
            f"--webhook-cert-path={tmp_path}",
        ],
    )
    review = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {
            "uid": "u",
            "desiredAPIVersion": "cache.example.com/v1beta1",
            "objects": [
                {
                    "apiVersion": "cache.example.com/v1alpha1",
                    "kind": "Memcached",
                    "metadata": {"name": "m"},
                    "spec": {"size": 2},
                }
            ],
        },
    }

    async def work() -> None:
        server = ApiServer.of(RESOURCES)
        server.plan = lambda _, path: Fault.ERROR if "/memcacheds" in path else None
        async with asyncio.timeout(120), server.serving():
            _write_kubeconfig(config, server)
            running = asyncio.create_task(run(operator(), flags, {}))
            tls = ssl.create_default_context(cafile=str(tmp_path / "tls.crt"))
            async with aiohttp.ClientSession() as session:
                for page in ("readyz/webhook", "readyz"):
                    while not await _is_ready(session, f"http://127.0.0.1:{health}/{page}"):
                        assert not running.done()
                        await asyncio.sleep(0.02)
                url = f"https://localhost:{port}/convert"
                async with session.post(url, json=review, ssl=tls) as answer:
                    response = (await answer.json())["response"]
            assert response["convertedObjects"][0]["spec"] == {"replicas": 2}
            running.cancel()
            await asyncio.wait([running])

    asyncio.run(work())


async def _is_ready(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as answer:
            return answer.status == 200
    except aiohttp.ClientConnectionError:
        return False


def _write_kubeconfig(path: Path, server: ApiServer) -> None:
    path.write_text(
        "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], "
        f"clusters: [{{name: k, cluster: {{server: '{server.url}'}}}}], "
        "users: [{name: u, user: {}}]}"
    )
