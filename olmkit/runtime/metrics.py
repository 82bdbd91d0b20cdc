"""Counters, gauges and histograms in the text format that Prometheus reads.

A registry of our own, since an increment must cost next to nothing: a
reconcile updates ten series. Names, labels and buckets of the series below are
those of controller-runtime and client-go, for which dashboards and alerts
exist. Metrics of `prometheus_client` can be added with `Registry.add_source`.
"""

from __future__ import annotations

import os
import resource
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

RECONCILE_BUCKETS = (
    *(
        0.005,
        0.01,
        0.025,
        0.05,
        0.1,
        0.15,
        0.2,
        0.25,
        0.3,
        0.35,
        0.4,
        0.45,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
    ),
    *(1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)
QUEUE_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))
_MAX_PRIORITIES = 25


class Value:
    """One number; a counter only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, amount: float = 1.0) -> None:
        self.value += amount

    def dec(self, amount: float = 1.0) -> None:
        self.value -= amount

    def set(self, value: float) -> None:
        self.value = value


class Histogram:
    """Counts of observations by upper bound."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(float(bound) for bound in bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value


M = TypeVar("M", Value, Histogram)


class Family(Generic[M]):
    """All series of one name, told apart by their labels."""

    def __init__(
        self, name: str, kind: str, help_text: str, labels: Sequence[str], make: Callable[[], M]
    ) -> None:
        self.name = name
        self.kind = kind
        self.help_text = help_text
        self.labels = tuple(labels)
        self._make: Callable[[], M] = make
        self._children: dict[tuple[str, ...], M] = {}

    def child(self, *values: str) -> M:
        """The series of these label values, in the order of the labels; keep it."""
        if len(values) != len(self.labels):
            raise ValueError(f"{self.name} has the labels {self.labels}")
        found = self._children.get(values)
        if found is None:
            found = self._children[values] = self._make()
        return found

    def lines(self) -> Iterable[str]:
        yield f"# HELP {self.name} {self.help_text}"
        yield f"# TYPE {self.name} {self.kind}"
        for values, child in sorted(self._children.items()):
            labels = [
                f'{label}="{_escaped(value)}"'
                for label, value in zip(self.labels, values, strict=True)
            ]
            if isinstance(child, Histogram):
                yield from self._histogram_lines(child, labels)
            else:
                yield f"{self.name}{_braces(labels)} {_number(child.value)}"

    def _histogram_lines(self, child: Histogram, labels: list[str]) -> Iterable[str]:
        total = 0
        for bound, count in zip((*child.bounds, float("inf")), child.counts, strict=True):
            total += count
            edge = _braces([*labels, f'le="{_number(bound)}"'])
            yield f"{self.name}_bucket{edge} {total}"
        yield f"{self.name}_sum{_braces(labels)} {_number(child.sum)}"
        yield f"{self.name}_count{_braces(labels)} {total}"


class Registry:
    """The families of one process, and whatever else adds lines."""

    def __init__(self) -> None:
        self._families: dict[str, Family[Value] | Family[Histogram]] = {}
        self._sources: list[Callable[[], str]] = []

    def counter(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Family[Value]:
        return self._value(name, "counter", help_text, labels)

    def gauge(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Family[Value]:
        return self._value(name, "gauge", help_text, labels)

    def histogram(
        self, name: str, help_text: str, labels: Sequence[str], bounds: Sequence[float]
    ) -> Family[Histogram]:
        found = self._families.get(name)
        if found is None:
            made: Family[Histogram] = Family(
                name, "histogram", help_text, labels, lambda: Histogram(bounds)
            )
            self._families[name] = made
            return made
        if found.kind != "histogram":
            raise ValueError(f"{name} is a {found.kind}")
        return found  # type: ignore[return-value]  # its kind says so

    def add_source(self, source: Callable[[], str]) -> None:
        """Text that is added at each scrape, such as `prometheus_client.generate_latest`'s."""
        self._sources.append(source)

    def render(self) -> str:
        """The text format, version 0.0.4."""
        lines = [line for name in sorted(self._families) for line in self._families[name].lines()]
        return "\n".join(lines) + "\n" + "".join(source() for source in self._sources)

    def _value(self, name: str, kind: str, help_text: str, labels: Sequence[str]) -> Family[Value]:
        found = self._families.get(name)
        if found is None:
            made: Family[Value] = Family(name, kind, help_text, labels, Value)
            self._families[name] = made
            return made
        if found.kind != kind:
            raise ValueError(f"{name} is a {found.kind}")
        return found  # type: ignore[return-value]  # its kind says so


class ControllerMetrics:
    """The series of one controller; all exist with 0 from the start, so that rates work."""

    def __init__(self, registry: Registry, controller: str) -> None:
        label = ("controller",)
        total = registry.counter(
            "controller_runtime_reconcile_total",
            "Total number of reconciliations per controller",
            ("controller", "result"),
        )
        self.success = total.child(controller, "success")
        self.error = total.child(controller, "error")
        self.requeue_after = total.child(controller, "requeue_after")
        total.child(controller, "requeue")  # stays 0: dashboards ask for it

        def counter(name: str, words: str) -> Value:
            return registry.counter(f"controller_runtime_{name}", words, label).child(controller)

        self.errors = counter(
            "reconcile_errors_total", "Total number of reconciliation errors per controller"
        )
        self.terminal_errors = counter(
            "terminal_reconcile_errors_total",
            "Total number of terminal reconciliation errors per controller",
        )
        self.panics = counter(
            "reconcile_panics_total", "Total number of reconciliation panics per controller"
        )
        self.timeouts = counter(
            "reconcile_timeouts_total", "Total number of reconciliation timeouts per controller"
        )
        self.seconds = registry.histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller",
            label,
            RECONCILE_BUCKETS,
        ).child(controller)
        self.max_concurrent = registry.gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Maximum number of concurrent reconciles per controller",
            label,
        ).child(controller)
        self.active_workers = registry.gauge(
            "controller_runtime_active_workers",
            "Number of currently used workers per controller",
            label,
        ).child(controller)


class WorkQueueMetrics:
    """The series of one work queue; fulfils `workqueue.QueueMetrics`."""

    def __init__(self, registry: Registry, name: str) -> None:
        labels = ("name", "controller")
        self._name = name
        self._depth = registry.gauge(
            "workqueue_depth",
            "Current depth of workqueue by workqueue and priority",
            (*labels, "priority"),
        )
        self._depths: dict[int, Value] = {0: self._depth.child(name, name, "0")}
        self._adds = registry.counter(
            "workqueue_adds_total", "Total number of adds handled by workqueue", labels
        ).child(name, name)
        self._retries = registry.counter(
            "workqueue_retries_total", "Total number of retries handled by workqueue", labels
        ).child(name, name)
        self._waited = registry.histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            labels,
            QUEUE_BUCKETS,
        ).child(name, name)
        self._worked = registry.histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes",
            labels,
            QUEUE_BUCKETS,
        ).child(name, name)
        self.unfinished = registry.gauge(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work are in progress and not yet observed",
            labels,
        ).child(name, name)
        self.longest_running = registry.gauge(
            "workqueue_longest_running_processor_seconds",
            "How many seconds the longest running processor has been running",
            labels,
        ).child(name, name)

    def added(self) -> None:
        self._adds.value += 1

    def depth(self, priority: int, change: int) -> None:
        child = self._depths.get(priority)
        if child is None:
            text = str(priority)
            if len(self._depths) >= _MAX_PRIORITIES:
                text = "exceeded_cardinality_limit"
            child = self._depth.child(self._name, self._name, text)
            if len(self._depths) < _MAX_PRIORITIES:
                self._depths[priority] = child
        child.value += change

    def waited(self, seconds: float) -> None:
        self._waited.observe(seconds)

    def worked(self, seconds: float) -> None:
        self._worked.observe(seconds)

    def retried(self) -> None:
        self._retries.value += 1


class RestClientMetrics:
    """`rest_client_requests_total`; its `observe` fits `edges.cluster.Observer`."""

    def __init__(self, registry: Registry) -> None:
        self._requests = registry.counter(
            "rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host",
            ("code", "method", "host"),
        )

    def observe(self, method: str, host: str, code: str) -> None:
        self._requests.child(code, method, host).value += 1


def process_lines() -> str:
    """The usual metrics of the process: CPU, memory, open files, start."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    page = os.sysconf("SC_PAGE_SIZE")
    values: list[tuple[str, str, str, float]] = [
        (
            "process_cpu_seconds_total",
            "counter",
            "Total user and system CPU time spent in seconds",
            usage.ru_utime + usage.ru_stime,
        )
    ]
    try:
        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 - no path to reason about
            fields = statm.read().split()
        values += [
            (
                "process_virtual_memory_bytes",
                "gauge",
                "Virtual memory size in bytes",
                int(fields[0]) * page,
            ),
            (
                "process_resident_memory_bytes",
                "gauge",
                "Resident memory size in bytes",
                int(fields[1]) * page,
            ),
            (
                "process_open_fds",
                "gauge",
                "Number of open file descriptors",
                len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - a scrape must be cheap
            ),
            (
                "process_start_time_seconds",
                "gauge",
                "Start time of the process since the epoch in seconds",
                _STARTED,
            ),
        ]
    except OSError:
        pass  # no /proc on this system
    return "".join(
        f"# HELP {name} {words}\n# TYPE {name} {kind}\n{name} {_number(float(value))}\n"
        for name, kind, words, value in values
    )


_STARTED = time.time()


def _braces(labels: Sequence[str]) -> str:
    return "{" + ",".join(labels) + "}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    value = float(value)  # whole numbers are no floats, and some Pythons tell them apart
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
