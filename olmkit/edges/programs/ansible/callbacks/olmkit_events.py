"""Write the events of a play with the names that ansible-runner uses.

Ansible loads this file as a plugin, in the processes of runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.callback import CallbackBase

from olmkit.edges.programs.ansible.event_stream import STREAM

DOCUMENTATION = """
name: olmkit_events
type: aggregate
short_description: Events for olmkit
description: Writes what happens in a play as lines of JSON.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """An additional callback next to the one that prints the output, which runs first."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "olmkit_events"
    CALLBACK_NEEDS_ENABLED = False

    def v2_playbook_on_start(self, _playbook: Any) -> None:
        STREAM.event("playbook_on_start", {})

    def v2_playbook_on_play_start(self, play: Any) -> None:
        STREAM.event("playbook_on_play_start", {"name": play.get_name()})

    def v2_playbook_on_task_start(self, task: Any, _is_conditional: bool) -> None:
        self._task("playbook_on_task_start", task, name=task.get_name())

    def v2_playbook_on_cleanup_task_start(self, task: Any) -> None:
        self._task("playbook_on_task_start", task, name=task.get_name())

    def v2_playbook_on_handler_task_start(self, task: Any) -> None:
        self._task("playbook_on_task_start", task, name=task.get_name())

    def v2_playbook_on_no_hosts_matched(self) -> None:
        STREAM.event("playbook_on_no_hosts_matched", {})

    def v2_playbook_on_no_hosts_remaining(self) -> None:
        STREAM.event("playbook_on_no_hosts_remaining", {})

    def v2_runner_on_ok(self, result: Any) -> None:
        self._result("runner_on_ok", result)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._result("runner_on_failed", result, ignore_errors=ignore_errors)

    def v2_runner_on_skipped(self, result: Any) -> None:
        # As in ansible-runner, without the values of skipped actions.
        self._task("runner_on_skipped", result.task, host=result.host.get_name())

    def v2_runner_on_unreachable(self, result: Any) -> None:
        self._result("runner_on_unreachable", result)

    def v2_runner_item_on_ok(self, result: Any) -> None:
        self._result("runner_item_on_ok", result)

    def v2_runner_item_on_failed(self, result: Any) -> None:
        self._result("runner_item_on_failed", result)

    def v2_runner_retry(self, result: Any) -> None:
        self._result("runner_retry", result)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        names = ("changed", "dark", "failures", "ignored", "ok", "processed", "rescued", "skipped")
        STREAM.event("playbook_on_stats", {name: dict(getattr(stats, name)) for name in names})

    def _result(self, type_: str, result: Any, **more: Any) -> None:
        found: Mapping[str, Any] = result.result
        if result.task.action in ("setup", "gather_facts") and "ansible_facts" in found:
            facts = {k: v for k, v in found["ansible_facts"].items() if k != "ansible_env"}
            found = {**found, "ansible_facts": facts}
        self._task(type_, result.task, host=result.host.get_name(), res=found, **more)

    def _task(self, type_: str, task: Any, **more: Any) -> None:
        name = task.name or task.action
        STREAM.event(type_, {"task": name, "task_action": task.action, **more})
