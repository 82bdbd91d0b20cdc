"""The standard series: names, labels, buckets, and their values at the start."""

from __future__ import annotations

import re

import pytest

from olmkit.runtime.metrics import ControllerMetrics, Registry, RestClientMetrics, WorkQueueMetrics

# Dashboards and alerts use these, for one controller named `c`.
CONTROLLER = """
controller_runtime_active_workers{controller="c"}
controller_runtime_max_concurrent_reconciles{controller="c"}
controller_runtime_reconcile_errors_total{controller="c"}
controller_runtime_reconcile_panics_total{controller="c"}
controller_runtime_reconcile_timeouts_total{controller="c"}
controller_runtime_terminal_reconcile_errors_total{controller="c"}
controller_runtime_reconcile_time_seconds_count{controller="c"}
controller_runtime_reconcile_total{controller="c",result="error"}
controller_runtime_reconcile_total{controller="c",result="requeue"}
controller_runtime_reconcile_total{controller="c",result="requeue_after"}
controller_runtime_reconcile_total{controller="c",result="success"}
workqueue_adds_total{controller="c",name="c"}
workqueue_depth{controller="c",name="c",priority="0"}
workqueue_longest_running_processor_seconds{controller="c",name="c"}
workqueue_queue_duration_seconds_count{controller="c",name="c"}
workqueue_retries_total{controller="c",name="c"}
workqueue_unfinished_work_seconds{controller="c",name="c"}
workqueue_work_duration_seconds_count{controller="c",name="c"}
"""


def _series(text: str) -> dict[str, float]:
    """Series with their labels sorted → value."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, _, value = line.rpartition(" ")
        labels = re.findall(r'(\w+="[^"]*")', name)
        words = ",".join(sorted(labels))
        found[name.partition("{")[0] + (f"{{{words}}}" if words else "")] = float(value)
    return found


def _of_a_controller() -> tuple[Registry, ControllerMetrics, WorkQueueMetrics]:
    registry = Registry()
    return registry, ControllerMetrics(registry, "c"), WorkQueueMetrics(registry, "c")


def test_all_series_of_a_controller_exist_with_zero() -> None:
    registry, _, _ = _of_a_controller()
    found = _series(registry.render())
    for name in CONTROLLER.split():
        assert found[name] == 0, name


@pytest.mark.parametrize(
    ("name", "count", "first", "last"),
    [
        ("controller_runtime_reconcile_time_seconds", 40, "0.005", "60.0"),
        ("workqueue_queue_duration_seconds", 12, "1e-08", "1000.0"),
        ("workqueue_work_duration_seconds", 12, "1e-08", "1000.0"),
    ],
)
def test_buckets_are_the_standard_ones(name: str, count: int, first: str, last: str) -> None:
    registry, _, _ = _of_a_controller()
    bounds = re.findall(rf'^{name}_bucket{{.*le="([^"]+)".*}}', registry.render(), re.MULTILINE)
    assert (len(bounds) - 1, bounds[0], bounds[-2], bounds[-1]) == (count, first, last, "+Inf")


def test_the_depth_is_counted_by_priority_up_to_a_limit() -> None:
    registry, _, queue = _of_a_controller()
    for priority in range(40):
        queue.depth(priority, 1)
    queue.depth(3, -1)
    found = _series(registry.render())
    depths = {name: value for name, value in found.items() if name.startswith("workqueue_depth")}
    assert len(depths) == 26
    assert depths['workqueue_depth{controller="c",name="c",priority="3"}'] == 0
    assert depths['workqueue_depth{controller="c",name="c",priority="7"}'] == 1
    rest = 'workqueue_depth{controller="c",name="c",priority="exceeded_cardinality_limit"}'
    assert depths[rest] == 15


def test_requests_are_counted_by_code_method_and_host() -> None:
    registry = Registry()
    metrics = RestClientMetrics(registry)
    metrics.observe("GET", "h:1", "200")
    metrics.observe("GET", "h:1", "200")
    metrics.observe("POST", "h:1", "<error>")
    found = _series(registry.render())
    assert found['rest_client_requests_total{code="200",host="h:1",method="GET"}'] == 2
    assert found['rest_client_requests_total{code="<error>",host="h:1",method="POST"}'] == 1


def test_metrics_of_the_process_are_included() -> None:
    text = Registry().render()
    for name in ("cpu_seconds_total", "resident_memory_bytes", "open_fds", "start_time_seconds"):
        assert f"process_{name}" in text
    assert "_created" not in text


def test_two_controllers_share_families_and_kinds_are_not_mixed() -> None:
    registry, _, _ = _of_a_controller()
    ControllerMetrics(registry, "other")
    with pytest.raises(ValueError, match="is a counter"):
        registry.gauge("controller_runtime_reconcile_total", "")


def test_open_metrics_is_returned_on_request() -> None:
    registry, _, _ = _of_a_controller()
    body, content_type = registry.expose("application/openmetrics-text;version=1.0.0,text/plain")
    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")
    body, content_type = registry.expose("*/*")
    assert content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert b"# EOF" not in body
