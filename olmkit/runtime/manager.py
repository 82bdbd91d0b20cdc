"""Starts everything that runs together, in an order that has reasons, and stops it in reverse.

Probes answer while caches fill; webhooks serve before caches, since a list may
need a conversion; what needs leadership comes last. On stop, running reconciles
still have a cache and webhooks still answer. The lease is given back only after
all work has ended, or two leaders would work at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from enum import IntEnum
from typing import Protocol, runtime_checkable

from olmkit.base.diagnostics import OlmkitError, RemoteError
from olmkit.kube.api import Cluster
from olmkit.kube.objects import GVK
from olmkit.runtime.client import Client
from olmkit.runtime.durations import Duration, seconds
from olmkit.runtime.events import EventRecorder
from olmkit.runtime.lag import LoopLag
from olmkit.runtime.lead.fence import FencedCluster
from olmkit.runtime.metrics import Registry
from olmkit.runtime.traces import Traces
from olmkit.runtime.watch.cache import Cache, CacheSettings
from olmkit.runtime.watch.scope import check_gvk
from olmkit.runtime.work.controller import Controller

_LOG = logging.getLogger(__name__)
_LAST_MOMENT = 1.0  # for what was cancelled, to clean up


class Group(IntEnum):
    """Started in this order, stopped in reverse."""

    SERVERS = 1  # first, so that probes answer while caches fill
    WEBHOOKS = 2  # before caches: their lists may need a conversion
    CACHES = 3
    OTHERS = 4  # on every replica
    WARMUP = 5  # what fills caches for controllers that wait for leadership
    LEADER = 6  # on the leader alone


@runtime_checkable
class Runnable(Protocol):
    """Something that runs until it is cancelled, or is done."""

    async def run(self) -> None:
        """Work; an error that it raises stops the manager."""


@runtime_checkable
class Stoppable(Protocol):
    """A runnable that ends by itself on request."""

    def stop(self) -> None:
        """Begin to end; `run` returns soon."""


@runtime_checkable
class Readiable(Protocol):
    """A runnable that is not ready as soon as it runs."""

    async def wait_until_ready(self) -> None:
        """Until others may rely on it."""


class Elector(Protocol):
    """Leadership among replicas."""

    async def acquire(self) -> None:
        """Until this process leads."""

    async def wait_until_lost(self) -> None:
        """Until it no longer leads, or cannot be sure of it."""

    async def release(self) -> None:
        """Give leadership back, if held, and end."""


class LeadershipLost(RemoteError):  # noqa: N818 - a fact, not a fault
    """Another replica may lead now: the process must end at once, with a code that is not 0."""


class ShutdownTimeout(OlmkitError):  # noqa: N818 - a fact, not a fault
    """Something did not end within the graceful time."""


class Manager:
    """Cluster, cache, client, controllers and whatever else runs with them.

    `graceful_shutdown_timeout`, in seconds or as `timedelta`, holds for all of the stop: 0 does
    not wait, a negative one waits forever. The pod's grace period should be longer.
    `max_concurrent_reconciles` and, by `Kind.group`, `concurrency` hold for controllers
    that do not say their own number. `traces` has a span for each pass of them.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        name: str,
        cache_settings: CacheSettings | None = None,
        registry: Registry | None = None,
        elector: Elector | None = None,
        graceful_shutdown_timeout: Duration = 30.0,
        uncached: frozenset[GVK] = frozenset(),
        max_concurrent_reconciles: int = 1,
        concurrency: Mapping[str, int] | None = None,
        traces: Traces | None = None,
    ) -> None:
        self.cluster = cluster
        self.name = name
        self.registry = registry or Registry()
        self.cache = Cache(cluster, cache_settings)
        # Not every elector knows until when its lease is respected.
        may_write = getattr(elector, "may_write", None)
        for kind in uncached:
            check_gvk(kind, "uncached")
        fenced: Cluster = FencedCluster(cluster, may_write) if may_write else cluster
        self.client = Client(fenced, self.cache, field_manager=name, uncached=uncached)
        self.ready = False
        self._elector = elector
        self._grace = seconds(graceful_shutdown_timeout, "graceful_shutdown_timeout")
        self._groups = {group: _Group(group.name.lower(), self._fail) for group in Group}
        self._contexts: list[AbstractAsyncContextManager[object]] = []
        self._began = False
        self._stop = asyncio.Event()
        self._stopped = False
        self._error: BaseException | None = None
        self._controllers: dict[str, Controller] = {}
        self._traces = traces
        self._workers = max_concurrent_reconciles
        self._workers_of = dict(concurrency or {})
        self.lag = LoopLag(self._active)
        self._groups[Group.SERVERS].add(self.lag)
        self._groups[Group.CACHES].add(_CacheRunnable(self.cache))

    def add(
        self, runnable: Runnable | Callable[[], Awaitable[None]], group: Group = Group.LEADER
    ) -> None:
        """Run `runnable` with its group; immediately if the group has started.

        A plain function counts as needing leadership. Raises `RuntimeError` after the stop.
        """
        if self._stopped:
            raise RuntimeError("the manager has stopped")
        if isinstance(runnable, EventRecorder):
            runnable.is_sent = True
        self._groups[group].add(runnable if isinstance(runnable, Runnable) else _Plain(runnable))

    def enter(self, context: AbstractAsyncContextManager[object]) -> None:
        """Enter a context before anything starts, and leave it after everything has stopped.

        That is the place of a session with an external system: reconcilers that still run while
        the manager stops have it to their end. Contexts are left in reverse order. Replicas that
        wait for leadership enter theirs too. Raises `RuntimeError` once the manager runs.
        """
        if self._began:
            raise RuntimeError("the manager runs already: enter contexts before")
        self._contexts.append(context)

    def recorder(self, controller: str) -> EventRecorder:
        """A recorder of events whose sending is taken care of; `controller` names who reports.

        It stops with the servers, which stop last, so that late events are sent.
        """
        made = EventRecorder(self.cluster, controller, registry=self.registry)
        self.add(made, Group.SERVERS)
        return made

    @property
    def controllers(self) -> Sequence[Controller]:
        """The controllers that were added."""
        return tuple(self._controllers.values())

    def add_controller(self, controller: Controller) -> None:
        """Run a controller; its name must be unique, since its metrics carry it."""
        if not isinstance(controller, Controller):
            raise TypeError(
                f"`add_controller` takes a `Controller`, not a `{type(controller).__name__}`: "
                "end the builder with `build(reconciler)`"
            )
        if controller.name in self._controllers:
            raise ValueError(f"there is a controller {controller.name} already")
        self._controllers[controller.name] = controller
        controller.joins(self.registry, self._traces)
        if controller.settings.max_concurrent_reconciles is None:
            gvk = controller.gvk
            kind = f"{gvk.kind}.{gvk.group}".rstrip(".") if gvk else ""
            controller.workers = self._workers_of.get(kind, self._workers)
        if controller.need_leader_election and controller.settings.enable_warmup:
            self.add(_WarmUp(controller, self.cache), Group.WARMUP)
        group = Group.LEADER if controller.need_leader_election else Group.OTHERS
        self.add(_ControllerRunnable(controller, self.cache), group)

    def stop(self) -> None:
        """Begin to stop."""
        self._stop.set()

    async def run(self) -> None:
        """Start everything, work until `stop`, end everything; raises what ended it early."""
        self._began = True
        async with AsyncExitStack() as stack:
            for context in self._contexts:
                await stack.enter_async_context(context)
            await self._run()

    async def _run(self) -> None:
        leading: asyncio.Task[None] | None = None
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            for group in sorted(set(Group) - {Group.LEADER}):
                await self._start(group)
            leading = asyncio.create_task(self._lead())
            self.ready = True
            facts = {"manager": self.name, "seconds": round(loop.time() - begun, 3)}
            _LOG.info("manager has started", extra=facts)
            await self._stop.wait()
        except _Stopped:
            pass
        finally:
            self.ready = False
            self._stopped = True
            begun = loop.time()
            _LOG.info("manager stops", extra={"manager": self.name})
            if leading is not None:
                leading.cancel()
                await asyncio.wait([leading])
            await self._end()
            facts = {"manager": self.name, "seconds": round(loop.time() - begun, 3)}
            _LOG.info("manager has stopped", extra=facts)
        if self._error is not None:
            raise self._error

    async def _start(self, group: Group) -> None:
        """Start a group and wait until it is ready, or the manager stops."""
        starting = asyncio.ensure_future(self._groups[group].start())
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait([starting, stopping], return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                raise _Stopped
            await starting
        finally:
            for task in (starting, stopping):
                task.cancel()
            await asyncio.wait([starting, stopping])

    async def _lead(self) -> None:
        try:
            if self._elector is not None:
                await self._elector.acquire()
            async with asyncio.TaskGroup() as tasks:
                if self._elector is not None:
                    tasks.create_task(self._watch_leadership(self._elector))
                await self._groups[Group.LEADER].start()
        except* Exception as errors:
            self._fail(_first(errors))

    async def _watch_leadership(self, elector: Elector) -> None:
        await elector.wait_until_lost()
        raise LeadershipLost(f"{self.name} no longer leads")

    def _active(self) -> list[str]:
        """The reconciles that run just now."""
        return [
            f"{controller.name} {key}"
            for controller in self._controllers.values()
            for key in controller.queue.working()
        ]

    def _fail(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error
        self._stop.set()

    async def _end(self) -> None:
        """Stop in reverse order; what does not end in time is cancelled."""
        loop = asyncio.get_running_loop()
        grace = 0.0 if isinstance(self._error, LeadershipLost) else self._grace
        deadline = None if grace < 0 else loop.time() + grace
        late: list[str] = []
        for group in (
            Group.WARMUP,
            Group.OTHERS,
            Group.LEADER,
            Group.CACHES,
            Group.WEBHOOKS,
            Group.SERVERS,
        ):
            late += await self._groups[group].stop(deadline)
        if self._elector is not None and not isinstance(self._error, LeadershipLost):
            await self._elector.release()
        if late and self._error is None and self._grace > 0:
            self._error = ShutdownTimeout(
                f"not ended within {self._grace:g} s: {', '.join(sorted(late))}"
            )


class _Stopped(Exception):  # noqa: N818 - control flow
    """The manager was stopped while it started."""


class _Group:
    """Runnables that start together."""

    def __init__(self, name: str, fail: Callable[[BaseException], None]) -> None:
        self.name = name
        self._fail = fail
        self._runnables: list[Runnable] = []
        self._tasks: dict[asyncio.Task[None], Runnable] = {}
        self._started = False

    def add(self, runnable: Runnable) -> None:
        self._runnables.append(runnable)
        if self._started:
            self._launch(runnable)

    async def start(self) -> None:
        self._started = True
        for runnable in list(self._runnables):
            self._launch(runnable)
        for runnable in list(self._runnables):
            if isinstance(runnable, Readiable):
                await runnable.wait_until_ready()

    async def stop(self, deadline: float | None) -> Sequence[str]:
        """End all; the names of what had to be cancelled."""
        loop = asyncio.get_running_loop()
        told = set()
        for task, runnable in list(self._tasks.items()):
            if isinstance(runnable, Stoppable) and _told(runnable):
                told.add(task)
            else:
                task.cancel()
        pending = set(self._tasks)
        if pending:
            left = None if deadline is None else max(0.0, deadline - loop.time())
            _, pending = await asyncio.wait(pending, timeout=left)
        late = pending & told
        for task in pending:
            task.cancel()
        if pending:
            _, pending = await asyncio.wait(pending, timeout=_LAST_MOMENT)
        return [task.get_name() for task in late | pending]

    def _launch(self, runnable: Runnable) -> None:
        task = asyncio.create_task(runnable.run(), name=_name(runnable))
        self._tasks[task] = runnable
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        # What has ended is forgotten: a runnable may be added for each of many things.
        ended = self._tasks.pop(task)
        self._runnables = [one for one in self._runnables if one is not ended]
        if not task.cancelled():
            error = task.exception()
            if error is not None:
                cause = _first(error)
                # What is said in words needs no place in the program.
                trace = None if isinstance(cause, OlmkitError) else error
                facts = {"runnable": task.get_name(), "error": str(cause)}
                _LOG.error("runnable failed", extra=facts, exc_info=trace)
                self._fail(cause)


class _Plain:
    def __init__(self, function: Callable[[], Awaitable[None]]) -> None:
        self.name = getattr(function, "__name__", "function")
        self._function = function

    async def run(self) -> None:
        await self._function()


class _CacheRunnable:
    name = "cache"

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    async def run(self) -> None:
        await self._cache.run()

    async def wait_until_ready(self) -> None:
        """Informers that are known by now; those of controllers sync when they start."""
        await self._cache.wait_for_sync()


class _WarmUp:
    """Fills the caches of a controller that waits for leadership; its queue waits with it."""

    def __init__(self, controller: Controller, cache: Cache) -> None:
        self.name = f"warm-up of controller {controller.name}"
        self._controller = controller
        self._cache = cache

    async def run(self) -> None:
        await self._controller.warm_up(self._cache)


class _ControllerRunnable:
    def __init__(self, controller: Controller, cache: Cache) -> None:
        self.name = f"controller {controller.name}"
        self._controller = controller
        self._cache = cache

    async def run(self) -> None:
        await self._controller.run(self._cache)

    def stop(self) -> None:
        self._controller.stop()


def stop_on_signals(*managers: Manager) -> None:
    """SIGINT or SIGTERM stops gracefully; a second one ends the process at once with code 1.

    Once a process: who has several managers gives all of them.
    """
    loop = asyncio.get_running_loop()
    seen = False

    def told() -> None:
        nonlocal seen
        if seen:
            os._exit(1)
        seen = True
        for manager in managers:
            manager.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told)


def _told(runnable: Stoppable) -> bool:
    """Tell it to stop; False when that fails, which must not keep the others from their end."""
    try:
        runnable.stop()
    except Exception:
        _LOG.exception("runnable did not take its stop", extra={"runnable": _name(runnable)})
        return False
    return True


def _name(runnable: object) -> str:
    return str(getattr(runnable, "name", type(runnable).__name__))


def _first(error: BaseException) -> BaseException:
    """The first error of a group: a manager is stopped by one cause."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error
