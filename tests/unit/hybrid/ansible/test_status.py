"""Conditions of an object that Ansible reconciles."""

from __future__ import annotations

from typing import Any

from olmkit.hybrid.ansible import status as ansible_status

OLD, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
RESULT = {"ok": 3, "changed": 1, "skipped": 0, "failures": 0, "completion": "2026-01-02T00:00:00.5"}


def shown(status: ansible_status.Status) -> dict[str, tuple[str, str, str]]:
    return {
        one["type"]: (one["status"], one["reason"], one["message"]) for one in status["conditions"]
    }


def test_the_first_successful_run_has_its_conditions() -> None:
    status = ansible_status.of({"status": {"nodes": ["a"]}})
    ansible_status.started(status, now=OLD)
    assert shown(status) == {"Running": ("True", "Running", "Running reconciliation")}
    ansible_status.succeeded(status, RESULT, now=NOW)
    assert shown(status) == {
        "Running": ("True", "Successful", "Awaiting next reconciliation"),
        "Successful": ("True", "Successful", "Last reconciliation succeeded"),
        "Failure": ("False", "", ""),
    }
    assert status["nodes"] == ["a"]
    running: dict[str, Any] = status["conditions"][0]
    assert (running["lastTransitionTime"], running["ansibleResult"]) == (OLD, RESULT)


def test_a_failure_keeps_its_message_until_a_run_succeeds() -> None:
    status = ansible_status.of({})
    ansible_status.started(status, now=OLD)
    ansible_status.failed(status, "broken", {**RESULT, "failures": 1}, now=OLD)
    assert shown(status) == {
        "Running": ("False", "", ""),
        "Successful": ("False", "", ""),
        "Failure": ("True", "Failed", "broken"),
    }
    ansible_status.started(status, now=NOW)
    assert shown(status)["Running"] == ("True", "Running", "Running reconciliation")
    assert shown(status)["Failure"] == ("True", "Failed", "broken")
    ansible_status.succeeded(status, RESULT, now=NOW)
    ansible_status.started(status, now=NOW)
    # The reason of a condition that is no longer true would mislead.
    assert shown(status)["Successful"] == ("False", "", "")


def test_without_a_run_only_the_failure_changes() -> None:
    status = ansible_status.of({})
    ansible_status.not_run(status, now=NOW)
    assert shown(status) == {"Failure": ("True", "Failed", "Unable to run reconciliation")}


def test_conditions_of_other_controllers_are_kept() -> None:
    other = {"type": "Ready", "status": "True", "unknown": 1}
    status = ansible_status.of({"status": {"conditions": [other, "rubbish"]}})
    ansible_status.started(status, now=NOW)
    assert status["conditions"][0] == other
    assert len(status["conditions"]) == 2
