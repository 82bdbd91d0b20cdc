"""Leader election with a Lease: one of several replicas runs the controllers.

A lease expires a fixed time after this process noticed its last change, by the monotonic clock;
wall clocks of two nodes are never compared. The elector has a separate thread, event loop and
connection, so that a busy main loop does not miss the deadline. The main loop sends a heartbeat, so
that a process whose main loop is stuck gives up leadership.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import datetime
import logging
import math
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

from olmkit.base.diagnostics import ConfigurationError, OlmkitError
from olmkit.kube.api import Cluster, ClusterError, Conflict, NotFound
from olmkit.kube.objects import Manifest
from olmkit.runtime.durations import Duration, seconds
from olmkit.runtime.events import NORMAL, EventRecorder

_LOG = logging.getLogger(__name__)

T = TypeVar("T")

_JITTER = 1.2
_HEARTBEAT = 0.5
_TRIES = 4  # attempts to release the lease
_GIVING_BACK = 3.0  # seconds for the release: the grace period of the pod is short
_LAST_WORDS = 2.0  # seconds for queued events when the elector ends

Connect = Callable[[], AbstractAsyncContextManager[Cluster]]
"""Opens the elector's connection, on the elector's event loop."""


@dataclass(frozen=True, slots=True, init=False)
class ElectionSettings:
    """The Lease and its durations, passed in seconds or as `timedelta`, stored in seconds."""

    name: str
    namespace: str
    identity: str
    lease_duration: float
    renew_deadline: float
    retry_period: float
    release_on_cancel: bool
    labels: dict[str, str]

    def __init__(
        self,
        *,
        name: str,
        namespace: str,
        identity: str = "",
        lease_duration: Duration = 15.0,
        renew_deadline: Duration = 10.0,
        retry_period: Duration = 2.0,
        release_on_cancel: bool = True,
        labels: dict[str, str] | None = None,
    ) -> None:
        given = {
            "name": name,
            "namespace": namespace,
            "identity": identity or f"{socket.gethostname()}_{uuid.uuid4()}",
            "lease_duration": seconds(lease_duration, "lease_duration"),
            "renew_deadline": seconds(renew_deadline, "renew_deadline"),
            "retry_period": seconds(retry_period, "retry_period"),
            "release_on_cancel": release_on_cancel,
            "labels": labels or {},
        }
        for field, value in given.items():
            object.__setattr__(self, field, value)
        self._check()

    def _check(self) -> None:
        if not self.name:
            raise ConfigurationError("leader election needs the name of its Lease")
        if not self.namespace:
            raise ConfigurationError(
                "leader election needs a namespace",
                hint="outside a cluster, set it with `--leader-election-namespace`",
            )
        if self.lease_duration < 1:
            raise ConfigurationError("the lease duration must be at least 1 s")
        if self.lease_duration <= self.renew_deadline:
            raise ConfigurationError("the lease duration must be longer than the renew deadline")
        if self.renew_deadline <= self.retry_period * _JITTER or self.retry_period <= 0:
            raise ConfigurationError(
                f"the renew deadline must be longer than {_JITTER} retry periods"
            )


class LeaseLock:
    """Acquires, renews and releases the Lease, one attempt per call, without loops and threads.

    `now` is a monotonic clock, `wall` the wall clock for the timestamps in the Lease.
    """

    def __init__(
        self,
        cluster: Cluster,
        settings: ElectionSettings,
        *,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._now = now
        self._wall = wall
        self._lease: Manifest | None = None
        self._seen: dict[str, Any] = {}
        self._seen_at = 0.0
        self._complaint = ""  # the last logged error: each is logged once

    @property
    def holder(self) -> str:
        """Return the holder of the lease when it was last read."""
        return str(self._seen.get("holderIdentity") or "")

    @property
    def lease(self) -> Manifest | None:
        """Return the lease as it was last read or written."""
        return self._lease

    @property
    def is_anothers(self) -> bool:
        """Return whether another holder has the lease, as last read, and it has not expired."""
        return self.holder not in ("", self._settings.identity) and self._is_valid()

    async def try_once(self) -> bool:
        """Try to acquire or renew the lease; return whether this process holds it.

        Errors count as no, including errors of credentials that are not a `ClusterError`.
        """
        try:
            holds = await self._try_once()
        except OlmkitError as error:
            self._log_error("lease not acquired", error)
            return False
        if holds or self.is_anothers:
            self._complaint = ""
        return holds

    async def release(self) -> None:
        """Release the lease if this process holds it, so that another replica can acquire it.

        Makes several attempts: without a release, other replicas wait until the lease expires.
        """
        for _ in range(_TRIES):
            try:
                if await self._released():
                    return
            except OlmkitError as error:
                _LOG.info("lease not released", extra={"error": str(error)})

    async def _released(self) -> bool:
        """Try to release the lease; return whether this process no longer holds it."""
        if not await self._look() or self.holder != self._settings.identity:
            return True
        now = _micro_time(self._wall())
        spec = self._seen | {
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "acquireTime": now,
            "renewTime": now,
        }
        return await self._write(spec)

    async def _try_once(self) -> bool:
        is_holder = self.holder == self._settings.identity
        known = is_holder and self._lease is not None and self._is_valid()
        if known and await self._write(self._record()):
            return True
        if not await self._look():
            return await self._create()
        if self.is_anothers:
            return False
        return await self._write(self._record())

    def _is_valid(self) -> bool:
        duration = self._seen.get("leaseDurationSeconds")
        seconds = float(duration) if isinstance(duration, int | float) else 0.0
        return self._now() < self._seen_at + seconds

    def _record(self) -> dict[str, Any]:
        now = _micro_time(self._wall())
        is_holder = self.holder == self._settings.identity
        transitions = self._seen.get("leaseTransitions")
        count = transitions if isinstance(transitions, int) else 0
        acquired = self._seen.get("acquireTime") if is_holder else None
        return {
            "holderIdentity": self._settings.identity,
            # Rounded up: for other replicas, the lease must not expire earlier than for this
            # process.
            "leaseDurationSeconds": math.ceil(self._settings.lease_duration),
            "acquireTime": acquired or now,
            "renewTime": now,
            "leaseTransitions": count if is_holder else count + 1,
        }

    async def _look(self) -> bool:
        """Read the lease; return False if it does not exist."""
        resource = await self._cluster.resource("coordination.k8s.io/v1", "Lease")
        try:
            lease = await self._cluster.get(
                resource, self._settings.name, namespace=self._settings.namespace
            )
        except NotFound:
            self._lease, self._seen = None, {}
            return False
        self._remember(lease)
        return True

    async def _create(self) -> bool:
        resource = await self._cluster.resource("coordination.k8s.io/v1", "Lease")
        metadata: dict[str, Any] = {
            "name": self._settings.name,
            "namespace": self._settings.namespace,
        }
        if self._settings.labels:
            metadata["labels"] = dict(self._settings.labels)
        lease = await self._cluster.create(
            resource,
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": metadata,
                "spec": self._record() | {"leaseTransitions": 0},
            },
        )
        self._remember(lease)
        return True

    async def _write(self, spec: dict[str, Any]) -> bool:
        """Replace the lease that was read; return False if another replica was faster."""
        if self._lease is None:
            return False
        resource = await self._cluster.resource("coordination.k8s.io/v1", "Lease")
        try:
            lease = await self._cluster.replace(resource, self._lease | {"spec": spec})
        except ClusterError as error:
            self._log_error("lease not written", error)
            return False
        self._remember(lease)
        return True

    def _log_error(self, what: str, error: OlmkitError) -> None:
        """Log the error once, and mark the lease as not read."""
        self._lease = None
        if str(error) == self._complaint:
            return
        self._complaint = str(error)
        facts = {"namespace": self._settings.namespace, "error": str(error), "hint": error.hint}
        # It is not a problem that another replica was faster.
        level = logging.INFO if isinstance(error, Conflict) else logging.WARNING
        _LOG.log(level, what, extra=facts)

    def _remember(self, lease: Manifest) -> None:
        spec = lease.get("spec")
        spec = spec if isinstance(spec, dict) else {}
        if spec != self._seen or self._lease is None:
            if spec != self._seen:
                self._seen_at = self._now()
            self._seen = dict(spec)
        self._lease = lease


class ThreadedElector:
    """Implements `manager.Elector` in a separate thread.

    `on_lost` runs in that thread when leadership is lost and the main loop does not react within a
    second. By default it ends the process, since a stuck loop cannot stop itself. `on_change` and
    `on_leader` also run in the elector's thread; `on_leader` gets the new leader whenever it
    changes.
    """

    def __init__(
        self,
        connect: Connect,
        settings: ElectionSettings,
        *,
        on_change: Callable[[bool], None] | None = None,
        on_leader: Callable[[str], None] | None = None,
        on_stuck: Callable[[], None] | None = None,
        chance: random.Random | None = None,
    ) -> None:
        self._connect = connect
        self._settings = settings
        self._on_change = on_change or (lambda _: None)
        self._on_leader = on_leader or (lambda _: None)
        self._leader = ""
        self._on_stuck = on_stuck or _end_process
        self._chance = chance or random.Random()  # noqa: S311 - jitter
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._work: asyncio.Task[None] | None = None
        self._ended = False  # stopped, possibly before the thread runs
        self._beat = time.monotonic()
        self._beating: asyncio.Task[None] | None = None
        self._acquired: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._lost: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._heard = threading.Event()
        self._sure_until = 0.0

    @property
    def is_leader(self) -> bool:
        return self._acquired.done() and not self._lost.done()

    def may_write(self) -> bool:
        """Return False once this process has led and may no longer be leader.

        Writes are allowed for the renew deadline, not for the whole lease: requests take time to
        arrive.
        """
        if not self._acquired.done():
            return True
        return not self._lost.done() and time.monotonic() < self._sure_until

    async def acquire(self) -> None:
        """Start the thread, and wait until this process is leader."""
        self._beating = asyncio.create_task(self._keep_beating())
        self._thread = threading.Thread(target=self._run, name="leader election", daemon=True)
        self._thread.start()
        await asyncio.wrap_future(self._acquired)

    async def wait_until_lost(self) -> None:
        # Cancelling the wait must not cancel the future: the lease would not be released.
        await asyncio.shield(asyncio.wrap_future(self._lost))
        self._heard.set()

    async def release(self) -> None:
        """Stop the election; release the lease if the settings request it."""
        self._ended = True
        if self._beating is not None:
            self._beating.cancel()
        loop, work = self._loop, self._work
        if loop is not None and work is not None:
            with contextlib.suppress(RuntimeError):  # its loop has ended
                loop.call_soon_threadsafe(work.cancel)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, _GIVING_BACK + 2 * _LAST_WORDS)

    async def _keep_beating(self) -> None:
        while True:
            self._beat = time.monotonic()
            await asyncio.sleep(_HEARTBEAT)

    def _run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                self._loop = runner.get_loop()
                with contextlib.suppress(asyncio.CancelledError):  # stopped while the thread ended
                    runner.run(self._elect())
        except Exception as error:
            _LOG.exception("leader election failed")
            if not self._acquired.done():
                self._acquired.set_exception(error)
            elif not self._acquired.cancelled() and not self._lost.done():
                self._lose()  # nothing renews the lease any longer

    async def _elect(self) -> None:
        self._work = asyncio.current_task()
        if self._ended:
            return
        async with self._connect() as cluster:
            lock = LeaseLock(cluster, self._settings)
            recorder = EventRecorder(
                cluster, "leader-election", instance=self._settings.identity, chance=self._chance
            )
            telling = asyncio.create_task(recorder.run())
            try:
                await self._acquire(lock)
                self._record_event(recorder, lock, "became leader")
                await self._renew(lock)
                self._record_event(recorder, lock, "stopped leading")
                self._lose()
            except asyncio.CancelledError:
                if self._settings.release_on_cancel and self.is_leader:
                    self._record_event(recorder, lock, "stopped leading")
                    with contextlib.suppress(TimeoutError):  # it ends later, by itself
                        await asyncio.wait_for(lock.release(), _GIVING_BACK)
                _call(self._on_change, False)
            finally:
                recorder.stop()
                try:
                    await asyncio.wait([telling], timeout=_LAST_WORDS)
                finally:
                    telling.cancel()
                    await asyncio.wait([telling])

    def _record_event(self, recorder: EventRecorder, lock: LeaseLock, what: str) -> None:
        """Record an Event on the Lease that says which replica led and when."""
        if lock.lease is not None:
            note = f"{self._settings.identity} {what}"
            recorder.event(lock.lease, NORMAL, "LeaderElection", "Elect", note)

    def _report_leader(self, lock: LeaseLock) -> None:
        """Report the leader when it changes."""
        if lock.holder and lock.holder != self._leader:
            self._leader = lock.holder
            if lock.holder != self._settings.identity:
                _LOG.info("another replica leads", extra={"holder": lock.holder})
            _call(self._on_leader, lock.holder)

    async def _acquire(self, lock: LeaseLock) -> None:
        limit = max(1.0, self._settings.renew_deadline / 2)
        while not await self._try(lock, limit):  # noqa: ASYNC110 - the lease is on the server
            await asyncio.sleep(self._settings.retry_period * (1 + _JITTER * self._chance.random()))
        _LOG.info("this replica leads", extra={"identity": self._settings.identity})
        _call(self._on_change, True)
        if not self._acquired.cancelled():
            self._acquired.set_result(None)

    async def _renew(self, lock: LeaseLock) -> None:
        """Renew the lease until the deadline passes without success, or the main loop is stuck."""
        deadline = self._settings.renew_deadline
        renewed = time.monotonic()
        while True:
            left = renewed + deadline - time.monotonic()
            await asyncio.sleep(max(0.0, min(self._settings.retry_period, left)))
            now = time.monotonic()
            if now - self._beat > deadline:
                _LOG.error("the event loop is stuck: giving up leadership")
                return
            # An attempt that hangs must not make this process miss the deadline.
            left = renewed + deadline - now
            if left > 0 and await self._try(lock, min(max(1.0, deadline / 2), left)):
                renewed = now
            elif lock.is_anothers:
                _LOG.error("another replica took the lease")
                return
            elif time.monotonic() - renewed >= deadline:
                _LOG.error("the lease was not renewed in time")
                return

    async def _try(self, lock: LeaseLock, limit: float) -> bool:
        begun = time.monotonic()
        try:
            async with asyncio.timeout(limit):
                holds = await lock.try_once()
            if holds:
                self._sure_until = begun + self._settings.renew_deadline
            return holds
        except TimeoutError:
            _LOG.warning("the API server did not answer the request for the lease")
            return False
        finally:
            self._report_leader(lock)

    def _lose(self) -> None:
        _call(self._on_change, False)
        self._lost.set_result(None)
        if not self._heard.wait(1.0):
            self._on_stuck()


def _call(listener: Callable[[T], None], fact: T) -> None:
    """Call a listener; its errors do not end leadership."""
    try:
        listener(fact)
    except Exception:
        _LOG.exception("a listener of the election failed")


def _end_process() -> None:
    logging.shutdown()
    os._exit(1)


def _micro_time(moment: datetime.datetime) -> str:
    """Format a time like Kubernetes' MicroTime: RFC 3339 with six decimals."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
