"""The status of an object that Ansible runs for, in the form of ansible-operator.

Conditions `Running`, `Successful` and `Failure`. After success `Running` stays `True`, with the
reason `Successful`: programs wait for this pair. The other fields of the status are the play's.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from olmkit.kube import conditions, objects
from olmkit.kube.objects import Manifest

RUNNING, SUCCESSFUL, FAILURE = "Running", "Successful", "Failure"
NOT_RUN = "Unable to run reconciliation"

Status = dict[str, Any]


def of(manifest: Manifest) -> Status:
    """Return a copy of the status with a list of conditions."""
    status = copy.deepcopy(dict(objects.mapping(manifest.get("status"))))
    listed = objects.sequence(status.get("conditions"))
    status["conditions"] = [one for one in listed if isinstance(one, dict)]
    return status


def started(status: Status, *, now: str) -> None:
    """Record that a run starts; the last failure remains until a run succeeds."""
    _set(status, RUNNING, "True", "Running", "Running reconciliation", now)
    _deny(status, SUCCESSFUL, now)


def succeeded(status: Status, result: Mapping[str, Any], *, now: str) -> None:
    """Record that the run completed; `result` is `ansibleResult`."""
    _set(status, RUNNING, "True", "Successful", "Awaiting next reconciliation", now, result)
    _set(status, SUCCESSFUL, "True", "Successful", "Last reconciliation succeeded", now, result)
    _set(status, FAILURE, "False", "", "", now)


def failed(status: Status, message: str, result: Mapping[str, Any] | None, *, now: str) -> None:
    """Record that a task failed, or that the run did not complete and so has no result."""
    _deny(status, RUNNING, now)
    _set(status, SUCCESSFUL, "False", "", "", now)
    _set(status, FAILURE, "True", "Failed", message, now, result)


def not_run(status: Status, message: str = NOT_RUN, *, now: str) -> None:
    """Record that there was no run."""
    _deny(status, RUNNING, now)
    _deny(status, SUCCESSFUL, now)
    _set(status, FAILURE, "True", "Failed", message, now)


def _deny(status: Status, type_: str, now: str) -> None:
    """Set an existing condition to false; reason and message are removed if it was true."""
    if conditions.find(status["conditions"], type_) is not None:
        _set(status, type_, "False", "", "", now)


def _set(
    status: Status,
    type_: str,
    value: str,
    reason: str,
    message: str,
    now: str,
    result: Mapping[str, Any] | None = None,
) -> None:
    listed = status["conditions"]
    old = conditions.find(listed, type_)
    # Equal in status and reason: not rewritten, so that an idle object does not change.
    is_equal = old is not None and (old.get("status"), old.get("reason", "")) == (value, reason)
    if is_equal and type_ != FAILURE:
        return
    new: conditions.Condition = {
        "type": type_,
        "status": value,
        "reason": reason,
        "message": message[: conditions.MAX_MESSAGE],
        "lastTransitionTime": now,
    }
    if old is not None and old.get("status") == value:
        new["lastTransitionTime"] = old.get("lastTransitionTime") or now
    if result is not None:
        new["ansibleResult"] = dict(result)
    if old is None:
        listed.append(new)
    else:
        listed[listed.index(old)] = new
