"""Counters, gauges and histograms in the text format that Prometheus reads.

Names, labels and buckets of the series below are those of controller-runtime and
client-go, for which dashboards and alerts exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import prometheus_client
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    Summary,
)
from prometheus_client.openmetrics import exposition as openmetrics

TEXT = "text/plain; version=0.0.4; charset=utf-8"

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

M = TypeVar("M", Counter, Gauge, Histogram, Summary)


class Registry:
    """The metrics of one process, including those about the process itself.

    A metric is created on first use and found by its name after that, since controllers share
    metric families. `collectors` is the registry for metrics that an author creates with
    `prometheus_client`.
    """

    def __init__(self) -> None:
        # `_created` series would double the scraped data; Go's client has none.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self.collectors = CollectorRegistry()
        ProcessCollector(registry=self.collectors)
        self._made: dict[str, Counter | Gauge | Histogram | Summary] = {}

    def counter(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Counter:
        """Return a counter; its name must end in `_total`."""
        return self._find(
            Counter, name, lambda: Counter(name, help_text, labels, registry=self.collectors)
        )

    def gauge(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Gauge:
        """Return a gauge."""
        return self._find(
            Gauge, name, lambda: Gauge(name, help_text, labels, registry=self.collectors)
        )

    def histogram(
        self, name: str, help_text: str, labels: Sequence[str], bounds: Sequence[float]
    ) -> Histogram:
        """Return a histogram; `bounds` are the upper bounds of its buckets."""
        return self._find(
            Histogram,
            name,
            lambda: Histogram(name, help_text, labels, buckets=bounds, registry=self.collectors),
        )

    def summary(self, name: str, help_text: str, labels: Sequence[str] = ()) -> Summary:
        """Return a summary: the sum and the count of the observed values."""
        return self._find(
            Summary, name, lambda: Summary(name, help_text, labels, registry=self.collectors)
        )

    def has(self, name: str) -> bool:
        """Return whether this registry has created a metric with this name."""
        return name in self._made

    def render(self) -> str:
        """Return the metrics in the text format, version 0.0.4."""
        return prometheus_client.generate_latest(self.collectors).decode()

    def expose(self, accept: str) -> tuple[bytes, str]:
        """Return the metrics in the format that an `Accept` header requests, and its content type.

        The format is OpenMetrics if requested, otherwise the text format, version 0.0.4.
        """
        if "application/openmetrics-text" in accept:
            body: bytes = openmetrics.generate_latest(self.collectors)  # type: ignore[no-untyped-call]
            return body, openmetrics.CONTENT_TYPE_LATEST
        return self.render().encode(), TEXT

    def _find(self, kind: type[M], name: str, make: Callable[[], M]) -> M:
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = make()
        if not isinstance(found, kind):
            raise ValueError(f"{name} is a {type(found).__name__.lower()}")
        return found


class ControllerMetrics:
    """The metrics of one controller; all series start at 0, so that rates work."""

    def __init__(self, registry: Registry, controller: str) -> None:
        label = ("controller",)
        total = registry.counter(
            "controller_runtime_reconcile_total",
            "Total number of reconciliations per controller",
            ("controller", "result"),
        )
        self.success = total.labels(controller, "success")
        self.error = total.labels(controller, "error")
        self.requeue_after = total.labels(controller, "requeue_after")
        total.labels(controller, "requeue")  # always 0; dashboards query it

        def counter(name: str, help_text: str) -> Counter:
            return registry.counter(f"controller_runtime_{name}", help_text, label).labels(
                controller
            )

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
        ).labels(controller)
        self.max_concurrent = registry.gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Maximum number of concurrent reconciles per controller",
            label,
        ).labels(controller)
        self.active_workers = registry.gauge(
            "controller_runtime_active_workers",
            "Number of currently used workers per controller",
            label,
        ).labels(controller)


class WorkQueueMetrics:
    """The metrics of one work queue; implements `workqueue.QueueMetrics`."""

    def __init__(self, registry: Registry, name: str) -> None:
        labels = ("name", "controller")
        self._name = name
        self._depth = registry.gauge(
            "workqueue_depth",
            "Current depth of workqueue by workqueue and priority",
            (*labels, "priority"),
        )
        self._depths: dict[int, Gauge] = {0: self._depth.labels(name, name, "0")}
        self._adds = registry.counter(
            "workqueue_adds_total", "Total number of adds handled by workqueue", labels
        ).labels(name, name)
        self._retries = registry.counter(
            "workqueue_retries_total", "Total number of retries handled by workqueue", labels
        ).labels(name, name)
        self._waited = registry.histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            labels,
            QUEUE_BUCKETS,
        ).labels(name, name)
        self._worked = registry.histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes",
            labels,
            QUEUE_BUCKETS,
        ).labels(name, name)
        self.unfinished = registry.gauge(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work are in progress and not yet observed",
            labels,
        ).labels(name, name)
        self.longest_running = registry.gauge(
            "workqueue_longest_running_processor_seconds",
            "How many seconds the longest running processor has been running",
            labels,
        ).labels(name, name)

    def added(self) -> None:
        self._adds.inc()

    def depth(self, priority: int, change: int) -> None:
        child = self._depths.get(priority)
        if child is None:
            text = str(priority)
            if len(self._depths) >= _MAX_PRIORITIES:
                text = "exceeded_cardinality_limit"
            child = self._depth.labels(self._name, self._name, text)
            if len(self._depths) < _MAX_PRIORITIES:
                self._depths[priority] = child
        child.inc(change)

    def waited(self, seconds: float) -> None:
        self._waited.observe(seconds)

    def worked(self, seconds: float) -> None:
        self._worked.observe(seconds)

    def retried(self) -> None:
        self._retries.inc()


class RestClientMetrics:
    """The metric `rest_client_requests_total`; `observe` is a `sent_requests.Observer`."""

    def __init__(self, registry: Registry) -> None:
        self._requests = registry.counter(
            "rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host",
            ("code", "method", "host"),
        )

    def observe(self, method: str, host: str, code: str) -> None:
        """Count one request."""
        self._requests.labels(code, method, host).inc()
