"""A status with fields and conditions put in."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

Status = dict[str, Any]
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_EXAMPLE = "2006-01-02T15:04:05Z"
_TIMES = ("lastTransitionTime", "lastHeartbeatTime")


def fault(conditions: Sequence[Any]) -> str:
    """Return the error in the first invalid condition; empty if all are valid."""
    for one in conditions:
        if not isinstance(one, Mapping):
            return f"a condition is not a mapping: {one!r}"
        type_, value = one.get("type"), one.get("status")
        if not isinstance(type_, str) or not type_:
            return "a condition has no `type`"
        if str(value) not in ("True", "False", "Unknown"):
            return f"`status` of the condition `{type_}` must be True, False or Unknown: {value!r}"
        reason = one.get("reason")
        if reason is not None and not (isinstance(reason, str) and _REASON.fullmatch(reason)):
            return f"`reason` of the condition `{type_}` must be in camel case: {reason!r}"
        if not isinstance(one.get("message", ""), str):
            return f"`message` of the condition `{type_}` must be a string"
        for key in _TIMES:
            if key in one and not (isinstance(one[key], str) and _TIME.fullmatch(one[key])):
                return f"`{key}` of the condition `{type_}` must be a time such as {_EXAMPLE}"
    return ""


def wanted(
    present: Mapping[str, Any],
    fields: Mapping[str, Any],
    conditions: Sequence[Mapping[str, Any]],
    *,
    now: str,
    replace: bool = False,
    replace_lists: bool = False,
) -> Status:
    """Return the whole desired status; with `replace`, only these fields.

    A condition replaces the one of its type; its time stays where its status does.
    """
    found = {} if replace else copy.deepcopy(dict(present))
    _merge(found, fields)
    old = [one for one in present.get("conditions") or [] if isinstance(one, dict)]
    if conditions:
        before = {one.get("type"): one for one in old}
        new = {one["type"]: _timed(one, before.get(one["type"]), now) for one in conditions}
        kept = [] if replace or replace_lists else old
        listed = [new.pop(one.get("type"), one) for one in kept]
        found["conditions"] = [*listed, *new.values()]
    return found


def _timed(one: Mapping[str, Any], before: Mapping[str, Any] | None, now: str) -> Status:
    found = {**one, "status": str(one["status"])}
    if "lastTransitionTime" not in found:
        is_same = before is not None and before.get("status") == found["status"]
        since = before.get("lastTransitionTime") if before is not None and is_same else None
        found["lastTransitionTime"] = since or now
    return found


def _merge(into: Status, fields: Mapping[str, Any]) -> None:
    """Merge like a merge patch: mappings are merged, null removes."""
    for key, value in fields.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)
