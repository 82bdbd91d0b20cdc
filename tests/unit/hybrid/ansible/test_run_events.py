"""Events of a run, and their result."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmkit.hybrid.ansible import run_events
from olmkit.hybrid.ansible.run_events import Outcome


def event(type_: str, **data: Any) -> run_events.Event:
    line = {"event": type_, "created": "2026-01-02T03:04:05.120000+00:00", "event_data": data}
    found = run_events.parse(json.dumps(line).encode())
    assert found is not None
    return found


def outcome(*events: run_events.Event) -> Outcome:
    found = Outcome()
    for one in events:
        found.take(one)
    return found


FAILED = event("runner_on_failed", task="t", task_action="fail", res={"msg": "broken"})


def test_a_successful_run_has_the_counts_of_localhost() -> None:
    found = outcome(event("playbook_on_stats", ok={"localhost": 2, "other": 9}, changed={}))
    assert found.is_success
    assert found.result() == {
        "ok": 2,
        "changed": 0,
        "skipped": 0,
        "failures": 0,
        "completion": "2026-01-02T03:04:05.12",
    }


def test_failures_count_unless_they_are_ignored_or_rescued() -> None:
    found = outcome(FAILED, event("playbook_on_stats", failures={"localhost": 1}))
    assert (found.is_success, found.failures) == (False, ["broken"])
    ignored = event("runner_on_failed", ignore_errors=True, res={"msg": "never mind"})
    assert outcome(ignored, event("playbook_on_stats")).is_success
    assert outcome(FAILED, event("playbook_on_stats", rescued={"localhost": 1})).is_success
    assert outcome(event("runner_on_failed", res={"msg": ["a"]})).failures == ['["a"]']
    assert outcome(event("runner_on_failed")).failures == ["unknown playbook failure"]


def test_a_run_without_its_last_event_is_not_finished() -> None:
    assert not outcome(event("runner_on_ok")).is_success


def test_the_last_interval_counts_and_later_failures_too() -> None:
    def asked(period: str) -> run_events.Event:
        return event("runner_on_ok", task_action="requeue_after", res={"period": period})

    stats = event("playbook_on_stats", failures={"localhost": 1})
    found = outcome(asked("5s"), asked("1m"), asked("soon"), FAILED, stats)
    assert (found.requeue_after, found.is_success) == (60, False)


@pytest.mark.parametrize("line", [b"", b"text", b"[1]", b"{}", b'{"event": 1}', b"[" * 100_000])
def test_other_output_is_not_an_event(line: bytes) -> None:
    assert run_events.parse(line) is None


def test_the_facts_and_differences_of_a_task_are_read() -> None:
    changed = event(
        "runner_on_ok",
        task="write it",
        task_action="copy",
        res={"changed": True, "diff": [{"before": "a\n", "after": {"b": 1}}, {"prepared": "+ c"}]},
    )
    assert run_events.facts(changed) == {"task": "write it", "action": "copy", "result": "changed"}
    assert run_events.differences(changed) == [
        "change: write it",
        "- a",
        "+ {",
        '+   "b": 1',
        "+ }",
        "+ c",
    ]
    assert run_events.facts(FAILED)["error"] == "broken"
    assert run_events.facts(event("verbose")) == {}
    assert run_events.differences(FAILED) == []


def test_a_difference_omits_fields_that_the_api_server_sets() -> None:
    kept = {"managedFields": [{"manager": "m"}], "resourceVersion": "7"}
    diff = {
        "before": {"data": {"a": "1"}, "metadata": kept},
        "after": {"data": {"a": "2"}, "metadata": kept | {"labels": {"b": "c"}}},
    }
    found = event("runner_on_ok", task="t", res={"changed": True, "diff": diff})
    text = "\n".join(run_events.differences(found))
    assert "managedFields" not in text
    assert "resourceVersion" not in text
    assert '+     "labels": {' in text
    assert '-     "a": "1"' in text


def test_secrets_are_also_masked_in_json() -> None:
    secrets = ['pass"word\nnext']
    text = f"it is {secrets[0]} or {json.dumps(secrets[0])}"
    assert run_events.hidden(text, secrets) == 'it is *** or "***"'
