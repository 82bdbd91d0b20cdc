"""Field ownership: what server-side apply merges, removes and rejects.

A field is a path of steps: a key of a map, the key values of an item in a list of type map, or the
value of an item in a set. The types of lists come from a kind's schema or, for built-in kinds, from
a table; all other lists are atomic.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Step = tuple[str, str]  # ("f", name), ("k", keys as JSON), ("v", value as JSON)
Path = tuple[Step, ...]
Keys = Callable[[Path], "tuple[str, ...] | str | None"]
"""For a list: the keys of its items, `set`, or None if it is atomic; for a map: `atomic` or None.
"""

Manager = tuple[str, str, str]
"""A field manager: its name, `Apply` or `Update`, and the subresource."""

_BOOKKEEPING = {"apiVersion", "kind"}
_SERVERS = {
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "generateName",
}


@dataclass(slots=True)
class Owners:
    """The field managers of one object with their fields, separately for apply and update."""

    fields: dict[Manager, set[Path]] = field(default_factory=dict)

    def others(self, manager: Manager, path: Path) -> list[Manager]:
        return sorted(
            other for other, own in self.fields.items() if other != manager and path in own
        )

    def drop(self, path: Path, but: Manager | None = None) -> None:
        for manager, own in self.fields.items():
            if manager != but:
                own.discard(path)

    def wrote(self, manager: Manager, old: Any, new: Any, keys: Keys) -> None:
        """Record an update without apply: the manager owns the changed fields."""
        before, after = (dict(leaves(one, keys, maps=True)) for one in (old, new))
        own = self.fields.setdefault(manager, set())
        for path in before.keys() - after.keys():
            self.drop(path)
        for path, value in after.items():
            if path not in before or before[path] != value:
                self.drop(path, manager)
                own.add(path)

    def managed_fields(self, api_version: str, time: str) -> list[dict[str, Any]]:
        """Return the value of `metadata.managedFields`."""
        return [
            {
                "manager": name,
                "operation": operation,
                "apiVersion": api_version,
                "time": time,
                "fieldsType": "FieldsV1",
                "fieldsV1": _fields_v1(own),
            }
            | ({"subresource": subresource} if subresource else {})
            for (name, operation, subresource), own in sorted(self.fields.items())
            if own
        ]


def _fields_v1(paths: set[Path]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    inner = {path[:length] for path in paths for length in range(1, len(path))}
    for path in sorted(paths):
        here = found
        for sort, word in path:
            here = here.setdefault(f"{sort}:{word}", {})
        if path in inner or path[-1][0] == "k":
            here["."] = {}
    return found


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that another manager owns with a different value."""

    manager: Manager
    path: str


def apply(
    live: Any, desired: Any, owners: Owners, me: Manager, keys: Keys, *, force: bool
) -> tuple[Any, Owners, list[FieldConflict]]:
    """Apply `desired`; return the object, the new owners and the conflicts."""
    owners = Owners({one: set(own) for one, own in owners.fields.items()})
    requested, present = dict(leaves(desired, keys)), dict(leaves(live, keys))
    conflicts = [
        FieldConflict(other, text(path))
        for path, value in requested.items()
        if path in present and present[path] != value
        for other in owners.others(me, path)
    ]
    if conflicts and not force:
        return live, owners, conflicts
    result = copy.deepcopy(live)
    for path in sorted(owners.fields.get(me, set()) - requested.keys(), key=len):
        if not owners.others(me, path):
            _remove(result, path)
    for path, value in requested.items():
        if present.get(path, _MISSING) != value:
            owners.drop(path, me)
    result = _merged(result, desired, (), keys)
    owners.fields[me] = set(requested)
    return result, owners, []


_MISSING = object()


def leaves(
    value: Any, keys: Keys, path: Path = (), *, maps: bool = False
) -> Iterator[tuple[Path, Any]]:
    """Yield the path and value of each owned field; with `maps`, also those of maps."""
    if isinstance(value, Mapping):
        if path == (("f", "metadata"),) and not value:
            return
        if path and (not value or keys(path) == "atomic"):
            yield path, value
            return
        if maps and path and path != (("f", "metadata"),) and path[-1][0] == "f":
            yield path, _A_MAP
        for key, item in value.items():
            if (not path and key in _BOOKKEEPING) or (
                path == (("f", "metadata"),) and key in _SERVERS
            ):
                continue
            yield from leaves(item, keys, (*path, ("f", key)), maps=maps)
        return
    sort = keys(path) if isinstance(value, list) else None
    if sort == "set":
        for item in value:
            yield (*path, ("v", json.dumps(item))), item
    elif sort:
        for item in value:
            step = _step(item, sort)
            if step is None:
                continue
            yield (*path, step), _MISSING_ITEM
            yield from leaves(item, keys, (*path, step), maps=maps)
    else:
        yield path, value


_MISSING_ITEM = "an item"
_A_MAP = "a map"


def _step(item: Any, keys: tuple[str, ...] | str) -> Step | None:
    if not isinstance(item, Mapping) or isinstance(keys, str):
        return None
    found = {key: item[key] for key in keys if key in item}
    return ("k", json.dumps(found, sort_keys=True, separators=(",", ":"))) if found else None


def _merged(live: Any, desired: Any, path: Path, keys: Keys) -> Any:
    if isinstance(live, dict) and isinstance(desired, Mapping) and keys(path) != "atomic":
        for key, item in desired.items():
            live[key] = _merged(live.get(key), item, (*path, ("f", key)), keys)
        return live
    sort = keys(path) if isinstance(desired, list) and isinstance(live, list) else None
    if sort == "set":
        return live + [item for item in desired if item not in live]
    if sort:
        places = {_step(item, sort): number for number, item in enumerate(live)}
        for item in desired:
            step = _step(item, sort)
            if step in places and step is not None:
                live[places[step]] = _merged(live[places[step]], item, (*path, step), keys)
            else:
                live.append(copy.deepcopy(item))
        return live
    return copy.deepcopy(desired)


def _remove(value: Any, path: Path) -> None:
    """Remove a field, and parents that become empty."""
    sort, word = path[0]
    if isinstance(value, dict) and sort == "f":
        if word not in value:
            return
        if len(path) == 1:
            del value[word]
            return
        _remove(value[word], path[1:])
        if value[word] in ({}, []):
            del value[word]
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if sort == "v" and json.dumps(item) == word:
                del value[number]
                return
            if sort == "k" and _is(item, word):
                if len(path) == 1:
                    del value[number]  # with its fields that have no owner
                else:
                    _remove(item, path[1:])
                return


def _is(item: Any, word: str) -> bool:
    wanted = json.loads(word)
    return isinstance(item, dict) and all(item.get(key) == one for key, one in wanted.items())


def text(path: Path) -> str:
    """Format a path like the cause of a conflict: `.spec.ports[port=80].name`."""
    words = ""
    for sort, word in path:
        if sort == "f":
            words += f".{word}"
        elif sort == "k":
            keys = ",".join(f"{key}={json.dumps(one)}" for key, one in json.loads(word).items())
            words += f"[{keys}]"
        else:
            words += f"[={word}]"
    return words


# Lists of type map in built-in kinds, by the name of the list, from the Kubernetes API.
_BUILT_IN: Mapping[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "conditions": ("type",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}


def built_in_keys(path: Path) -> tuple[str, ...] | str | None:
    """Return the list type at a path of a built-in kind."""
    name = path[-1][1] if path else ""
    if path == (("f", "spec"), ("f", "selector")):
        return "atomic"
    if path[:1] == (("f", "metadata"),) and len(path) == 2:
        if name == "finalizers":
            return "set"
        return ("uid",) if name == "ownerReferences" else None
    if name == "ports":
        in_container = len(path) > 1 and path[-2][0] == "k"
        return ("containerPort", "protocol") if in_container else ("port", "protocol")
    return _BUILT_IN.get(name)


def schema_keys(schema: Mapping[str, Any]) -> Keys:
    """Return a function from path to list type, for the schema of a custom kind."""

    def keys(path: Path) -> tuple[str, ...] | str | None:
        if path[:1] == (("f", "metadata"),):
            return built_in_keys(path)
        here: Any = schema
        for sort, word in path:
            if not isinstance(here, Mapping):
                return None
            if sort == "f":
                properties = here.get("properties") or {}
                here = properties.get(word) or here.get("additionalProperties")
            else:
                here = here.get("items")
        if not isinstance(here, Mapping):
            return None
        if here.get("x-kubernetes-map-type") == "atomic":
            return "atomic"
        match here.get("x-kubernetes-list-type"):
            case "set":
                return "set"
            case "map":
                return tuple(here.get("x-kubernetes-list-map-keys") or ())
            case _:
                return None

    return keys
