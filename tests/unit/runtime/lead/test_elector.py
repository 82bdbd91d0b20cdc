"""The elector in its thread: what ends leadership, and how fast."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.lead.leader import ElectionSettings, ThreadedElector
from olmkit.testing.apiserver.server import ApiServer

RESOURCES = [
    Resource(gvk=GVK(group="coordination.k8s.io", version="v1", kind="Lease"), plural="leases"),
    Resource(gvk=GVK(group="events.k8s.io", version="v1", kind="Event"), plural="events"),
]


def _settings(**changed: Any) -> ElectionSettings:
    given: dict[str, Any] = {
        "name": "lock",
        "namespace": "n",
        "identity": "me",
        "lease_duration": 2.0,
        "renew_deadline": 1.0,
        "retry_period": 0.1,
    }
    return ElectionSettings(**given | changed)


def run_scenario(
    work: Callable[[ApiServer, ThreadedElector], Awaitable[None]],
    *,
    settings: ElectionSettings | None = None,
    **options: Any,
) -> ApiServer:
    """Run `work` with an elector that leads."""
    server = ApiServer.of(RESOURCES)

    async def steps() -> None:
        async with asyncio.timeout(20), server.serving():
            config = ClusterConfig(server=server.url)
            elector = ThreadedElector(
                lambda: HttpCluster(config), settings or _settings(), **options
            )
            await elector.acquire()
            await work(server, elector)
            await elector.release()

    asyncio.run(steps())
    return server


def _holder(server: ApiServer) -> str:
    lease = server.get("leases", "lock", "n") or {}
    return str(lease["spec"]["holderIdentity"])


def test_a_leader_renews_the_lease_and_releases_it() -> None:
    changes: list[bool] = []

    async def work(server: ApiServer, elector: ThreadedElector) -> None:
        assert elector.is_leader
        before = server.version
        await asyncio.sleep(0.5)
        assert server.version > before
        assert _holder(server) == "me"

    server = run_scenario(work, on_change=changes.append)
    assert _holder(server) == ""
    assert changes == [True, False]
    notes = [one["note"] for one in server.all("events")]
    assert notes == ["me became leader", "me stopped leading"]


def test_a_lease_that_another_replica_took_ends_leadership_at_once() -> None:
    async def work(server: ApiServer, elector: ThreadedElector) -> None:
        lease = server.get("leases", "lock", "n") or {}
        lease["spec"] |= {"holderIdentity": "other", "leaseDurationSeconds": 60}
        server.put("leases", lease)
        await elector.wait_until_lost()  # within the time limit of a test, not at the deadline
        assert _holder(server) == "other"

    server = run_scenario(work, settings=_settings(renew_deadline=600, lease_duration=900))
    assert _holder(server) == "other", "the lease of another replica is not released"


def test_a_server_that_does_not_answer_ends_leadership_before_the_deadline() -> None:
    async def work(server: ApiServer, elector: ThreadedElector) -> None:
        server.plan = lambda _, __: 30.0
        began = time.monotonic()
        await elector.wait_until_lost()
        assert time.monotonic() - began < 12, "before other replicas can take the lease"

    run_scenario(work, settings=_settings(lease_duration=12.0, renew_deadline=1.0))


def test_a_blocked_main_loop_is_ended_by_the_elector() -> None:
    ended = threading.Event()

    async def work(_: ApiServer, __: ThreadedElector) -> None:
        await asyncio.sleep(0.2)
        deadline = time.monotonic() + 8
        while not ended.is_set() and time.monotonic() < deadline:
            time.sleep(0.05)  # noqa: ASYNC251 - what blocks the loop, that is the point
        assert ended.is_set()

    async def serve() -> None:
        # The server needs a loop that is not blocked.
        server = ApiServer.of(RESOURCES)
        started = threading.Event()
        loop = asyncio.new_event_loop()
        stop = asyncio.Event()

        async def other() -> None:
            async with server.serving():
                started.set()
                await stop.wait()

        thread = threading.Thread(target=loop.run_until_complete, args=(other(),), daemon=True)
        thread.start()
        await asyncio.to_thread(started.wait, 10)
        config = ClusterConfig(server=server.url)
        elector = ThreadedElector(
            lambda: HttpCluster(config), _settings(), on_stuck=lambda: ended.set()
        )
        await elector.acquire()
        await work(server, elector)
        await elector.release()
        loop.call_soon_threadsafe(stop.set)
        await asyncio.to_thread(thread.join, 10)
        loop.close()

    asyncio.run(serve())


def test_the_error_of_a_failed_connection_is_raised_to_the_caller() -> None:
    @asynccontextmanager
    async def connect() -> AsyncIterator[Any]:
        raise ConfigurationError("the certificate is none")
        yield

    async def scenario() -> None:
        elector = ThreadedElector(connect, _settings())
        with pytest.raises(ConfigurationError, match="the certificate is none"):
            await elector.acquire()
        await elector.release()

    asyncio.run(scenario())


def test_a_waiting_replica_can_be_stopped() -> None:
    async def scenario() -> None:
        server = ApiServer.of(RESOURCES)
        server.denies = lambda access: access.resource == "leases"
        async with server.serving():
            config = ClusterConfig(server=server.url)
            elector = ThreadedElector(lambda: HttpCluster(config), _settings())
            waiting = asyncio.create_task(elector.acquire())
            await asyncio.sleep(0.4)
            assert not waiting.done()
            waiting.cancel()
            await asyncio.wait([waiting])
            await elector.release()
            assert server.get("leases", "lock", "n") is None

    asyncio.run(scenario())


@pytest.mark.parametrize("turns", range(8))
def test_a_replica_that_is_stopped_during_its_start_never_leads(turns: int) -> None:
    async def scenario() -> None:
        server = ApiServer.of(RESOURCES)
        async with server.serving():
            config = ClusterConfig(server=server.url)
            elector = ThreadedElector(
                lambda: HttpCluster(config), _settings(renew_deadline=100, lease_duration=200)
            )
            beginning = asyncio.create_task(elector.acquire())
            for _ in range(turns):
                await asyncio.sleep(0)
            beginning.cancel()
            await asyncio.wait([beginning])
            await elector.release()
            assert "leader election" not in [one.name for one in threading.enumerate()]
            assert (server.get("leases", "lock", "n") is None) or _holder(server) == ""

    asyncio.run(scenario())


def test_exceptions_of_listeners_do_not_end_leadership() -> None:
    def listen(_: object) -> None:
        raise ValueError("a mistake")

    async def work(server: ApiServer, elector: ThreadedElector) -> None:
        before = server.version
        await asyncio.sleep(0.5)
        assert elector.is_leader
        assert server.version > before

    assert _holder(run_scenario(work, on_change=listen, on_leader=listen)) == ""
