"""The events of an Ansible run, one JSON object on each line, and its outcome.

The events are those of ansible-runner. Only the host `localhost` counts for the result, as in
ansible-operator. A failure that the play ignores or rescues does not count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from olmkit.base.go import durations
from olmkit.hybrid import masks
from olmkit.kube import objects

_HOST = "localhost"
_REQUEUE = ("requeue_after", "operator_sdk.util.requeue_after")
_KEPT_BY_SERVER = frozenset({"generation", "managedFields", "resourceVersion"})
_FAILED = ("runner_on_failed", "runner_on_unreachable")
_UNKNOWN = "unknown playbook failure"
_MESSAGES = 50  # number of kept failures
_LONG = 4000  # characters of a failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event: its type, its data and its time."""

    type: str
    created: str = ""
    output: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def result(self) -> Mapping[str, Any]:
        """Return the result of the task."""
        return objects.mapping(self.data.get("res"))

    @property
    def is_failure(self) -> bool:
        """Return whether a task failed and the failure is not ignored."""
        return self.type in _FAILED and not self.data.get("ignore_errors")


@dataclass(slots=True)
class Outcome:
    """The outcome of a run; `requeue_after` in seconds, None if the play did not set it."""

    failures: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    completion: str = ""
    is_finished: bool = False
    requeue_after: float | None = None
    _rescued: int = 0

    def take(self, event: Event) -> None:
        """Process one more event."""
        if event.is_failure:
            message = event.result.get("msg")
            text = (
                message
                if isinstance(message, str)
                else json.dumps(message)
                if message
                else _UNKNOWN
            )
            self.failures = [*self.failures, text[:_LONG]][-_MESSAGES:]
        elif event.type == "runner_on_ok" and event.data.get("task_action") in _REQUEUE:
            self.requeue_after = _period(event.result.get("period"), self.requeue_after)
        elif event.type == "playbook_on_stats":
            self._finish(event)

    def _finish(self, event: Event) -> None:
        def of(name: str) -> int:
            count = objects.mapping(event.data.get(name)).get(_HOST, 0)
            return count if isinstance(count, int) else 0

        self.is_finished = True
        self.counts = {name: of(name) for name in ("ok", "changed", "skipped", "failures")}
        self.completion = completion(event.created)
        if not self.counts["failures"] and not of("dark"):
            # Each of them was rescued.
            self.failures.clear()

    @property
    def is_success(self) -> bool:
        """Return whether the run completed without a failure."""
        return self.is_finished and not self.failures and not self.counts.get("failures")

    def result(self) -> dict[str, Any]:
        """Return the `ansibleResult` of a condition."""
        return {**self.counts, "completion": self.completion}


def parse(line: bytes) -> Event | None:
    """Return the event of a line; None for other output."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("event"), str):
        return None
    return Event(
        type=found["event"],
        created=objects.text(found.get("created")),
        output=objects.text(found.get("stdout")),
        data=objects.mapping(found.get("event_data")),
    )


def facts(event: Event) -> dict[str, str]:
    """Return the log line of an event, which may contain secrets; empty if irrelevant."""
    if event.type == "playbook_on_task_start":
        return _task(event)
    if event.type not in ("runner_on_ok", "runner_on_skipped", *_FAILED):
        return {}
    found = _task(event) | {"result": event.type.removeprefix("runner_on_")}
    if event.result.get("changed") is True:
        found["result"] = "changed"
    if event.is_failure:
        found["error"] = objects.text(event.result.get("msg")) or _UNKNOWN
    elif event.type in _FAILED:
        found["result"] = "ignored"
    return found


def differences(event: Event) -> list[str]:
    """Return the changes of a task as lines."""
    if event.type not in ("runner_on_ok", "runner_item_on_ok") or not event.result.get("changed"):
        return []
    task = _task(event)["task"]
    return [f"change: {task}", *_diff_lines(event.result.get("diff"))]


def hidden(text: str, secrets: Sequence[str]) -> str:
    """Return the text with these values masked, also in their JSON form."""
    for one in secrets:
        text = text.replace(one, masks.MASK)
        written = json.dumps(one)[1:-1]
        if written != one:
            text = text.replace(written, masks.MASK)
    return text


def completion(created: str) -> str:
    """Return the time of an event in the format of ansible-operator, without a zone."""
    moment = created.partition("+")[0].removesuffix("Z")
    return moment.rstrip("0").rstrip(".") if "." in moment else moment


def _task(event: Event) -> dict[str, str]:
    name = objects.text(event.data.get("task")) or objects.text(event.data.get("name"))
    return {"task": name, "action": objects.text(event.data.get("task_action"))}


def _period(value: Any, otherwise: float | None) -> float | None:
    try:
        return max(0.0, durations.parse(objects.text(value)))
    except ValueError:
        return otherwise


def _diff_lines(diff: Any) -> list[str]:
    found: list[str] = []
    for one in diff if isinstance(diff, list) else [diff]:
        if not isinstance(one, Mapping):
            continue
        if isinstance(one.get("prepared"), str):
            found += one["prepared"].splitlines()
        for key, sign in (("before", "-"), ("after", "+")):
            value = _of_author(one.get(key))
            if value in (None, "", {}):
                continue
            text = value if isinstance(value, str) else json.dumps(value, indent=2, sort_keys=True)
            found += [f"{sign} {line}" for line in text.splitlines()]
    return found


def _of_author(value: Any) -> Any:
    """Return one side of a difference, without the metadata that the API server sets."""
    metadata = value.get("metadata") if isinstance(value, Mapping) else None
    if not isinstance(metadata, Mapping):
        return value
    kept = {key: one for key, one in metadata.items() if key not in _KEPT_BY_SERVER}
    rest = {key: one for key, one in value.items() if key != "metadata"}
    return {**rest, "metadata": kept} if kept else rest
