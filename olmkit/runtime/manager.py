"""Starts everything that runs in an operator, in a fixed order, and stops it in reverse order.

Probes answer while caches fill; webhooks start before caches, since a list may need a conversion;
what needs leadership starts last. During the stop, running reconciles still have a cache, and
webhooks still answer. The lease is released after all work has ended, so that two leaders never
work at the same time.
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
_LAST_MOMENT = 1.0  # seconds for cancelled tasks to clean up


class Group(IntEnum):
    """The groups of runnables, in the order in which they start; they stop in reverse order."""

    SERVERS = 1  # first, so that probes answer while caches fill
    WEBHOOKS = 2  # before caches: their lists may need a conversion
    CACHES = 3
    OTHERS = 4  # on every replica
    WARMUP = 5  # fills caches of controllers that wait for leadership
    LEADER = 6  # only on the leader


@runtime_checkable
class Runnable(Protocol):
    """Something that runs until it is cancelled or finished."""

    async def run(self) -> None:
        """Run; an error that it raises stops the manager."""


@runtime_checkable
class Stoppable(Protocol):
    """A runnable that can be stopped on request."""

    def stop(self) -> None:
        """Begin to stop; `run` returns soon after."""


@runtime_checkable
class Readiable(Protocol):
    """A runnable that needs time after its start to become ready."""

    async def wait_until_ready(self) -> None:
        """Wait until the runnable is ready for the groups that start after it."""


class Elector(Protocol):
    """Leader election among replicas."""

    async def acquire(self) -> None:
        """Wait until this process is leader."""

    async def wait_until_lost(self) -> None:
        """Wait until this process is no longer leader, or may not be."""

    async def release(self) -> None:
        """Give up leadership if this process has it, and end."""


class LeadershipLost(RemoteError):  # noqa: N818 - a fact, not a fault
    """Another replica may lead now: the process must end at once, with a code that is not 0."""


class ShutdownTimeout(OlmkitError):  # noqa: N818 - a fact, not a fault
    """Something did not stop within the graceful shutdown timeout."""


class Manager:
    """Runs the cache, the controllers and other runnables of one cluster.

    `graceful_shutdown_timeout`, in seconds or as `timedelta`, limits the whole stop: 0 does not
    wait, a negative value waits forever. The grace period of the pod should be longer.
    `max_concurrent_reconciles` and `concurrency`, whose keys are `Kind.group`, are the defaults of
    controllers that do not set a number. `traces` gets a span for each reconcile.
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
        # Not every elector knows when its lease expires.
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
        """Run `runnable` with its group, immediately if the group has started.

        A plain function is added to the group that needs leadership. Raises `RuntimeError` after
        the stop.
        """
        if self._stopped:
            raise RuntimeError("the manager has stopped")
        if isinstance(runnable, EventRecorder):
            runnable.is_sent = True
        self._groups[group].add(runnable if isinstance(runnable, Runnable) else _Plain(runnable))

    def enter(self, context: AbstractAsyncContextManager[object]) -> None:
        """Enter a context before anything starts, and leave it after everything has stopped.

        Use it, for example, for a session with an external system: reconciles that still run while
        the manager stops can use the session until they end. Contexts are left in reverse order.
        Replicas that wait for leadership also enter them. Raises `RuntimeError` once the manager
        runs.
        """
        if self._began:
            raise RuntimeError("the manager is already running: enter contexts before it starts")
        self._contexts.append(context)

    def recorder(self, controller: str) -> EventRecorder:
        """Return an event recorder that the manager runs; `controller` is the reporter.

        It stops last, with the servers, so that late events are sent.
        """
        made = EventRecorder(self.cluster, controller, registry=self.registry)
        self.add(made, Group.SERVERS)
        return made

    @property
    def controllers(self) -> Sequence[Controller]:
        """Return the controllers that were added."""
        return tuple(self._controllers.values())

    def add_controller(self, controller: Controller) -> None:
        """Run a controller; its name must be unique, since its metrics carry it."""
        if not isinstance(controller, Controller):
            raise TypeError(
                f"`add_controller` takes a `Controller`, not a `{type(controller).__name__}`: "
                "end the builder with `build(reconciler)`"
            )
        if controller.name in self._controllers:
            raise ValueError(f"a controller named {controller.name} already exists")
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
        """Start everything, run until `stop`, and stop everything; raise an error that ends it."""
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
        """Start a group, and wait until it is ready or the manager stops."""
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
        """Return the reconciles that are running."""
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
        """Stop the groups in reverse order, and cancel what does not end in time."""
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
    """Runnables that start and stop together."""

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
        """Stop all runnables; return the names of those that had to be cancelled."""
        loop = asyncio.get_running_loop()
        notified = set()
        for task, runnable in list(self._tasks.items()):
            if isinstance(runnable, Stoppable) and _request_stop(runnable):
                notified.add(task)
            else:
                task.cancel()
        pending = set(self._tasks)
        if pending:
            left = None if deadline is None else max(0.0, deadline - loop.time())
            _, pending = await asyncio.wait(pending, timeout=left)
        late = pending & notified
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
        # Finished tasks are removed: an author may add many short runnables.
        ended = self._tasks.pop(task)
        self._runnables = [one for one in self._runnables if one is not ended]
        if not task.cancelled():
            error = task.exception()
            if error is not None:
                cause = _first(error)
                # These errors need no traceback.
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
        """Wait for the informers that exist now; controllers wait for theirs."""
        await self._cache.wait_for_sync()


class _WarmUp:
    """Fills the caches and the queue of a controller that waits for leadership."""

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
    """Stop the managers on SIGINT or SIGTERM; a second signal ends the process with code 1.

    Call it once in a process, with all its managers.
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


def _request_stop(runnable: Stoppable) -> bool:
    """Ask a runnable to stop; return False if that fails, so that the others still stop."""
    try:
        runnable.stop()
    except Exception:
        _LOG.exception("cannot stop a runnable", extra={"runnable": _name(runnable)})
        return False
    return True


def _name(runnable: object) -> str:
    return str(getattr(runnable, "name", type(runnable).__name__))


def _first(error: BaseException) -> BaseException:
    """Return the first error of an exception group: one error stops a manager."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error
