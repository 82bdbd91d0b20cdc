"""Controllers: workers that take keys from the queue and call the reconciler.

| outcome | queue | limiter |
| --- | --- | --- |
| error raised | again with increasing delay, same priority | increases |
| error raised because a webhook does not respond | again with delays of at most 15 s | unchanged |
| `TerminalError` raised, also as a cause | nothing | unchanged |
| `Result(requeue_after=d)`, d > 0 | again after d | reset |
| anything else | nothing | reset |
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from olmkit.base.diagnostics import OlmkitError, RemoteError
from olmkit.kube.objects import GVK
from olmkit.runtime.durations import Duration, seconds
from olmkit.runtime.metrics import ControllerMetrics, Registry, WorkQueueMetrics
from olmkit.runtime.traces import PassSpan, Traces
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.watch.handler import Queue
from olmkit.runtime.watch.source import Ending, Source, Troubled
from olmkit.runtime.watch.watch_health import REFUSALS
from olmkit.runtime.work.failures import FAULTS, is_terminal, is_unanswered, message_of
from olmkit.runtime.work.reconcile import BlockingReconciler, Reconciler, Request, Result
from olmkit.runtime.work.reconciler_check import check_reconciler
from olmkit.runtime.work.threads import Threads
from olmkit.runtime.work.workqueue import CappedLimiter, ExponentialLimiter, RateLimiter, WorkQueue

_LOG = logging.getLogger(__name__)

reconcile_facts: contextvars.ContextVar[dict[str, str]] = contextvars.ContextVar("reconcile_facts")
"""The facts of every log line of a running reconcile: controller, object, reconcile_id."""


@dataclass(slots=True, kw_only=True)
class ControllerSettings:
    """The settings of a controller; times in seconds or as `timedelta`.

    If `max_concurrent_reconciles` is None, the manager's setting applies. `enable_warmup` fills the
    caches while another replica leads, so that a new leader starts faster. A source that does not
    sync within `cache_sync_timeout` stops the manager, unless the server rejected the request.
    """

    max_concurrent_reconciles: int | None = None
    cache_sync_timeout: Duration = 120.0
    reconciliation_timeout: Duration | None = None
    recover: bool = True
    need_leader_election: bool = True
    enable_warmup: bool = False
    limiter: RateLimiter | None = None

    def __post_init__(self) -> None:
        workers = self.max_concurrent_reconciles
        if workers is not None and workers < 1:
            raise ValueError(f"`max_concurrent_reconciles` must be at least 1, not {workers!r}")
        seconds(self.cache_sync_timeout, "cache_sync_timeout")
        if self.reconciliation_timeout is not None:
            seconds(self.reconciliation_timeout, "reconciliation_timeout")


class NotSynced(RemoteError):  # noqa: N818 - a fact, not a fault
    """A source of a controller did not sync in time."""


# The error is not about the object. Usually it is the webhook of this operator itself, which
# answers some time after the start: a deletion must not wait for twice that time.
_UNANSWERED = 15.0  # maximum seconds between two attempts
_MEASURED = 0.5  # seconds between two measurements of unfinished work
_LATE = 1.0  # seconds between two checks of a rejected watch
_BREATH = 0.004  # seconds of all workers together before other tasks run


_NOTED: list[list[Controller]] = []


@contextlib.contextmanager
def noted() -> Iterator[Sequence[Controller]]:
    """Collect the controllers that are built within the block."""
    built: list[Controller] = []
    _NOTED.append(built)
    try:
        yield built
    finally:
        _NOTED.remove(built)


class Controller:
    """Runs workers that reconcile the requests of sources.

    Without `registry`, the metrics are added to the registry of the manager. Raises `TypeError` if
    `reconciler` cannot be called with a request.
    """

    def __init__(
        self,
        name: str,
        reconciler: Reconciler | BlockingReconciler,
        sources: Sequence[Source],
        *,
        registry: Registry | None = None,
        settings: ControllerSettings | None = None,
        gvk: GVK | None = None,
    ) -> None:
        self.name = name
        self.settings = settings or ControllerSettings()
        self.need_leader_election = self.settings.need_leader_election
        check_reconciler(reconciler)
        for built in _NOTED:
            built.append(self)
        self._reconciler = reconciler
        self._waits = inspect.iscoroutinefunction(reconciler.reconcile)
        self._sources = list(sources)
        self._refused: list[Source] = []
        self.gvk = gvk
        self.workers = self.settings.max_concurrent_reconciles or 1
        self._sync_timeout = seconds(self.settings.cache_sync_timeout, "cache_sync_timeout")
        timeout = self.settings.reconciliation_timeout
        self._timeout = None if timeout is None else seconds(timeout, "reconciliation_timeout")
        self.queue: Queue = WorkQueue(limiter=self.settings.limiter)
        self._unanswered = CappedLimiter(ExponentialLimiter(), _UNANSWERED)
        self._has_registry = registry is not None
        self._measure_in(registry or Registry())
        self._is_forgotten = True  # until it is added to a manager or run
        self._started = False
        self._stopping = asyncio.Event()
        self._cache: Cache | None = None
        self._threads: Threads | None = None
        self._traces: Traces | None = None

    def __del__(self) -> None:
        if getattr(self, "_is_forgotten", False):
            _LOG.error(
                "a controller was built but not run",
                extra={
                    "controller": self.name,
                    "hint": "pass it to `manager.add_controller`",
                },
            )

    def joins(self, registry: Registry, traces: Traces | None = None) -> None:
        """Add the metrics to the registry of a manager, unless the controller has a registry.

        With `traces`, reconciles are traced from then on.
        """
        self._is_forgotten = False
        self._traces = traces
        if not self._has_registry:
            self._has_registry = True
            self._measure_in(registry)

    def _measure_in(self, registry: Registry) -> None:
        self.metrics = ControllerMetrics(registry, self.name)
        self._queue_metrics = WorkQueueMetrics(registry, self.name)
        self.queue.measured_by(self._queue_metrics)

    async def run(self, cache: Cache) -> None:
        """Start the sources, wait until they are synced, and reconcile until `stop`.

        Raises `NotSynced`, with the source and the reason, if a source does not sync in time. A
        source that the server rejects is not an error, since a restart would not help: the
        reconciler gets the error when it reads, and may report it in the status.
        """
        if self._started:
            raise RuntimeError(f"controller {self.name} was started before")
        self._started = True
        self._is_forgotten = False
        self.metrics.max_concurrent.set(self.workers)
        try:
            begun = asyncio.get_running_loop().time()
            if not await self.warm_up(cache):
                return
            took = round(asyncio.get_running_loop().time() - begun, 3)
            facts = {"controller": self.name, "workers": self.workers, "seconds": took}
            _LOG.info("controller works", extra=facts)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._measure())]
                tasks += [group.create_task(self._await_grant(one)) for one in self._refused]
                async with asyncio.TaskGroup() as workers:
                    for _ in range(self.workers):
                        workers.create_task(self._work())
                for task in tasks:
                    task.cancel()
        finally:
            for source in self._sources:
                if isinstance(source, Ending):
                    source.end()
            if self._threads is not None:
                self._threads.end()
            _LOG.info("controller has stopped", extra={"controller": self.name})

    async def warm_up(self, cache: Cache) -> bool:
        """Start the sources once, and wait until they are synced; return False if stopped first."""
        if self._cache is None:
            self._cache = cache
            watched = ", ".join(map(str, self._sources))
            _LOG.info("controller starts", extra={"controller": self.name, "watches": watched})
            for source in self._sources:
                await source.start(cache, self.queue)
        return await self._synced()

    async def watch(self, source: Source) -> None:
        """Add a source; it starts at once if the controller is running."""
        self._sources.append(source)
        if self._cache is not None:
            await source.start(self._cache, self.queue)

    def stop(self) -> None:
        """Take no new keys; `run` returns once running reconciles are finished."""
        self._stopping.set()
        self.queue.shut_down()

    async def _synced(self) -> bool:
        """Wait for all sources; return False if `stop` was called first."""
        stopping = asyncio.ensure_future(self._stopping.wait())
        syncing = {
            asyncio.ensure_future(source.wait_for_sync()): source for source in self._sources
        }
        self._refused = []
        try:
            deadline = asyncio.get_running_loop().time() + self._sync_timeout
            for task, source in syncing.items():
                left = max(0.0, deadline - asyncio.get_running_loop().time())
                await asyncio.wait(
                    [task, stopping], timeout=left, return_when=asyncio.FIRST_COMPLETED
                )
                if stopping.done():
                    return False
                if not task.done():
                    raise self._not_synced(source)
                try:
                    await task
                except REFUSALS as refusal:
                    self._refused.append(source)
                    facts = {"watch": str(source), "error": str(refusal), "hint": refusal.hint}
                    _LOG.error(
                        "running without a watch that the server rejected",
                        extra={"controller": self.name} | facts,
                    )
            return True
        finally:
            stopping.cancel()
            for task in syncing:
                task.cancel()
            await asyncio.gather(*syncing, return_exceptions=True)

    def _not_synced(self, source: Source) -> NotSynced:
        trouble = source.trouble if isinstance(source, Troubled) else ""
        return NotSynced(
            f"controller {self.name}: the watch on {source} did not sync within "
            f"{self._sync_timeout:g} s" + (trouble and f": {trouble}"),
            hint="the API server must answer, and accept the operator's credentials",
        )

    async def _await_grant(self, source: Source) -> None:
        """Wait until a rejected source can be read, then retry the keys that failed."""
        while True:
            try:
                await source.wait_for_sync()
            except REFUSALS:
                await asyncio.sleep(_LATE)
            else:
                self.queue.hasten()
                return

    async def _measure(self) -> None:
        """Update the gauges of unfinished work periodically."""
        loop = asyncio.get_running_loop()
        while True:
            ages = [loop.time() - since for since in self.queue.working().values()]
            self._queue_metrics.unfinished.set(sum(ages))
            self._queue_metrics.longest_running.set(max(ages, default=0.0))
            await asyncio.sleep(_MEASURED)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        share = _BREATH / self.workers
        breath = loop.time() + share
        while (item := await self.queue.get()) is not None:
            request, priority = item
            self.metrics.active_workers.inc()
            try:
                await self._handle(request, priority)
            finally:
                self.metrics.active_workers.dec()
                self.queue.done(request)
            if loop.time() >= breath:
                # With a full queue, reconciles that never wait would block all other tasks.
                await asyncio.sleep(0)
                breath = loop.time() + share

    async def _handle(self, request: Request, priority: int) -> None:
        facts = {
            "controller": self.name,
            "object": str(request),
            "reconcile_id": _random_id(),
        }
        if self.gvk is not None:
            facts |= {"group": self.gvk.group, "kind": self.gvk.kind}
        if self._traces is None:
            await self._run_pass(request, priority, facts, None)
            return
        with self._traces.of_pass(self.name, facts) as span:
            await self._run_pass(request, priority, facts | {"trace_id": span.trace_id}, span)

    async def _run_pass(
        self, request: Request, priority: int, facts: dict[str, str], span: PassSpan | None
    ) -> None:
        """Run one reconcile and handle its outcome."""
        token = reconcile_facts.set(facts)
        loop = asyncio.get_running_loop()
        begun = loop.time()
        failure: Exception | None = None
        result = Result()
        try:
            result = await self._reconcile(request)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # a stop of the manager is not an outcome
            failure = RuntimeError("the reconcile was cancelled")
        except MemoryError:
            raise  # the process is not in a reliable state
        except Exception as error:
            failure = error
        finally:
            took = loop.time() - begun
            self.metrics.seconds.observe(took)
            reconcile_facts.reset(token)
        if failure is None:
            outcome = self._handle_success(request, priority, result)
        else:
            outcome = self._handle_failure(request, priority, failure, facts, took)
        if span is not None:
            span.ended(outcome, failure)
        if failure is None and _LOG.isEnabledFor(logging.DEBUG):
            seen = {"outcome": outcome, "seconds": round(took, 4)}
            _LOG.debug("reconciled", extra=facts | seen | _delay(result))

    async def _reconcile(self, request: Request) -> Result:
        deadline = self._timeout
        timer = asyncio.timeout(deadline)
        try:
            async with timer:
                found = await self._call(request)
        except TimeoutError as error:
            if timer.expired():
                raise TimeoutError(f"the reconcile took longer than {deadline:g} s") from error
            raise
        finally:
            if timer.expired():
                self.metrics.timeouts.inc()
        if found is None:
            return Result()
        if not isinstance(found, Result):
            raise TypeError(f"a reconciler must return a `Result` or None, not {found!r:.100}")
        return found

    async def _call(self, request: Request) -> object:
        found: object
        if self._waits:
            found = self._reconciler.reconcile(request)
        else:
            found = await self._in_thread(request)
        return await found if inspect.isawaitable(found) else found

    async def _in_thread(self, request: Request) -> object:
        """Run a blocking reconcile and wait for its thread, so that no key has two workers."""
        if self._threads is None:
            self._threads = Threads(self.workers, f"controller {self.name}")
        context = contextvars.copy_context()
        running = asyncio.wrap_future(
            self._threads.run(lambda: context.run(self._reconciler.reconcile, request))
        )
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):
                await asyncio.shield(running)  # unless this is cancelled as well
            raise

    def _handle_success(self, request: Request, priority: int, result: Result) -> str:
        """Count a success and reset the limiter; return the outcome's name in metrics."""
        self.queue.forget(request)
        self._unanswered.forget(request)
        if result.requeue_after > 0:
            self.metrics.requeue_after.inc()
            again = priority if result.priority is None else result.priority
            self.queue.add(request, after=result.requeue_after, priority=again)
            return "requeue_after"
        self.metrics.success.inc()
        return "success"

    def _handle_failure(
        self,
        request: Request,
        priority: int,
        error: Exception,
        facts: Mapping[str, str],
        took: float,
    ) -> str:
        """Count and log a failure, and retry unless the error is terminal; return the outcome."""
        seen: dict[str, object] = {**facts, "seconds": round(took, 4)}
        self.metrics.error.inc()
        self.metrics.errors.inc()
        if is_terminal(error):
            self.metrics.terminal_errors.inc()
            _LOG.error(
                "reconcile failed, terminal error", extra=seen | {"error": message_of(error)}
            )
            return "terminal_error"
        if isinstance(error, OlmkitError):
            # The server's message is enough; a traceback adds nothing.
            _LOG.error("reconcile failed", extra=seen | {"error": message_of(error)})
        else:
            _LOG.error("reconcile failed", extra=seen, exc_info=error)
        if isinstance(error, FAULTS):
            self.metrics.panics.inc()
            if not self.settings.recover:
                raise error
        own = self._unanswered if self.settings.limiter is None and is_unanswered(error) else None
        self.queue.add(request, rate_limited=True, limiter=own, priority=priority)
        return "error"


def _delay(result: Result) -> dict[str, float]:
    return {"requeue_after": result.requeue_after} if result.requeue_after else {}


def _random_id() -> str:
    """Return a UUID that identifies a reconcile in logs, from `random`: it is not secret."""
    digits = f"{random.getrandbits(124):031x}"
    return f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-a{digits[15:18]}-{digits[18:30]}"
