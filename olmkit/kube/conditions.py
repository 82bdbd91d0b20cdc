"""Status conditions: one entry for each type, whose transition time follows the status.

Source: the `Condition` type of apimachinery's meta/v1 and its helpers.
"""

from __future__ import annotations

import re
from typing import Any

_TYPE = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
)
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_STATUSES = ("True", "False", "Unknown")
MAX_MESSAGE = 32768
"""Characters of a message that the API server accepts."""

Condition = dict[str, Any]
"""A condition as in `status.conditions`."""


def condition(
    type_: str, status: str, reason: str, message: str = "", *, observed_generation: int = 0
) -> Condition:
    """Return a condition without a time, which `set_condition` adds.

    Raises `ValueError` if the API server would refuse it; a message that is too long is truncated.
    """
    if len(type_) > 316 or not _TYPE.fullmatch(type_):
        raise ValueError(f"`{type_}` is not a condition type")
    if status not in _STATUSES:
        raise ValueError(f"`{status}` is not a condition status: it is True, False or Unknown")
    if len(reason) > 1024 or not _REASON.fullmatch(reason):
        raise ValueError(f"`{reason}` is not a condition reason")
    return {
        "type": type_,
        "status": status,
        "observedGeneration": observed_generation,
        "reason": reason,
        "message": message[:MAX_MESSAGE],
    }


def set_condition(conditions: list[Condition], new: Condition, *, now: str) -> bool:
    """Put `new` into the list; return whether that changed anything.

    `now` is RFC 3339 in whole seconds. It becomes the transition time if the status differs and
    `new` has none.
    """
    old = find(conditions, new["type"])
    time = new.get("lastTransitionTime") or now
    if old is None:
        conditions.append(new | {"lastTransitionTime": time})
        return True
    changed = False
    if old.get("status") != new["status"]:
        old["status"], old["lastTransitionTime"] = new["status"], time
        changed = True
    for field in ("reason", "message", "observedGeneration"):
        value = new.get(field, 0 if field == "observedGeneration" else "")
        if old.get(field, 0 if field == "observedGeneration" else "") != value:
            old[field] = value
            changed = True
    return changed


def remove_condition(conditions: list[Condition], type_: str) -> bool:
    """Remove the condition; return whether it existed."""
    kept = [one for one in conditions if one.get("type") != type_]
    removed = len(kept) != len(conditions)
    conditions[:] = kept
    return removed


def find(conditions: list[Condition], type_: str) -> Condition | None:
    """Return the condition of this type, or None."""
    return next((one for one in conditions if one.get("type") == type_), None)


def is_status(conditions: list[Condition], type_: str, status: str) -> bool:
    """Return whether the condition exists with this status; an absent one has none."""
    found = find(conditions, type_)
    return found is not None and found.get("status") == status


def is_true(conditions: list[Condition], type_: str) -> bool:
    """Return whether the condition exists with status `True`."""
    return is_status(conditions, type_, "True")


def is_false(conditions: list[Condition], type_: str) -> bool:
    """Return whether the condition exists with status `False`."""
    return is_status(conditions, type_, "False")
