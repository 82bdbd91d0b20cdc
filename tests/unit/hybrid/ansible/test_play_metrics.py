"""Metrics that plays report: their effect, and refused reports."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from olmkit.edges.network.json_inbox import JsonInbox
from olmkit.hybrid.ansible import play_metrics
from olmkit.hybrid.ansible.play_metrics import PlayMetrics
from olmkit.runtime.metrics import Registry


def taken(*values: dict[str, Any]) -> list[str]:
    """Return the lines of the time series after these reports."""
    registry = Registry()
    metrics = PlayMetrics(registry, clock=lambda: 7.0)
    for value in values:
        metrics.take({"name": "it", "description": "what it is", **value})
    return [line for line in registry.render().splitlines() if line.startswith("it")]


@pytest.mark.parametrize(
    ("orders", "lines"),
    [
        ([{"counter": {}}], ["it_total 0.0"]),
        ([{"counter": {"increment": True}}, {"counter": {"add": 2}}], ["it_total 3.0"]),
        ([{"gauge": {"set": 5}}, {"gauge": {"subtract": 2}}], ["it 3.0"]),
        ([{"gauge": {"increment": True}}, {"gauge": {"decrement": True}}], ["it 0.0"]),
        ([{"gauge": {"set_to_current_time": True}}, {"gauge": {"set": None}}], ["it 7.0"]),
        ([{"summary": {"observe": 2}}], ["it_count 1.0", "it_sum 2.0"]),
    ],
)
def test_a_report_changes_the_metric(orders: list[dict[str, Any]], lines: list[str]) -> None:
    assert taken(*orders) == lines


def test_a_histogram_has_the_buckets_of_go() -> None:
    lines = taken({"histogram": {"observe": 0.3}})
    assert 'it_bucket{le="0.25"} 0.0' in lines
    assert 'it_bucket{le="0.5"} 1.0' in lines


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "an object"),
        ({"name": "a b", "counter": {}}, "not the name"),
        ({"name": "a"}, "has one of"),
        ({"name": "a", "counter": {}, "gauge": {}}, "has one of"),
        ({"name": "a", "counter": {"set": 1}}, "has no `set`"),
        ({"name": "a", "counter": {"add": "x"}}, "must be a number"),
        ({"name": "a", "counter": {"add": -1}}, "only grows"),
        ({"name": "mine", "gauge": {}}, "of the operator"),
        ({"name": "known", "gauge": {}}, "is a counter"),
    ],
)
def test_an_invalid_report_is_refused(value: Any, said: str) -> None:
    registry = Registry()
    registry.gauge("mine", "of the operator")
    metrics = PlayMetrics(registry)
    metrics.take({"name": "known", "counter": {}})
    with pytest.raises(ValueError, match=said):
        metrics.take(value)


def test_their_number_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play_metrics, "_MOST", 1)
    metrics = PlayMetrics(Registry())
    metrics.take({"name": "a", "gauge": {"set": 1}})
    metrics.take({"name": "a", "gauge": {"set": 2}})
    with pytest.raises(ValueError, match="1 metrics"):
        metrics.take({"name": "b", "gauge": {}})


def test_the_server_answers_what_it_could_not_accept() -> None:
    def post(port: int, data: bytes) -> tuple[int, Any]:
        url = f"http://127.0.0.1:{port}/metrics"
        try:
            with urllib.request.urlopen(url, data=data, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    async def scenario() -> None:
        metrics = PlayMetrics(Registry())
        inbox = JsonInbox("metrics", 0, "/metrics", metrics.take)
        task = asyncio.create_task(inbox.run())
        await inbox.wait_until_ready()
        good = json.dumps({"name": "a", "gauge": {"set": 1}}).encode()
        assert await asyncio.to_thread(post, inbox.port, good) == (200, {})
        code, said = await asyncio.to_thread(post, inbox.port, b"{}")
        assert (code, "not the name" in said["message"]) == (400, True)
        assert (await asyncio.to_thread(post, inbox.port, b"{"))[0] == 400
        # A second one on the same port: the operator works without it.
        await JsonInbox("metrics", inbox.port, "/metrics", metrics.take).run()
        task.cancel()

    asyncio.run(scenario())
