"""The order of starts and stops, and what ends a manager early."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import weakref
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.network import http_server
from olmkit.kube.api import Forbidden, Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.lead.leader import ElectionSettings, ThreadedElector
from olmkit.runtime.manager import Group, LeadershipLost, Manager, ShutdownTimeout, stop_on_signals
from olmkit.runtime.serve import probes
from olmkit.runtime.serve.probes import CheckFailed
from olmkit.runtime.watch.handler import EnqueueObject
from olmkit.runtime.watch.source import ChannelSource
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.controller import Controller, ControllerSettings, NotSynced
from olmkit.runtime.work.reconcile import Request, Result
from olmkit.testing import clock
from olmkit.testing.apiserver.server import Access, ApiServer
from olmkit.testing.faults import Fault

MAP = GVK(group="", version="v1", kind="ConfigMap")
LEASE = GVK(group="coordination.k8s.io", version="v1", kind="Lease")
EVENT = GVK(group="events.k8s.io", version="v1", kind="Event")
RESOURCES = [
    Resource(gvk=MAP, plural="configmaps"),
    Resource(gvk=LEASE, plural="leases"),
    Resource(gvk=EVENT, plural="events"),
]


class _Part:
    """A runnable that records its start and end; it can be slow or fail."""

    def __init__(self, name: str, notes: list[str], *, ready_after: float = 0.0) -> None:
        self.name = name
        self._notes = notes
        self._ready_after = ready_after
        self.linger = 0.0
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        self._notes.append(f"{self.name} starts")
        await self._stopping.wait()
        await asyncio.sleep(self.linger)
        self._notes.append(f"{self.name} ends")

    def stop(self) -> None:
        self._stopping.set()

    async def wait_until_ready(self) -> None:
        await asyncio.sleep(self._ready_after)
        self._notes.append(f"{self.name} is ready")


class _Elector:
    """Leads on command."""

    def __init__(self, notes: list[str]) -> None:
        self.leads = asyncio.Event()
        self.lost = asyncio.Event()
        self._notes = notes
        self.failure: Exception | None = None

    async def acquire(self) -> None:
        await self.leads.wait()
        if self.failure is not None:
            raise self.failure

    async def wait_until_lost(self) -> None:
        await self.lost.wait()

    async def release(self) -> None:
        self._notes.append("lease given back")


def _manager(**options: Any) -> Manager:
    return Manager(None, name="tests", **options)  # type: ignore[arg-type]


def test_groups_start_in_order_and_stop_in_reverse() -> None:
    notes: list[str] = []

    async def scenario() -> None:
        elector = _Elector(notes)
        manager = _manager(elector=elector)
        for group in (Group.LEADER, Group.OTHERS, Group.WEBHOOKS, Group.SERVERS):
            manager.add(_Part(group.name, notes, ready_after=1), group)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(10)
        assert manager.ready, "a replica that waits for leadership is ready"
        assert "LEADER starts" not in notes
        elector.leads.set()
        await asyncio.sleep(10)
        manager.stop()
        await running
        assert not manager.ready

    clock.run(scenario())
    assert notes == [
        *("SERVERS starts", "SERVERS is ready"),
        *("WEBHOOKS starts", "WEBHOOKS is ready"),
        *("OTHERS starts", "OTHERS is ready"),
        *("LEADER starts", "LEADER is ready"),
        *("OTHERS ends", "LEADER ends", "WEBHOOKS ends", "SERVERS ends"),
        "lease given back",
    ]


def test_a_runnable_that_is_added_later_starts_at_once_and_after_the_stop_never() -> None:
    notes: list[str] = []

    async def scenario() -> None:
        manager = _manager()
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(1)
        manager.add(_Part("late", notes), Group.OTHERS)

        async def plain() -> None:
            notes.append("plain")

        manager.add(plain)
        await asyncio.sleep(1)
        assert notes == ["late starts", "plain"]
        manager.stop()
        await running
        with pytest.raises(RuntimeError, match="has stopped"):
            manager.add(plain)

    clock.run(scenario())


def test_a_plain_function_needs_leadership() -> None:
    notes: list[str] = []

    async def scenario() -> None:
        manager = _manager(elector=_Elector(notes))

        async def plain() -> None:
            notes.append("plain")

        manager.add(plain)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(60)
        manager.stop()
        await running

    clock.run(scenario())
    assert notes == ["lease given back"]


def test_the_first_error_stops_everything_and_is_raised() -> None:
    notes: list[str] = []

    async def scenario() -> None:
        manager = _manager()
        manager.add(_Part("other", notes), Group.OTHERS)

        async def broken() -> None:
            await asyncio.sleep(5)
            raise OSError("no more")

        async def done() -> None:
            """Ends without an error, which ends nothing else."""

        manager.add(broken)
        manager.add(done)
        with pytest.raises(OSError, match="no more"):
            await manager.run()
        assert asyncio.get_running_loop().time() < 1007

    clock.run(scenario())
    assert notes == ["other starts", "other is ready", "other ends"]


@pytest.mark.parametrize("grace", [3.0, 0.0, -1.0])
def test_the_grace_period_limits_the_whole_stop(grace: float) -> None:
    notes: list[str] = []

    async def scenario() -> float:
        manager = _manager(graceful_shutdown_timeout=grace)
        part = _Part("slow", notes)
        part.linger = 100
        manager.add(part, Group.OTHERS)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(1)
        began = asyncio.get_running_loop().time()
        manager.stop()
        if grace > 0:
            with pytest.raises(ShutdownTimeout, match="not ended within 3 s: slow"):
                await running
        else:
            await running
        return asyncio.get_running_loop().time() - began

    took = clock.run(scenario())
    assert took == pytest.approx(100 if grace < 0 else grace, abs=1.5)
    assert ("slow ends" in notes) is (grace < 0)


def test_lost_leadership_ends_without_grace_period_and_releases_no_lease() -> None:
    notes: list[str] = []

    async def scenario() -> None:
        elector = _Elector(notes)
        elector.leads.set()
        manager = _manager(elector=elector)
        part = _Part("work", notes)
        part.linger = 25
        manager.add(part)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(5)
        elector.lost.set()
        began = asyncio.get_running_loop().time()
        with pytest.raises(LeadershipLost, match="tests no longer leads"):
            await running
        assert asyncio.get_running_loop().time() - began < 3

    clock.run(scenario())
    assert notes == ["work starts", "work is ready"]


def test_a_failed_election_stops_the_manager() -> None:
    async def scenario() -> None:
        elector = _Elector([])
        elector.failure = ConfigurationError("no certificate")
        elector.leads.set()
        with pytest.raises(ConfigurationError, match="no certificate"):
            await _manager(elector=elector).run()

    clock.run(scenario())


def test_a_stop_while_caches_fill_ends_the_start() -> None:
    async def scenario() -> None:
        manager = _manager()
        manager.add(_Part("never ready", [], ready_after=10_000), Group.WEBHOOKS)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(5)
        manager.stop()
        await running
        assert asyncio.get_running_loop().time() < 1010

    clock.run(scenario())


def _controller(name: str = "c", kind: GVK = MAP, workers: int | None = None) -> Controller:
    class Idle:
        async def reconcile(self, request: Request) -> Result:  # noqa: ARG002
            return Result()

    settings = ControllerSettings(max_concurrent_reconciles=workers)
    builder = ControllerBuilder().named(name).watches_for(kind).with_settings(settings)
    return builder.build(Idle())


def test_the_number_of_workers_is_that_of_the_controller_the_kind_or_the_manager() -> None:
    async def scenario() -> list[int]:
        manager = _manager(
            max_concurrent_reconciles=3, concurrency={"Lease.coordination.k8s.io": 7}
        )
        controllers = [_controller("a"), _controller("b", LEASE), _controller("c", LEASE, 2)]
        for controller in controllers:
            manager.add_controller(controller)
        with pytest.raises(ValueError, match="a controller named a already exists"):
            manager.add_controller(_controller("a"))
        return [controller.workers for controller in controllers]

    assert clock.run(scenario()) == [3, 7, 2]


async def _with_server(server: ApiServer, work: Callable[[HttpCluster], Any]) -> None:
    async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as cluster:
        await work(cluster)


def test_warm_up_fills_caches_while_another_replica_leads() -> None:
    server = ApiServer.of(RESOURCES)
    done: list[str] = []

    class Recording:
        async def reconcile(self, request: Request) -> None:
            done.append(request.name)

    async def work(cluster: HttpCluster) -> None:
        server.put("configmaps", {"metadata": {"name": "a"}})
        elector = _Elector([])
        manager = Manager(cluster, name="tests", elector=elector)
        builder = ControllerBuilder().watches_for(MAP)
        manager.add_controller(
            builder.with_settings(ControllerSettings(enable_warmup=True)).build(Recording())
        )
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(5)
        [informer] = manager.cache.informers
        assert informer.synced
        assert done == []
        elector.leads.set()
        await asyncio.sleep(5)
        assert done == ["a"]
        manager.stop()
        await running

    clock.run(_with_server(server, work), patience=0.001)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [("broken", "a fault made for a test"), ("unauthorized", "Unauthorized")],
)
def test_an_impossible_watch_stops_the_manager_with_the_reason(
    trouble: str, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = ApiServer.of(RESOURCES)
    server.authenticates = trouble == "unauthorized"
    if trouble == "broken":
        server.plan = lambda _, path: Fault.ERROR if "/configmaps" in path else None

    async def work(cluster: HttpCluster) -> None:
        manager = Manager(cluster, name="tests")
        manager.add_controller(_controller())
        with pytest.raises(NotSynced) as raised:
            await manager.run()
        assert "the watch on" in str(raised.value)
        assert "did not sync within 120 s" in str(raised.value)
        assert words in str(raised.value)
        assert "credentials" in raised.value.hint

    with caplog.at_level(logging.WARNING):
        clock.run(_with_server(server, work), patience=0.001)
    assert any(words in str(vars(one).get("error", "")) for one in caplog.records), (
        "reported at once"
    )


@pytest.mark.parametrize(
    ("trouble", "words", "hint"),
    [
        ("missing", "does not know the kind `ConfigMap`", "install its CustomResourceDefinition"),
        (
            "forbidden",
            'User "system:anonymous" cannot list resource "configmaps"',
            'a ClusterRole with the rule `{apiGroups: [""], resources: [configmaps], verbs: [get',
        ),
    ],
)
def test_a_refused_watch_is_reported_and_waited_for_in_a_live_process_that_is_not_ready(
    trouble: str, words: str, hint: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = ApiServer.of([] if trouble == "missing" else RESOURCES)
    server.denies = lambda access: access.verb == "list"

    async def work(cluster: HttpCluster) -> None:
        manager = Manager(cluster, name="tests")
        manager.add_controller(_controller())
        ready, live = probes.watches_granted(manager.cache), probes.watches_kept(manager.cache)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(1000)
        with pytest.raises(CheckFailed, match="the server refuses"):
            await ready()
        await live()
        server.collections |= ApiServer.of(RESOURCES).collections
        server.denies = lambda _: False
        await asyncio.sleep(61)
        await ready()
        assert [one.synced for one in manager.cache.informers] == [True]
        manager.stop()
        await running

    with caplog.at_level(logging.WARNING):
        clock.run(_with_server(server, work), patience=0.001)
    said = [vars(one) for one in caplog.records if words in str(vars(one).get("error"))]
    assert len(said) < 8, "once, and again every five minutes"
    assert all(hint in one["hint"] for one in said)


def test_a_controller_works_without_a_refused_watch_and_again_once_it_is_granted() -> None:
    """The watch is for a secondary kind; reading it reports the refusal."""
    server = ApiServer.of(RESOURCES)
    server.denies = lambda access: access.resource == "leases"
    passes: list[tuple[float, str]] = []

    async def work(cluster: HttpCluster) -> None:
        manager = Manager(cluster, name="tests")

        class Reading:
            async def reconcile(self, request: Request) -> None:
                now = asyncio.get_running_loop().time()
                try:
                    await manager.client.get(LEASE, request)
                except Forbidden as error:
                    passes.append((now, str(error)))
                    raise
                passes.append((now, "read"))

        builder = ControllerBuilder().watches_for(MAP).watches(LEASE, EnqueueObject())
        manager.add_controller(builder.build(Reading(), registry=manager.registry))
        server.put("configmaps", {"metadata": {"name": "a", "namespace": "n"}})
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(900)
        assert 'cannot list resource "leases"' in passes[0][1]
        granted = asyncio.get_running_loop().time()
        server.denies = lambda _: False
        await asyncio.sleep(65)
        last, found = passes[-1]
        assert found == "read"
        assert last > granted, "not after the back-off of all its failures"
        manager.stop()
        await running

    clock.run(_with_server(server, work), patience=0.001)


def test_a_kind_that_is_installed_in_time_is_found() -> None:
    server = ApiServer.of([])

    async def work(cluster: HttpCluster) -> None:
        manager = Manager(cluster, name="tests")
        manager.add_controller(_controller())
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(30)
        server.collections |= ApiServer.of(RESOURCES).collections
        await asyncio.sleep(60)
        assert [one.synced for one in manager.cache.informers] == [True]
        manager.stop()
        await running

    clock.run(_with_server(server, work), patience=0.001)


def test_liveness_fails_if_a_watch_cannot_be_kept_open_and_not_if_it_is_quiet() -> None:
    server = ApiServer.of(RESOURCES)

    async def work(cluster: HttpCluster) -> None:
        manager = Manager(cluster, name="tests")
        manager.add_controller(_controller())
        live = probes.watches_kept(manager.cache)
        running = asyncio.create_task(manager.run())
        for _ in range(12):
            await asyncio.sleep(60)
            await live()  # time without events

        def refuse(access: Access) -> bool:
            return access.verb in ("list", "watch")

        server.denies = refuse
        server.end_watches()
        await asyncio.sleep(120)
        await live()
        await asyncio.sleep(300)
        with pytest.raises(CheckFailed, match="failing for 300 s"):
            await live()
        server.denies = lambda _: False
        await asyncio.sleep(120)
        await live()
        manager.stop()
        await running

    clock.run(_with_server(server, work), patience=0.001)


@pytest.mark.parametrize("fault", ["forbidden", Fault.ERROR, Fault.TOO_MANY, Fault.CUT_BEFORE])
def test_liveness_fails_if_lists_are_answered_and_watches_are_not(
    fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = ApiServer.of(RESOURCES)
    if fault == "forbidden":
        server.denies = lambda access: access.verb == "watch"
    else:
        server.plan = lambda _, path: Fault(fault) if "watch=true" in path else None

    async def work(cluster: HttpCluster) -> None:
        manager = Manager(cluster, name="tests")
        manager.add_controller(_controller())
        live = probes.watches_kept(manager.cache)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(290)
        await live()
        await asyncio.sleep(15)
        with pytest.raises(CheckFailed, match="failing for 300 s"):
            await live()
        server.denies, server.plan = (lambda _: False), None
        await asyncio.sleep(125)
        await live()
        manager.stop()
        await running

    with caplog.at_level(logging.INFO):
        clock.run(_with_server(server, work), patience=0.001)
    said = [one.message for one in caplog.records if one.name.endswith("watch_health")]
    assert len(said) <= 4, said
    assert said[-1] == "the watch works again"


def test_liveness_passes_if_watches_are_accepted_and_stay_silent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A server whose etcd reports no progress sends no bookmarks after a restart."""
    server = ApiServer.of(RESOURCES)

    async def work(cluster: HttpCluster) -> None:
        manager = Manager(cluster, name="tests")
        manager.add_controller(_controller())
        live = probes.watches_kept(manager.cache)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(200)  # bookmarks arrive
        server.sends_bookmarks = False
        server.end_watches()
        for _ in range(60):
            await asyncio.sleep(60)
            await live()
        manager.stop()
        await running

    with caplog.at_level(logging.WARNING):
        clock.run(_with_server(server, work), patience=0.001)
    assert not [one.message for one in caplog.records if one.name.endswith("watch_health")]


def test_liveness_passes_again_as_soon_as_a_silent_server_accepts_watches() -> None:
    server = ApiServer.of(RESOURCES)
    server.sends_bookmarks = False

    async def work(cluster: HttpCluster) -> None:
        manager = Manager(cluster, name="tests")
        manager.add_controller(_controller())
        live = probes.watches_kept(manager.cache)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(100)
        server.plan = lambda _, path: Fault.CUT_BEFORE if "watch=true" in path else None
        server.end_watches()
        await asyncio.sleep(400)
        with pytest.raises(CheckFailed, match="failing for 300 s"):
            await live()
        server.plan = None
        await asyncio.sleep(65)  # the longest delay between two attempts
        await live()
        manager.stop()
        await running

    clock.run(_with_server(server, work), patience=0.001)


def test_a_port_in_use_stops_the_manager_and_is_named() -> None:
    async def scenario() -> None:
        first = probes.server(("127.0.0.1", 0), live={"ping": probes.ping})
        serving_ = asyncio.create_task(first.run())
        await first.wait_until_ready()
        manager = _manager()
        manager.add(
            probes.server(("127.0.0.1", first.port), live={"ping": probes.ping}), Group.SERVERS
        )
        with pytest.raises(ConfigurationError, match=f"cannot listen on `127.0.0.1:{first.port}`"):
            await manager.run()
        serving_.cancel()
        await asyncio.wait([serving_])

    asyncio.run(scenario())
    assert http_server.parse_address("0") is None


async def _until(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - another thread brings it about
            await asyncio.sleep(0.01)


class _Slow:
    """Works on one key at a time, and records its manager."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self._name = name
        self._notes = notes

    async def reconcile(self, request: Request) -> Result:  # noqa: ARG002
        self._notes.append(self._name)
        return Result(requeue_after=0.05)


def test_of_two_managers_with_one_lease_one_works_and_the_other_follows() -> None:
    server = ApiServer.of(RESOURCES)
    notes: list[str] = []
    leaders: list[tuple[str, str]] = []

    async def scenario() -> None:
        async with server.serving():
            server.put("configmaps", {"metadata": {"name": "a"}})
            config = ClusterConfig(server=server.url)
            async with HttpCluster(config) as cluster:
                managers = {}
                for name in ("one", "two"):
                    elector = ThreadedElector(
                        lambda: HttpCluster(config),
                        ElectionSettings(
                            name="lock",
                            namespace="n",
                            identity=name,
                            lease_duration=2,
                            renew_deadline=1.5,
                            retry_period=0.1,
                        ),
                        on_leader=lambda who, name=name: leaders.append((name, who)),  # type: ignore[misc]
                    )
                    manager = Manager(cluster, name=name, elector=elector)
                    builder = ControllerBuilder().watches_for(MAP)
                    manager.add_controller(builder.build(_Slow(name, notes)))
                    managers[name] = (manager, asyncio.create_task(manager.run()))
                    if name == "one":
                        await _until(lambda: notes)
                await asyncio.sleep(0.5)
                assert set(notes) == {"one"}
                manager, running = managers["one"]
                manager.stop()
                await running
                ended = len(notes)
                await _until(lambda: "two" in notes)
                assert set(notes[ended:]) == {"two"}
                manager, running = managers["two"]
                manager.stop()
                await running

    asyncio.run(scenario())
    lease = server.get("leases", "lock", "n")
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == "", "also released by the second one"
    assert lease["spec"]["leaseTransitions"] >= 1
    assert {("one", "one"), ("two", "one"), ("two", "two")} <= set(leaders)
    told = {one["note"]: one for one in server.all("events")}
    assert "one became leader" in told
    assert "two became leader" in told
    event = told["one became leader"]
    assert (event["reason"], event["regarding"]["kind"]) == ("LeaderElection", "Lease")


def test_a_leader_that_loses_its_lease_ends() -> None:
    server = ApiServer.of(RESOURCES)

    async def scenario() -> None:
        async with server.serving():
            config = ClusterConfig(server=server.url)
            settings = ElectionSettings(
                name="lock", namespace="n", lease_duration=2, renew_deadline=1, retry_period=0.1
            )
            async with HttpCluster(config) as cluster:
                manager = Manager(
                    cluster,
                    name="tests",
                    elector=ThreadedElector(lambda: HttpCluster(config), settings),
                )
                running = asyncio.create_task(manager.run())
                await _until(lambda: server.get("leases", "lock", "n"))
                await asyncio.sleep(0.2)
                server.denies = lambda access: access.resource == "leases"
                async with asyncio.timeout(60):
                    with pytest.raises(LeadershipLost):
                        await running

    asyncio.run(scenario())


def test_external_events_reach_the_reconciler() -> None:
    seen: list[str] = []

    class Recording:
        async def reconcile(self, request: Request) -> None:
            seen.append(request.name)

    async def scenario() -> None:
        from olmkit.runtime.watch.predicate import GenericEvent
        from olmkit.runtime.watch.snapshot import Snapshot

        channel = ChannelSource(EnqueueObject())
        controller = ControllerBuilder().named("c").source(channel).build(Recording())
        event = GenericEvent(Snapshot.of({"metadata": {"name": "early"}}))
        await channel.offer(event)
        manager = _manager()
        manager.add_controller(controller)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(1)
        await channel.offer(GenericEvent(Snapshot.of({"metadata": {"name": "late"}})))
        await asyncio.sleep(1)
        manager.stop()
        await running
        with pytest.raises(RuntimeError, match="has one controller"):
            await channel.start(manager.cache, controller.queue)

    clock.run(scenario())
    assert seen == ["early", "late"]


def test_a_runnable_that_ignores_its_stop_does_not_block_others() -> None:
    notes: list[str] = []

    class FailingStop(_Part):
        def stop(self) -> None:
            raise ValueError("no")

    async def scenario() -> None:
        elector = _Elector(notes)
        manager = _manager(elector=elector)
        manager.add(FailingStop("stubborn", notes), Group.OTHERS)
        manager.add(_Part("server", notes), Group.SERVERS)
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(1)
        manager.stop()
        await running

    clock.run(scenario())
    assert notes[-2:] == ["server ends", "lease given back"]


def test_ended_runnables_are_forgotten() -> None:
    class ShortRunnable:
        async def run(self) -> None:
            await asyncio.sleep(0)

    async def scenario() -> None:
        manager = _manager()
        running = asyncio.create_task(manager.run())
        await asyncio.sleep(1)
        seen: list[weakref.ref[ShortRunnable]] = []

        def add(group: Group) -> None:
            short = ShortRunnable()
            seen.append(weakref.ref(short))
            manager.add(short, group)

        for number in range(60):
            add(Group(1 + number % 6))
        await asyncio.sleep(1)
        gc.collect()
        assert not any(one() for one in seen)
        manager.stop()
        await running

    clock.run(scenario())


def test_one_signal_stops_all_managers_of_a_process() -> None:
    async def scenario() -> None:
        several = [_manager(), _manager()]
        stop_on_signals(*several)
        running = [asyncio.create_task(one.run()) for one in several]
        await asyncio.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(60):
            await asyncio.gather(*running)

    asyncio.run(scenario())


def test_contexts_are_entered_first_and_left_after_everything_has_stopped() -> None:
    notes: list[str] = []

    @contextlib.asynccontextmanager
    async def session(name: str) -> AsyncIterator[None]:
        notes.append(f"{name} opens")
        yield
        notes.append(f"{name} closes")

    async def work() -> None:
        manager = _manager()
        manager.enter(session("first"))
        manager.enter(session("second"))
        part, other = _Part("leader", notes), _Part("other", notes)
        part.linger = 0.05  # a reconciler that has not ended yet
        manager.add(part)
        manager.add(other, Group.OTHERS)
        running = asyncio.create_task(manager.run())
        async with asyncio.timeout(60):
            while "leader starts" not in notes:  # noqa: ASYNC110 - other tasks write it
                await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="enter contexts before"):
                manager.enter(session("late"))
            manager.stop()
            await running

    asyncio.run(work())
    assert notes[:2] == ["first opens", "second opens"]
    assert notes[-3:] == ["leader ends", "second closes", "first closes"]


def test_a_context_that_cannot_be_entered_ends_the_run_before_the_start() -> None:
    notes: list[str] = []

    @contextlib.asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        raise ConnectionRefusedError("no database")
        yield

    async def work() -> None:
        manager = _manager()
        manager.enter(broken())
        manager.add(_Part("part", notes), Group.OTHERS)
        with pytest.raises(ConnectionRefusedError):
            await manager.run()

    asyncio.run(work())
    assert notes == []
