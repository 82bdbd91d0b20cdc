"""Two replicas of the operator, whose leader is repeatedly killed.

The audit log of the API server is the evidence: each process is a
separate user there, so the log shows who wrote what, and who held the
lease then.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from olmkit.kube.api import PatchType

if TYPE_CHECKING:
    from conftest import OperatorPlane, Replica

    from olmkit.edges.cluster.client import HttpCluster

pytestmark = pytest.mark.e2e

FREEZES = 3
WORKERS = 2  # of the operator, unless set otherwise
KILLS = int(os.environ.get("OLMKIT_KILLS", "25"))
MEMCACHED = ("cache.example.com/v1alpha1", "Memcached")
LEASE = ("coordination.k8s.io/v1", "Lease")
LOCK = "86f835c3.example.com"
FLAGS = (
    "--leader-elect",
    "--leader-election-namespace=default",
    "--leader-elect-lease-duration=3",
    "--leader-elect-renew-deadline=2",
    "--leader-elect-retry-period=0.5",
)
POOL = 30


@dataclass(frozen=True, slots=True)
class Write:
    """One write, or an attempt: user, request, start and end."""

    user: str
    what: str
    came: str
    done: str
    holder: str | None  # of the lease, when this wrote it


@dataclass(frozen=True, slots=True)
class LeadershipTerm:
    """How long a replica led: from its acquisition to the next one."""

    user: str
    acquired: str
    until: str | None


def writes(audit_log: Path) -> list[Write]:
    """Return the writes of the replicas, in their order."""
    found = []
    for line in audit_log.read_text().splitlines():
        event = json.loads(line)
        user = (event.get("impersonatedUser") or {}).get("username", "")
        if not user.startswith("replica-") or event["verb"] in ("get", "list", "watch"):
            continue
        reference = event.get("objectRef") or {}
        ok = (event.get("responseStatus") or {}).get("code", 0) < 300
        spec = (event.get("responseObject") or {}).get("spec") or {}
        is_lease = reference.get("resource") == "leases"
        if reference.get("resource") == "events" and str(reference.get("name")).startswith(LOCK):
            continue  # shows the leader, and belongs to no worker
        if is_lease and not ok:
            continue  # an attempt for which another owner was faster
        found.append(
            Write(
                user,
                f"{event['verb']} {reference.get('resource')}/{reference.get('name')}",
                event["requestReceivedTimestamp"],
                event["stageTimestamp"],
                str(spec.get("holderIdentity") or "") if is_lease else None,
            )
        )
    return sorted(found, key=lambda write: write.done)


def terms(found: Sequence[Write]) -> list[LeadershipTerm]:
    """Return who led when, by the writes of the lease."""
    changes = []
    for write in found:
        if write.holder is not None and (not changes or changes[-1].holder != write.holder):
            changes.append(write)
    ends = [*(write.done for write in changes[1:]), None]
    return [
        LeadershipTerm(write.user, write.came, end)
        for write, end in zip(changes, ends, strict=True)
    ]


def out_of_term(found: Sequence[Write], led: Sequence[LeadershipTerm]) -> list[Write]:
    """Return the writes whose writer did not hold the lease during the whole request."""
    return [
        write
        for write in found
        if write.holder is None
        and not any(
            term.user == write.user
            and term.acquired <= write.came
            and (term.until is None or write.done <= term.until)
            for term in led
        )
    ]


def _memcached(name: str, size: int) -> dict[str, Any]:
    return {
        "apiVersion": MEMCACHED[0],
        "kind": MEMCACHED[1],
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"size": size, "containerPort": 11211},
    }


async def _load(
    cluster: HttpCluster, wanted: dict[str, int], source: random.Random, stop: asyncio.Event
) -> None:
    """Change one of a pool of Memcacheds after the other until stopped."""
    resource = await cluster.resource(*MEMCACHED)
    while not stop.is_set():
        number = len(wanted) if len(wanted) < POOL else source.randrange(POOL)
        name, size = f"m{number}", source.randint(1, 5)
        if name in wanted:
            await cluster.patch(
                resource,
                name,
                {"spec": {"size": size}},
                type=PatchType.MERGE,
                namespace="default",
            )
        else:
            await cluster.create(resource, _memcached(name, size))
        wanted[name] = size
        await asyncio.sleep(0.05)


async def _sizes(cluster: HttpCluster) -> dict[str, int]:
    """Return the sizes in the Deployments."""
    resource = await cluster.resource("apps/v1", "Deployment")
    page = await cluster.list_page(resource, namespace="default")
    found = [json.loads(item) for item in page.items]
    return {one["metadata"]["name"]: one["spec"]["replicas"] for one in found}


class _Replicas:
    """Two replicas at a time; one that ended by itself is replaced, as its Deployment would do."""

    def __init__(self, operator_plane: OperatorPlane, cluster: HttpCluster) -> None:
        self._operated = operator_plane
        self._cluster = cluster
        self._running = [operator_plane.start(*FLAGS) for _ in range(2)]

    async def leader(self) -> Replica | None:
        """Return the holder of the lease, if it is running."""
        for replica in self._running:
            if not replica.is_running:
                self.replace(replica)
                return None
        resource = await self._cluster.resource(*LEASE)
        page = await self._cluster.list_page(resource, namespace="default")
        holders = {
            str(found["spec"].get("holderIdentity") or "").partition("_")[0]
            for found in map(json.loads, page.items)
            if found["metadata"]["name"] == LOCK
        }
        return next((one for one in self._running if one.user in holders), None)

    def replace(self, replica: Replica) -> None:
        self._running.remove(replica)
        self._running.append(self._operated.start(*FLAGS))


def test_killed_leaders_are_replaced_and_never_two_replicas_work(
    operator_plane: OperatorPlane, until: Callable[..., Awaitable[Any]]
) -> None:
    source = random.Random(7)

    async def scenario() -> None:
        async with operator_plane.cluster() as cluster:
            replicas = _Replicas(operator_plane, cluster)
            wanted: dict[str, int] = {}
            stop = asyncio.Event()
            load = asyncio.create_task(_load(cluster, wanted, source, stop))
            for _ in range(KILLS):
                found = await until(replicas.leader, 120)
                await asyncio.sleep(source.random() * 0.6)
                assert not load.done(), load
                await asyncio.to_thread(found.kill)
                replicas.replace(found)
            stop.set()
            await load

            async def settled() -> bool:
                return await _sizes(cluster) == wanted

            await until(replicas.leader, 120)
            await until(settled, 120)
            assert len(wanted) > KILLS // 2

    asyncio.run(scenario())
    found = writes(operator_plane.audit_log)
    led = terms(found)
    assert len(led) >= KILLS + 1, "each kill was followed by another leader"
    assert all(one.user != two.user for one, two in itertools.pairwise(led))
    assert out_of_term(found, led) == []
    work = sum(write.holder is None for write in found)
    assert work > KILLS, "leaders worked while they were killed"
    print(f"{KILLS} kills, {len(led)} terms, {work} writes, none out of its term")  # noqa: T201


def test_a_frozen_leader_ends_and_begins_no_write(
    operator_plane: OperatorPlane, until: Callable[..., Awaitable[Any]]
) -> None:
    source = random.Random(8)

    async def scenario() -> None:
        async with operator_plane.cluster() as cluster:
            replicas = _Replicas(operator_plane, cluster)
            wanted: dict[str, int] = {}
            stop = asyncio.Event()
            load = asyncio.create_task(_load(cluster, wanted, source, stop))
            for _ in range(FREEZES):
                frozen = await until(replicas.leader, 120)
                await asyncio.sleep(source.random())
                frozen.process.send_signal(signal.SIGSTOP)

                async def taken(frozen: Replica = frozen) -> bool:
                    return await replicas.leader() not in (None, frozen)

                await until(taken, 120)
                await asyncio.sleep(source.random())
                frozen.process.send_signal(signal.SIGCONT)
                assert await asyncio.to_thread(frozen.process.wait, 10) != 0
            stop.set()
            await load

            async def settled() -> bool:
                return await _sizes(cluster) == wanted

            await until(replicas.leader, 120)
            await until(settled, 120)

    asyncio.run(scenario())
    found = writes(operator_plane.audit_log)
    led = terms(found)
    assert len(led) >= FREEZES + 1
    # Events describe earlier actions; they can be late.
    work = [write for write in found if " events/" not in write.what]
    late = Counter(write.user for write in out_of_term(work, led))
    # A request that a worker had begun to send is sent when the process continues: the
    # version in it refuses it, or applying again changes nothing.
    assert all(count <= WORKERS for count in late.values()), late


def test_the_evidence_would_show_a_second_leader() -> None:
    def write(user: str, second: int, holder: str | None = None) -> Write:
        return Write(user, "patch x/y", f"{second:02}.0", f"{second:02}.5", holder)

    found = [write("a", 1, "a_1"), write("a", 2), write("b", 4, "b_1"), write("a", 5)]
    led = terms(found)
    assert led == [LeadershipTerm("a", "01.0", "04.5"), LeadershipTerm("b", "04.0", None)]
    assert out_of_term(found, led) == [found[3]]
