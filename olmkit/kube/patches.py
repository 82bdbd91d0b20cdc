"""Patches of objects: JSON patch, merge patch, and Kubernetes' strategic merge.

All are functions from a value and a patch to a new value; they change nothing in place. A strategic
merge merges the lists of built-in kinds by a key of their items, and puts the patch's items first,
as kustomize does.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from olmkit.kube import objects


class PatchError(ValueError):
    """A patch does not apply; the message says why."""


def json_patch(value: Any, operations: Any) -> Any:
    """Return `value` after the operations of RFC 6902.

    `value` itself is not changed. Raises `PatchError` for operations that RFC 6902 does not
    allow, or whose paths do not exist.
    """
    if not isinstance(operations, list):
        raise PatchError("a JSON patch is a list of operations")
    result = copy.deepcopy(value)
    for operation in operations:
        if not isinstance(operation, Mapping) or not isinstance(operation.get("path"), str):
            raise PatchError("an operation of a JSON patch has `op` and `path`")
        result = _apply(result, operation)
    return result


def merge_patch(value: Any, patch: Any) -> Any:
    """Return `value` after the merge patch of RFC 7386: mappings merge, `null` removes."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(value) if isinstance(value, Mapping) else {}
    for key, item in patch.items():
        if item is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), item)
    return result


def strategic_merge(value: objects.Manifest, patch: Mapping[str, Any]) -> objects.Manifest | None:
    """Return `value` after a strategic merge; None if the patch deletes the object.

    For a kind that is not built in, lists are replaced as a whole.
    """
    api = objects.gvk(value)
    keyed = is_built_in(api.group)
    result = _merge_mappings(value, patch, (api.kind,), keyed=keyed)
    if result is None:
        return None
    return dict(_unique(result, (api.kind,)) if keyed else result)


def sort_like_server(
    merged: objects.Manifest, value: objects.Manifest, patch: Mapping[str, Any]
) -> objects.Manifest:
    """Return a strategic merge with its lists in the order of an API server, for a built-in kind.

    Items that are in `value` keep their order. A new item of the patch is placed before the items
    that follow it in the patch.
    """
    ordered: objects.Manifest = _sort_like_server(merged, value, patch, (objects.kind(value),))
    return ordered


def is_built_in(group: str) -> bool:
    """Return whether Kubernetes itself defines the API group, so that its lists have keys."""
    return "." not in group or group.endswith(".k8s.io")


def pointer(path: str) -> list[str]:
    """Return the steps of a JSON pointer (RFC 6901); raise `PatchError` for invalid text."""
    if path == "":
        return []
    if not path.startswith("/"):
        raise PatchError(f"`{path}` is not a JSON pointer: it must start with `/`")
    return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]


def _apply(root: Any, operation: Mapping[str, Any]) -> Any:
    path = operation["path"]
    steps = pointer(path)
    match operation.get("op"):
        case "add":
            return _add(root, steps, _value_of(operation), path)
        case "remove":
            return _remove(root, steps, path)
        case "replace":
            _get(root, steps, path)
            return _put(root, steps, _value_of(operation), path)
        case "move":
            source = str(operation.get("from", ""))
            moved = _get(root, pointer(source), source)
            return _add(_remove(root, pointer(source), source), steps, moved, path)
        case "copy":
            source = str(operation.get("from", ""))
            return _add(root, steps, copy.deepcopy(_get(root, pointer(source), source)), path)
        case "test":
            if _get(root, steps, path) != operation.get("value"):
                raise PatchError(f"the test of `{path}` failed")
            return root
        case other:
            raise PatchError(f"`{other}` is not an operation of a JSON patch")


def _value_of(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise PatchError(f"the operation at `{operation['path']}` has no `value`")
    return copy.deepcopy(operation["value"])


def _get(root: Any, steps: Sequence[str], path: str) -> Any:
    value = root
    for step in steps:
        match value:
            case dict() if step in value:
                value = value[step]
            case list():
                value = value[_index(step, len(value) - 1, path)]
            case _:
                raise PatchError(f"there is no `{path}`")
    return value


def _parent(root: Any, steps: Sequence[str], path: str) -> Any:
    parent = _get(root, steps[:-1], path)
    if not isinstance(parent, dict | list):
        raise PatchError(f"there is no `{path}`")
    return parent


def _add(root: Any, steps: Sequence[str], value: Any, path: str) -> Any:
    if not steps:
        return value
    parent = _parent(root, steps, path)
    if isinstance(parent, list):
        at = len(parent) if steps[-1] == "-" else _index(steps[-1], len(parent), path)
        parent.insert(at, value)
    else:
        parent[steps[-1]] = value
    return root


def _put(root: Any, steps: Sequence[str], value: Any, path: str) -> Any:
    if not steps:
        return value
    parent = _parent(root, steps, path)
    if isinstance(parent, list):
        parent[_index(steps[-1], len(parent) - 1, path)] = value
    else:
        parent[steps[-1]] = value
    return root


def _remove(root: Any, steps: Sequence[str], path: str) -> Any:
    if not steps:
        raise PatchError("a JSON patch cannot remove the whole object")
    parent = _parent(root, steps, path)
    if isinstance(parent, list):
        del parent[_index(steps[-1], len(parent) - 1, path)]
    elif steps[-1] in parent:
        del parent[steps[-1]]
    else:
        raise PatchError(f"there is no `{path}` to remove")
    return root


def _index(step: str, last: int, path: str) -> int:
    if not step.isdecimal() or (len(step) > 1 and step[0] == "0") or int(step) > last:
        raise PatchError(f"there is no `{path}`")
    return int(step)


# Lists of built-in kinds whose items merge: field → key. Facts of the Kubernetes API.
_KEYS: Mapping[str, str] = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "env": "name",
    "envFrom": "",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "imagePullSecrets": "name",
    "secrets": "name",
    "hostAliases": "ip",
    "resourceClaims": "name",
    "topologySpreadConstraints": "topologyKey",
    "ownerReferences": "uid",
    "conditions": "type",
    "webhooks": "name",
}
_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
_DELETE, _REPLACE, _MERGE = "delete", "replace", "merge"


def _key_of(path: tuple[str, ...]) -> str:
    """Return the key by which the items of the list at `path` merge; empty if it is replaced."""
    name = path[-1]
    if name == "ports":
        if len(path) > 1 and path[-2] in _CONTAINER_LISTS:
            return "containerPort"
        return "port" if path[:1] == ("Service",) else ""
    if name == "secrets" and path[:1] != ("ServiceAccount",):
        return ""
    return _KEYS.get(name, "")


def _merge_mappings(
    value: Any, patch: Mapping[str, Any], path: tuple[str, ...], *, keyed: bool
) -> dict[str, Any] | None:
    directive = patch.get("$patch", _MERGE)
    rest = {key: item for key, item in patch.items() if not _is_directive(key)}
    if directive == _DELETE:
        return None
    if directive == _REPLACE:
        return copy.deepcopy(rest)
    if directive != _MERGE:
        raise PatchError(f"`$patch: {directive}` is not known")
    result = copy.deepcopy(dict(value)) if isinstance(value, Mapping) else {}
    for key, item in rest.items():
        if item is None:
            result.pop(key, None)
            continue
        merged = _merge(result.get(key), item, (*path, key), keyed=keyed)
        if merged is None:
            result.pop(key, None)
        else:
            result[key] = merged
    return result


def _is_directive(key: str) -> bool:
    if key == "$patch":
        return True
    # Other directives contain the order of lists, which a file in a project never needs.
    if key.startswith(("$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys")):
        raise PatchError(f"the directive `{key}` is not supported")
    return False


def _merge(value: Any, patch: Any, path: tuple[str, ...], *, keyed: bool) -> Any:
    if isinstance(patch, Mapping):
        return _merge_mappings(value, patch, path, keyed=keyed)
    if isinstance(patch, list):
        return _merge_lists(value, patch, path, keyed=keyed)
    return patch


def _merge_lists(value: Any, patch: list[Any], path: tuple[str, ...], *, keyed: bool) -> Any:
    items = [item for item in patch if not _is_list_directive(item)]
    replaces = any(_is_list_directive(item) for item in patch)
    key = _key_of(path) if keyed else ""
    if key and _is_ports(path) and not replaces and isinstance(value, list):
        both = [item for item in (*value, *items) if isinstance(item, Mapping)]
        if any(_SECOND_KEY in item for item in both):
            return _merge_ports(value, items, key)
    merges = key and all(isinstance(item, Mapping) and key in item for item in items)
    if not merges or replaces or not isinstance(value, list):
        kept = [item for item in items if not _deletes(item)]
        return copy.deepcopy([_without_directives(item) for item in kept])
    find = _finder(value, key)
    result: list[Any] = []
    taken: list[Any] = []
    for item in items:
        old = find(item[key])
        if old is not None:
            taken.append(old)
        merged = _merge_mappings(old, item, path, keyed=keyed)
        if merged is not None:
            result.append(merged)
    rest = [item for item in value if not any(item is other for other in taken)]
    return result + copy.deepcopy(rest)


def _sort_like_server(merged: Any, value: Any, patch: Any, path: tuple[str, ...]) -> Any:
    if isinstance(merged, Mapping) and isinstance(value, Mapping) and isinstance(patch, Mapping):
        both = patch.keys() & value.keys()
        return {
            name: _sort_like_server(item, value[name], patch[name], (*path, name))
            if name in both
            else item
            for name, item in merged.items()
        }
    if not all(isinstance(one, list) for one in (merged, value, patch)):
        return merged
    key = _key_of(path)
    if not key or any(not isinstance(item, Mapping) or key not in item for item in merged):
        return merged
    before, changed = _finder(value, key), _finder(patch, key)
    items = [
        _sort_like_server(item, before(item[key]), changed(item[key]), path)
        if changed(item[key])
        else item
        for item in merged
    ]
    places = {item[key]: place for place, item in enumerate(value) if key in item}
    kept = [item for item in items if not changed(item[key])]
    new = [item for item in items if changed(item[key])]
    result: list[Any] = []
    while kept and new:
        left, right = places[kept[0][key]], places.get(new[0][key])
        result.append((kept if right is not None and left < right else new).pop(0))
    return result + kept + new


_SECOND_KEY = "protocol"


def _is_ports(path: tuple[str, ...]) -> bool:
    return path[-1] == "ports"


def _merge_ports(value: list[Any], items: list[Any], key: str) -> list[Any]:
    """Merge ports by their second key too: if one of them has it, kustomize compares both keys.

    A port of the patch is lost if it has another value there than the port with its number.
    """
    result = copy.deepcopy(value)
    added: list[Any] = []
    for item in items:
        pair = (item.get(key), item.get(_SECOND_KEY))
        same = [
            index
            for index, one in enumerate(result)
            if isinstance(one, Mapping) and (one.get(key), one.get(_SECOND_KEY)) == pair
        ]
        if same:
            merged = _merge_mappings(result[same[0]], item, ("ports",), keyed=True)
            result[same[0] : same[0] + 1] = [] if merged is None else [merged]
        elif not _deletes(item) and all(one.get(key) != item.get(key) for one in result):
            added.append(_without_directives(item))
    return [*added, *result]


def _unique(value: Any, path: tuple[str, ...]) -> Any:
    """Remove items that repeat a key: the last value is kept, at the first position."""
    if isinstance(value, Mapping):
        return {name: _unique(item, (*path, name)) for name, item in value.items()}
    if not isinstance(value, list):
        return value
    items = [_unique(item, path) for item in value]
    key = _key_of(path)
    if not key or not all(isinstance(item, Mapping) and key in item for item in items):
        return items
    kept: dict[Any, Any] = {}
    for item in items:
        second = item.get(_SECOND_KEY) if _is_ports(path) else None
        kept[str(item[key]), second] = item
    return list(kept.values())


def _finder(items: list[Any], key: str) -> Callable[[Any], Any]:
    def find(wanted: Any) -> Any:
        return next(
            (item for item in items if isinstance(item, Mapping) and item.get(key) == wanted), None
        )

    return find


def _is_list_directive(item: Any) -> bool:
    return isinstance(item, Mapping) and dict(item) == {"$patch": _REPLACE}


def _deletes(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("$patch") == _DELETE


def _without_directives(item: Any) -> Any:
    if isinstance(item, Mapping):
        return {key: _without_directives(part) for key, part in item.items() if key != "$patch"}
    return item
