"""The effect of each result of a reconcile on the queue, the rate limiter and the counters."""

from __future__ import annotations

import asyncio
import datetime
import re
import threading
import time
from collections.abc import Callable
from typing import Any, cast

import pytest

from olmkit.kube.api import Cluster, ClusterError
from olmkit.kube.objects import GVK
from olmkit.runtime.client import Client
from olmkit.runtime.metrics import Registry
from olmkit.runtime.watch.cache import Cache
from olmkit.runtime.work.builder import ControllerBuilder
from olmkit.runtime.work.controller import Controller, ControllerSettings, reconcile_facts
from olmkit.runtime.work.reconcile import Request, Result, TerminalError
from olmkit.runtime.work.workqueue import FastSlowLimiter
from olmkit.testing import clock

KEY = Request("a", "n")


class _Reconciler:
    """Returns the results of a list, then succeeds; records when it was called."""

    def __init__(self, *outcomes: Any) -> None:
        self.outcomes = list(outcomes)
        self.times: list[float] = []

    async def reconcile(self, request: Request) -> Result | None:  # noqa: ARG002
        loop = asyncio.get_running_loop()
        self.times.append(loop.time())
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, BaseException):
            raise outcome
        if callable(outcome):
            return await outcome()
        return outcome


def _terminal_cause() -> Exception:
    error = ValueError("wrapped")
    error.__cause__ = TerminalError("for good")
    return error


def _while_handling(terminal: TerminalError, error: Exception) -> Exception:
    error.__context__ = terminal
    return error


class _UnprintableError(TerminalError):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def _run(
    reconciler: _Reconciler,
    *,
    seconds: float = 300,
    settings: ControllerSettings | None = None,
    during: Callable[[Controller], None] = lambda controller: controller.queue.add(KEY),
) -> tuple[Controller, str]:
    registry = Registry()

    async def scenario() -> Controller:
        controller = Controller("c", reconciler, [], registry=registry, settings=settings)
        task = asyncio.ensure_future(controller.run(Cache(None)))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        during(controller)
        await asyncio.sleep(seconds)
        controller.stop()
        await task
        return controller

    return clock.run(scenario()), registry.render()


def _pauses(reconciler: _Reconciler) -> list[float]:
    return [
        round(after - before, 3)
        for before, after in zip(reconciler.times, reconciler.times[1:], strict=False)
    ]


def _count(text: str, series: str) -> int:
    return next(
        int(float(line.split()[-1])) for line in text.splitlines() if line.startswith(series)
    )


RESULTS = 'controller_runtime_reconcile_total{controller="c",result='


def test_a_success_is_forgotten() -> None:
    reconciler = _Reconciler()
    controller, text = _run(reconciler)
    assert len(reconciler.times) == 1
    assert controller.queue.num_requeues(KEY) == 0
    assert _count(text, RESULTS + '"success"}') == 1


def test_an_error_is_retried_with_growing_delay_until_it_succeeds() -> None:
    reconciler = _Reconciler(*[ClusterError("away") for _ in range(4)])
    controller, text = _run(reconciler)
    assert _pauses(reconciler) == [0.005, 0.01, 0.02, 0.04]
    assert controller.queue.num_requeues(KEY) == 0
    assert _count(text, RESULTS + '"error"}') == 4
    assert _count(text, 'controller_runtime_reconcile_errors_total{controller="c"}') == 4
    assert _count(text, 'controller_runtime_reconcile_panics_total{controller="c"}') == 0


def _unanswered() -> ClusterError:
    return ClusterError(
        'Internal error occurred: failed calling webhook "m.kb.io": connection refused',
        temporary=True,
    )


def _caused(cause: Exception) -> Exception:
    error = RuntimeError("not written")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda error: error,
        _caused,
        lambda error: ExceptionGroup("both", [error, _unanswered()]),
    ],
)
def test_a_webhook_without_an_answer_is_retried_within_15_seconds(
    wrapped: Callable[[Exception], Exception],
) -> None:
    reconciler = _Reconciler(*[wrapped(_unanswered()) for _ in range(16)], ClusterError("away"))
    controller, _ = _run(reconciler)
    pauses = _pauses(reconciler)
    assert pauses[:3] == [0.005, 0.01, 0.02]
    assert max(pauses) == 15.0
    # Another failure begins with the shortest delay: those of the webhook do not count.
    assert pauses[16] == 0.005
    assert controller.queue.num_requeues(KEY) == 0


@pytest.mark.parametrize(
    "error",
    [
        ClusterError('admission webhook "v.kb.io" denied the request: no', code=403),
        ExceptionGroup("both", [ClusterError("away"), _unanswered()]),
    ],
)
def test_other_failures_have_the_usual_delays(error: Exception) -> None:
    reconciler = _Reconciler(*[error] * 14)
    _run(reconciler)
    assert _pauses(reconciler)[13] == 40.96


def test_a_custom_rate_limiter_also_applies_to_webhooks() -> None:
    reconciler = _Reconciler(*[_unanswered()] * 3)
    settings = ControllerSettings(limiter=FastSlowLimiter(1.0, 60.0, 2))
    _run(reconciler, settings=settings)
    assert _pauses(reconciler) == [1.0, 1.0, 60.0]


@pytest.mark.parametrize(
    "error",
    [
        TerminalError("no"),
        _terminal_cause(),
        ExceptionGroup("all parts", [TerminalError("no"), _terminal_cause()]),
        _UnprintableError(),
    ],
    ids=["itself", "cause", "group", "without words"],
)
def test_a_terminal_error_is_not_retried_and_not_forgotten(error: Exception) -> None:
    reconciler = _Reconciler(ClusterError("away"), error)
    controller, text = _run(reconciler)
    assert len(reconciler.times) == 2
    assert controller.queue.num_requeues(KEY) == 1
    assert _count(text, 'controller_runtime_terminal_reconcile_errors_total{controller="c"}') == 1


def test_a_delay_is_applied_and_resets_the_rate_limiter() -> None:
    reconciler = _Reconciler(ClusterError("away"), Result(requeue_after=60), Result())
    controller, text = _run(reconciler)
    assert _pauses(reconciler) == [0.005, 60.0]
    assert controller.queue.num_requeues(KEY) == 0
    assert _count(text, RESULTS + '"requeue_after"}') == 1
    assert _count(text, RESULTS + '"success"}') == 1


def test_an_exception_is_counted_as_a_panic_and_retried() -> None:
    reconciler = _Reconciler(KeyError("x"))
    _, text = _run(reconciler)
    assert len(reconciler.times) == 2
    assert _count(text, 'controller_runtime_reconcile_panics_total{controller="c"}') == 1


def test_a_reconcile_that_takes_too_long_is_cancelled_and_retried() -> None:
    async def slow() -> Result:
        await asyncio.sleep(3600)
        raise AssertionError("unreachable")

    reconciler = _Reconciler(slow)
    _, text = _run(reconciler, settings=ControllerSettings(reconciliation_timeout=5))
    assert _pauses(reconciler) == [5.005]
    assert _count(text, 'controller_runtime_reconcile_timeouts_total{controller="c"}') == 1


def test_a_cancelled_child_task_is_an_ordinary_error() -> None:
    reconciler = _Reconciler(asyncio.CancelledError())
    _, text = _run(reconciler)
    assert len(reconciler.times) == 2
    assert _count(text, RESULTS + '"error"}') == 1


def test_a_running_reconcile_can_finish_after_stop() -> None:
    done: list[bool] = []

    async def slow() -> Result:
        await asyncio.sleep(500)
        done.append(True)
        return Result()

    _run(_Reconciler(slow), seconds=1)
    assert done == [True]


def test_one_key_is_never_with_two_workers_and_two_keys_run_in_parallel() -> None:
    async def slow() -> Result:
        await asyncio.sleep(10)
        return Result()

    reconciler = _Reconciler(slow, slow, slow)

    def during(controller: Controller) -> None:
        for key in (KEY, Request("b", "n"), KEY):
            controller.queue.add(key)

    settings = ControllerSettings(max_concurrent_reconciles=2)
    _run(reconciler, settings=settings, during=during)
    assert _pauses(reconciler) == [0.0]


@pytest.mark.parametrize(
    ("builder", "words"),
    [
        (ControllerBuilder(), "needs a name"),
        (ControllerBuilder().named("x"), "something to watch"),
        (ControllerBuilder().named("x").owns(GVK(group="", version="v1", kind="Pod")), "primary"),
    ],
)
def test_an_invalid_controller_is_refused(builder: ControllerBuilder, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        builder.build(_Reconciler())


@pytest.mark.parametrize("workers", [1, 10])
def test_other_tasks_run_during_a_full_queue_of_passes_without_waits(workers: int) -> None:
    class Busy:
        passes = 0

        async def reconcile(self, request: Request) -> None:  # noqa: ARG002
            until = time.perf_counter() + 0.002
            while time.perf_counter() < until:
                pass
            self.passes += 1

    async def scenario() -> int:
        busy = Busy()
        settings = ControllerSettings(max_concurrent_reconciles=workers)
        controller = Controller("c", busy, [], settings=settings)
        for number in range(60):
            controller.queue.add(Request(str(number)))
        task = asyncio.ensure_future(controller.run(Cache(None)))  # type: ignore[arg-type]
        turns = 0
        while busy.passes < 60:
            await asyncio.sleep(0)
            turns += 1
        controller.stop()
        await task
        return turns

    assert asyncio.run(scenario()) > 5


def test_a_return_value_that_is_not_a_result_is_an_ordinary_error() -> None:
    reconciler = _Reconciler(True, {"requeue": True})
    _, text = _run(reconciler)
    assert len(reconciler.times) == 3
    assert _count(text, RESULTS + '"error"}') == 2
    assert _count(text, 'controller_runtime_reconcile_panics_total{controller="c"}') == 2


def test_a_reconcile_that_outlives_its_deadline_has_its_own_result() -> None:
    async def stubborn() -> Result:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return Result(requeue_after=7)
        raise AssertionError("unreachable")

    reconciler = _Reconciler(stubborn)
    _, text = _run(reconciler, settings=ControllerSettings(reconciliation_timeout=5))
    assert _pauses(reconciler) == [12]
    assert _count(text, 'controller_runtime_reconcile_timeouts_total{controller="c"}') == 1
    assert _count(text, RESULTS + '"requeue_after"}') == 1


def test_without_recovery_an_exception_ends_the_controller() -> None:
    reconciler = _Reconciler(KeyError("x"))
    with pytest.raises(BaseExceptionGroup):
        _run(reconciler, settings=ControllerSettings(recover=False))
    assert len(reconciler.times) == 1


def test_a_memory_error_is_not_caught() -> None:
    with pytest.raises(BaseExceptionGroup):
        _run(_Reconciler(MemoryError()))


@pytest.mark.parametrize(
    "error",
    [
        _while_handling(TerminalError("no"), ClusterError("status not written")),
        ExceptionGroup("parts", [TerminalError("no"), ClusterError("for now")]),
    ],
    ids=["while it was handled", "one of a group"],
)
def test_an_error_together_with_a_terminal_error_is_retried(error: Exception) -> None:
    reconciler = _Reconciler(error)
    _run(reconciler)
    assert _pauses(reconciler) == [0.005]


@pytest.mark.parametrize(
    "wrong",
    [
        {"requeue_after": float("nan")},
        {"requeue_after": float("inf")},
        {"requeue_after": "5"},
        {"requeue_after": True},
        {"requeue_after": None},
        {"priority": "high"},
    ],
    ids=str,
)
def test_a_result_of_a_wrong_type_fails_the_reconcile_and_not_the_controller(
    wrong: dict[str, Any],
) -> None:
    async def careless() -> Result:
        return Result(**wrong)

    reconciler = _Reconciler(careless)
    _run(reconciler)
    assert _pauses(reconciler) == [0.005]


class _Blocking:
    """A plain function; records its threads and how many ran at the same time."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.threads: set[str] = set()
        self.calls: list[Request] = []
        self.facts: list[str] = []
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        self._seconds = seconds

    def reconcile(self, request: Request) -> Result | None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        self.threads.add(threading.current_thread().name)
        self.facts.append(reconcile_facts.get()["object"])
        time.sleep(self._seconds)
        with self._lock:
            self._now -= 1
            self.calls.append(request)
        return None


def _block(reconciler: _Blocking, *keys: Request, **settings: Any) -> str:
    registry = Registry()

    async def scenario() -> None:
        controller = Controller(
            *("c", reconciler, []), registry=registry, settings=ControllerSettings(**settings)
        )
        task = asyncio.ensure_future(controller.run(Cache(None)))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        for key in keys:
            controller.queue.add(key)
        async with asyncio.timeout(60):
            while len(reconciler.calls) < len(keys):  # noqa: ASYNC110 - threads bring it about
                await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)
        controller.stop()
        await task

    asyncio.run(scenario())
    return registry.render()


def test_plain_functions_run_in_as_many_threads_as_there_are_workers() -> None:
    reconciler = _Blocking(0.02)
    keys = [Request(f"k{number}") for number in range(12)]
    text = _block(reconciler, *keys, max_concurrent_reconciles=3)
    assert sorted(map(str, reconciler.calls)) == sorted(map(str, keys))
    assert 1 < reconciler.most <= 3
    assert all(name.startswith("controller c") for name in reconciler.threads)
    assert set(reconciler.facts) == set(map(str, keys)), "its log lines name their object"
    assert _count(text, RESULTS + '"success"}') == 12


def test_a_thread_that_takes_too_long_is_waited_for() -> None:
    reconciler = _Blocking(0.2)
    text = _block(reconciler, KEY, reconciliation_timeout=0.05)
    assert reconciler.most == 1, "no second worker has the key in the meantime"
    assert _count(text, 'controller_runtime_reconcile_timeouts_total{controller="c"}') >= 1


def test_stop_iteration_in_a_thread_is_an_ordinary_error() -> None:
    class Searching(_Blocking):
        def reconcile(self, request: Request) -> Result | None:
            super().reconcile(request)
            return next(iter(())) if len(self.calls) == 1 else None

    reconciler = Searching()
    text = _block(reconciler, KEY, max_concurrent_reconciles=1)
    assert _count(text, RESULTS + '"error"}') == 1


def test_a_delay_can_be_a_timedelta() -> None:
    assert Result(datetime.timedelta(minutes=1)) == Result(requeue_after=60)
    assert Result(datetime.timedelta(milliseconds=5)).requeue_after == 0.005


class _Sync:
    def __init__(self, client: object) -> None:
        self.client = client

    def reconcile(self, request: Request) -> None: ...


class _Async:
    async def reconcile(self, request: Request) -> None: ...


class _WithoutRequest:
    async def reconcile(self) -> None: ...


@pytest.mark.parametrize(
    ("reconciler", "words"),
    [
        (_Async, "`_Async` is a class: pass an instance"),
        (object(), "`object` has no method `reconcile"),
        (_WithoutRequest(), "`_WithoutRequest.reconcile` cannot be called with a request"),
        (
            _Sync(Client(cast("Cluster", None), None, field_manager="x")),
            "`_Sync.reconcile` is not `async` and holds a `Client`",
        ),
    ],
)
def test_a_reconciler_without_effect_is_refused_before_its_first_pass(
    reconciler: Any, words: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        Controller("c", reconciler, [])
    Controller("c", _Sync(None), [])


def test_a_controller_without_a_registry_uses_that_of_its_manager() -> None:
    controller = Controller("c", _Async(), [])
    registry = Registry()
    controller.joins(registry)
    controller.metrics.success.inc()
    controller.joins(Registry())  # the first registry counts
    controller.metrics.success.inc()
    labels = {"controller": "c", "result": "success"}
    name = "controller_runtime_reconcile_total"
    assert registry.collectors.get_sample_value(name, labels) == 2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_concurrent_reconciles": 0}, "must be at least 1, not 0"),
        ({"cache_sync_timeout": float("nan")}, "`cache_sync_timeout` must be a finite"),
        ({"reconciliation_timeout": float("inf")}, "`reconciliation_timeout` must be a finite"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ControllerSettings(**settings)


def test_a_negative_delay_is_refused() -> None:
    with pytest.raises(ValueError, match="is -1, but must be positive"):
        Result(requeue_after=-1)
