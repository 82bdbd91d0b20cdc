"""Check whether an object has all desired fields, ignoring additional ones.

Lists are compared by the names of their items if all have one, else by position.
Both sides are plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.kube import changes


def covers(found: Any, wanted: Any) -> bool:
    """Return whether `found` already has everything in `wanted`."""
    return changes.same(project(found, wanted), wanted)


def project(found: Any, wanted: Any) -> Any:
    """Return the part of `found` at the fields of `wanted`, without missing fields."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        return {key: project(found[key], value) for key, value in wanted.items() if key in found}
    if isinstance(wanted, list) and isinstance(found, list):
        if wanted and all(map(_has_name, wanted)):
            by_name = {one["name"]: one for one in found if _has_name(one)}
            return [project(by_name[one["name"]], one) for one in wanted if one["name"] in by_name]
        if len(found) == len(wanted):
            return [project(one, other) for one, other in zip(found, wanted, strict=True)]
    return found


def realign_ports(found: Any, wanted: Any) -> Any:
    """Return `found` with the desired port numbers for the operator's ports.

    Ports merge by number: if another manager changed a number, applying the port would add a second
    one with the same name, which the server rejects.
    """
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        changed = {
            key: realign_ports(found[key], value) for key, value in wanted.items() if key in found
        }
        if isinstance(wanted.get("ports"), list) and isinstance(found.get("ports"), list):
            ours = {one["name"]: one for one in wanted["ports"] if _has_name(one)}
            changed["ports"] = [
                {**one, **ours[one["name"]]} if _has_name(one) and one["name"] in ours else one
                for one in found["ports"]
            ]
        return {**found, **changed}
    if isinstance(wanted, list) and isinstance(found, list) and all(map(_has_name, wanted)):
        by_name = {one["name"]: one for one in wanted}
        return [
            realign_ports(one, by_name[one["name"]])
            if _has_name(one) and one["name"] in by_name
            else one
            for one in found
        ]
    return found


def _has_name(value: Any) -> bool:
    return isinstance(value, Mapping) and "name" in value
