"""Electors with one lease on one server; tests set their clocks."""

from __future__ import annotations

import asyncio
import copy
import datetime
import random
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.kube.api import AlreadyExists, ClusterError, Conflict, NotFound, Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.lead.leader import ElectionSettings, LeaseLock

LEASE = Resource(gvk=GVK(group="coordination.k8s.io", version="v1", kind="Lease"), plural="leases")
EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


class _Server:
    """One lease with optimistic locking; `away` makes it unreachable."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.away = False
        self.requests = 0

    async def resource(self, api_version: str, kind: str) -> Resource:  # noqa: ARG002
        return LEASE

    async def get(self, resource: Resource, name: str, *, namespace: str) -> dict[str, Any]:  # noqa: ARG002
        self._answer()
        if self.lease is None:
            raise NotFound("not found", code=404)
        return copy.deepcopy(self.lease)

    async def create(self, resource: Resource, manifest: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        self._answer()
        if self.lease is not None:
            raise AlreadyExists("there", code=409)
        self.lease = copy.deepcopy(manifest)
        self.lease["metadata"]["resourceVersion"] = "1"
        return copy.deepcopy(self.lease)

    async def replace(self, resource: Resource, manifest: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        self._answer()
        assert self.lease is not None
        if manifest["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            raise Conflict("changed", code=409)
        version = int(self.lease["metadata"]["resourceVersion"]) + 1
        self.lease = copy.deepcopy(manifest)
        self.lease["metadata"]["resourceVersion"] = str(version)
        return copy.deepcopy(self.lease)

    def _answer(self) -> None:
        self.requests += 1
        if self.away:
            raise ClusterError("away", temporary=True)


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0


def _lock(server: _Server, clock: _Clock, identity: str, *, skew: float = 0.0) -> LeaseLock:
    settings = ElectionSettings(name="lock", namespace="n", identity=identity)
    return LeaseLock(
        server,  # type: ignore[arg-type]
        settings,
        now=lambda: clock.now,
        wall=lambda: EPOCH + datetime.timedelta(seconds=clock.now + skew),
    )


def _try(lock: LeaseLock) -> bool:
    return asyncio.run(lock.try_once())


def test_the_first_elector_creates_the_lease_and_renews_it_with_one_request() -> None:
    server, clock = _Server(), _Clock()
    lock = _lock(server, clock, "a")
    assert _try(lock)
    assert server.lease is not None
    assert server.lease["spec"] == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
        "leaseTransitions": 0,
    }
    before, clock.now = server.requests, 2.0
    assert _try(lock)
    assert server.requests == before + 1
    assert server.lease["spec"]["renewTime"] == "2026-01-01T00:00:02.000000Z"
    assert server.lease["spec"]["acquireTime"] == "2026-01-01T00:00:00.000000Z"


@pytest.mark.parametrize("skew", [-3600.0, 0.0, 3600.0])
def test_a_lease_is_respected_from_when_its_change_was_seen(skew: float) -> None:
    server, clock = _Server(), _Clock()
    first, second = _lock(server, clock, "a"), _lock(server, clock, "b", skew=skew)
    assert _try(first)
    clock.now = 100.0
    assert not _try(second), "its holder can have another clock"
    clock.now = 114.0
    assert not _try(second)
    clock.now = 115.1
    assert _try(second)
    assert server.lease is not None
    assert server.lease["spec"]["leaseTransitions"] == 1
    assert not _try(first), "the old leader detects that it lost"


def test_a_lease_that_is_renewed_is_always_respected() -> None:
    server, clock = _Server(), _Clock()
    first, second = _lock(server, clock, "a"), _lock(server, clock, "b")
    for step in range(100):
        clock.now = step * 5.0
        assert _try(first)
        assert not _try(second)
    assert second.holder == "a"


def test_a_released_lease_can_be_taken_at_once() -> None:
    server, clock = _Server(), _Clock()
    first, second = _lock(server, clock, "a"), _lock(server, clock, "b")
    assert _try(first)
    assert not _try(second)
    asyncio.run(first.release())
    assert server.lease is not None
    assert server.lease["spec"]["holderIdentity"] == ""
    assert _try(second)


def test_a_lease_is_released_over_an_unreliable_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    server, clock = _Server(), _Clock()
    lock = _lock(server, clock, "a")
    assert _try(lock)
    faults = [ClusterError("cut"), None, ClusterError("cut"), None, None]

    def answer() -> None:
        fault = faults.pop(0)
        if fault is not None:
            raise fault

    monkeypatch.setattr(server, "_answer", answer)
    asyncio.run(lock.release())
    assert server.lease is not None
    assert server.lease["spec"]["holderIdentity"] == ""


def test_only_the_holder_releases_the_lease() -> None:
    server, clock = _Server(), _Clock()
    first, second = _lock(server, clock, "a"), _lock(server, clock, "b")
    assert _try(first)
    asyncio.run(second.release())
    assert server.lease is not None
    assert server.lease["spec"]["holderIdentity"] == "a"


def test_an_unreachable_server_is_a_failed_attempt() -> None:
    server, clock = _Server(), _Clock()
    lock = _lock(server, clock, "a")
    assert _try(lock)
    server.away = True
    assert not _try(lock)
    server.away = False
    assert _try(lock)


@pytest.mark.property
@pytest.mark.parametrize("seed", range(20))
def test_two_replicas_never_lead_at_the_same_time(seed: int) -> None:
    """Each leads for at most the renew deadline after a success; the server is not always there."""
    chance = random.Random(seed)
    server, clock = _Server(), _Clock()
    locks = {
        name: _lock(server, clock, name, skew=chance.uniform(-30, 30)) for name in ("a", "b", "c")
    }
    until: dict[str, float] = {}
    led = set()
    for _ in range(600):
        clock.now += chance.uniform(0.1, 3.0)
        server.away = chance.random() < 0.3
        name = chance.choice(list(locks))
        if chance.random() < 0.2:
            continue  # this one is stalled
        if _try(locks[name]):
            until[name] = clock.now + 10.0
            led.add(name)
        leading = [one for one, end in until.items() if end > clock.now]
        assert len(leading) <= 1, f"{leading} lead at {clock.now}"
    assert led


@pytest.mark.parametrize(
    "times",
    [
        {"lease_duration": 0.5},
        {"lease_duration": 10.0, "renew_deadline": 10.0},
        {"renew_deadline": 2.0, "retry_period": 2.0},
        {"retry_period": 0.0},
        {"name": ""},
        {"namespace": ""},
    ],
)
def test_invalid_durations_are_refused(times: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        ElectionSettings(**{"name": "lock", "namespace": "n", **times})


def test_other_replicas_never_expire_a_lease_before_its_holder() -> None:
    server, clock = _Server(), _Clock()
    times: dict[str, Any] = {"lease_duration": 2.5, "renew_deadline": 2.2, "retry_period": 0.5}
    settings = ElectionSettings(name="lock", namespace="n", identity="a", **times)
    lock = LeaseLock(server, settings, now=lambda: clock.now)  # type: ignore[arg-type]
    assert _try(lock)
    assert server.lease is not None
    assert server.lease["spec"]["leaseDurationSeconds"] == 3


def test_temporarily_missing_credentials_are_a_failed_attempt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server, clock = _Server(), _Clock()
    lock = _lock(server, clock, "a")
    assert _try(lock)

    def fail() -> None:
        raise RemoteError("the plug-in returned no credentials")

    with monkeypatch.context() as patch:
        patch.setattr(server, "_answer", fail)
        assert not _try(lock)
        asyncio.run(lock.release())
    assert _try(lock)
