"""Check whether an object has all desired fields, ignoring additional ones.

Lists are compared by the names of their items if all have one, else by position.
Both sides are plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.kube import changes


def covers(found: Any, desired: Any) -> bool:
    """Return whether `found` already has everything in `desired`."""
    return changes.same(project(found, desired), desired)


def project(found: Any, desired: Any) -> Any:
    """Return the part of `found` at the fields of `desired`, without missing fields."""
    if isinstance(desired, Mapping) and isinstance(found, Mapping):
        return {key: project(found[key], value) for key, value in desired.items() if key in found}
    if isinstance(desired, list) and isinstance(found, list):
        if desired and all(map(_has_name, desired)):
            by_name = {one["name"]: one for one in found if _has_name(one)}
            return [project(by_name[one["name"]], one) for one in desired if one["name"] in by_name]
        if len(found) == len(desired):
            return [project(one, other) for one, other in zip(found, desired, strict=True)]
    return found


def realign_ports(found: Any, desired: Any) -> Any:
    """Return `found` with the desired port numbers for the operator's ports.

    Ports merge by number: if another manager changed a number, applying the port would add a second
    one with the same name, which the server rejects.
    """
    if isinstance(desired, Mapping) and isinstance(found, Mapping):
        changed = {
            key: realign_ports(found[key], value) for key, value in desired.items() if key in found
        }
        if isinstance(desired.get("ports"), list) and isinstance(found.get("ports"), list):
            ours = {one["name"]: one for one in desired["ports"] if _has_name(one)}
            changed["ports"] = [
                {**one, **ours[one["name"]]} if _has_name(one) and one["name"] in ours else one
                for one in found["ports"]
            ]
        return {**found, **changed}
    if isinstance(desired, list) and isinstance(found, list) and all(map(_has_name, desired)):
        by_name = {one["name"]: one for one in desired}
        return [
            realign_ports(one, by_name[one["name"]])
            if _has_name(one) and one["name"] in by_name
            else one
            for one in found
        ]
    return found


def _has_name(value: Any) -> bool:
    return isinstance(value, Mapping) and "name" in value
