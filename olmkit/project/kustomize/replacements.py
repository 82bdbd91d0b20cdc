"""Apply replacements, which copy a value to fields of other resources."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olmkit.base import documents
from olmkit.base.diagnostics import InputError, Location
from olmkit.kube import objects
from olmkit.project.kustomize.resources import Resource, Selector, refusal

_MISSING = object()
_INDEX = re.compile(r"([^.\[\]])\[(\d+)\](?=\.|$)", re.ASCII)


def replace(resources: Sequence[Resource], replacement: Mapping[str, Any], at: Location) -> None:
    """Apply one entry of `replacements`; raises `InputError` if a field does not exist."""
    value = replacement.get("sourceValue")
    if value is None:
        value = _source_value(resources, objects.mapping(replacement.get("source")), at)
    elif replacement.get("source"):
        raise refusal("a replacement has one of `source` and `sourceValue`", at)
    for item in objects.sequence(replacement.get("targets")):
        target = objects.mapping(item)
        select = Selector.parse(target.get("select"), at)
        rejects = [Selector.parse(part, at) for part in objects.sequence(target.get("reject"))]
        options = objects.mapping(target.get("options"))
        paths = objects.sequence(target.get("fieldPaths")) or ["metadata.name"]
        for resource in resources:
            if select.matches(resource) and not any(no.matches(resource) for no in rejects):
                for path in paths:
                    _put(resource, str(path), value, options, at)


def _source_value(resources: Sequence[Resource], source: Mapping[str, Any], at: Location) -> Any:
    selector = Selector.parse(source, at, exact=True)
    found = [resource for resource in resources if selector.matches(resource)]
    if not found:
        raise refusal(f"nothing selected by {selector}", at, hint="correct `source`")
    if len(found) > 1:
        names = ", ".join(str(resource) for resource in found)
        raise refusal(f"the source of a replacement matches several resources: {names}", at)
    path = objects.text(source.get("fieldPath")) or "metadata.name"
    value = find_value(found[0].value, path)
    if value is None:
        hint = _index_hint(path) or "correct `fieldPath`"
        raise refusal(f"{found[0]} has no field `{path}`", at, hint=hint)
    options = objects.mapping(source.get("options"))
    if options.get("delimiter"):
        parts = str(value).split(str(options["delimiter"]))
        index = options.get("index") or 0
        if not isinstance(index, int) or not 0 <= index < len(parts):
            raise refusal(f"`{value}` has no part {index}", at)
        return parts[index]
    return value


def find_value(value: Any, path: str) -> Any:
    """Return the value at a field path, None if there is none."""
    return value_at(value, field_steps(path))


def value_at(value: Any, steps: Sequence[str]) -> Any:
    """Return the value at the steps, None if there is none."""
    for step in steps:
        value = _child(value, step)
        if value is _MISSING:
            return None
    return value


def field_steps(path: str) -> list[str]:
    r"""Return the steps of a field path: `a.b`, `[a.b/c]` for one step, `\.` for a dot in it."""
    found: list[str] = []
    for match in re.finditer(r"(\[[^\]]*\]|(?:\\.|[^.\\])+)", path.removeprefix(".")):
        step = match[0]
        if step.startswith("[") and "=" not in step:
            step = step[1:-1]
        found.append(step.replace("\\.", "."))
    return found


def _index_hint(path: str) -> str:
    """Return a hint about an index: kustomize supports `containers[0]` only in variables."""
    corrected = _INDEX.sub(r"\1.\2", path)
    return f"write `{corrected}`" if corrected != path else ""


def _child(value: Any, step: str) -> Any:
    """Return the first child that matches a step, or `_MISSING`."""
    if isinstance(value, dict):
        return value.get(step, _MISSING)
    return next((value[index] for index in _indexes(value, step)), _MISSING)


def _indexes(value: Any, step: str) -> Iterator[int]:
    """Yield the positions in a list that match a step."""
    if not isinstance(value, list):
        return
    if step == "*":
        yield from range(len(value))
    elif step.isdecimal() and int(step) < len(value):
        yield int(step)
    elif step.startswith("["):
        key, _, wanted = step[1:-1].partition("=")
        for index, item in enumerate(value):
            if isinstance(item, dict) and str(item.get(key)) == wanted:
                yield index


def _put(
    resource: Resource, path: str, value: Any, options: Mapping[str, Any], at: Location
) -> None:
    create = options.get("create") is True
    places = list(_places(resource.value, field_steps(path), create=create))
    if not places:
        raise refusal(
            f'unable to find field "{path}" in replacement target',
            at,
            hint=_index_hint(path)
            or f"correct the path, which does not exist in {resource}, or set `create: true`",
        )
    for holder, key in places:
        old = holder[key] if isinstance(holder, list) else holder.get(key, _MISSING)
        holder[key] = _as_before(old, _new_value(old, value, options, at), at)


def _places(value: Any, steps: Sequence[str], *, create: bool) -> Iterator[tuple[Any, Any]]:
    """Yield the container and the key of the last step."""
    head, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        if head == "*" and head not in value:
            keys = list(value)
        elif head in value or create:
            keys = [head]
        else:
            return
        for key in keys:
            if not rest:
                yield value, key
                continue
            if value.get(key) is None and create:
                value[key] = [] if rest[0].startswith("[") and "=" in rest[0] else {}
            yield from _places(value.get(key), rest, create=create)
    elif isinstance(value, list):
        indexes = list(_indexes(value, head))
        if not indexes and create and head.startswith("["):
            key, _, wanted = head[1:-1].partition("=")
            value.append({key: wanted})
            indexes = [len(value) - 1]
        for index in indexes:
            if rest:
                yield from _places(value[index], rest, create=create)
            else:
                yield value, index


def _new_value(old: Any, value: Any, options: Mapping[str, Any], at: Location) -> Any:
    delimiter = options.get("delimiter")
    if not delimiter:
        return copy.deepcopy(value)
    if isinstance(value, dict | list):
        raise refusal("a mapping or a list cannot be part of a string", at)
    parts = str("" if old in (None, _MISSING) else old).split(str(delimiter))
    index = options.get("index") or 0
    if not isinstance(index, int):
        raise refusal("`index` must be a whole number", at)
    if index < 0:
        parts.insert(0, str(value))
    elif index >= len(parts):
        parts.append(str(value))
    else:
        parts[index] = str(value)
    return str(delimiter).join(parts)


def _as_before(old: Any, value: Any, at: Location) -> Any:
    """Return a value with the type of the existing one, like kustomize.

    A new field has the type of its text: also `5` from a string.
    """
    if isinstance(old, dict | list):
        return value
    if isinstance(value, dict | list):
        if old is _MISSING:
            return value
        raise refusal("a mapping or a list cannot replace a single value", at)
    text = value if isinstance(value, str) else documents.dump(value).decode().strip()
    if isinstance(old, str):
        return text
    meant = _plain(text)
    if old is not _MISSING and type(meant) is not type(old):
        raise refusal(f"`{text}` cannot replace `{old}`, which has a different type", at)
    return meant


def _plain(text: str) -> Any:
    """Return the value of unquoted text, which is a string unless it is another scalar."""
    try:
        [document] = documents.load_all(text.encode(), "", as_kustomize=True)
    except (InputError, ValueError):
        return text
    return text if isinstance(document.value, dict | list | None) else document.value
