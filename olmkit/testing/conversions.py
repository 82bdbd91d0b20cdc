"""Find fields that a conversion loses, with objects generated from the CRD."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from olmkit.kube.crds.changes import samples
from olmkit.kube.objects import Manifest
from olmkit.runtime.serve.webhook_conversion import CannotConvert
from olmkit.testing.apiserver.kinds import schemas
from olmkit.testing.clients import load_manifest

Schema = Mapping[str, Any]

# Deeper fields and further values are not tried.
_MOST_DEPTH = 12
_MOST_OBJECTS = 200
_NOTHING = object()
_METADATA: Mapping[str, Any] = {"name": "one", "annotations": {"example.com/kept": "yes"}}


def conversion_losses(
    crd: Path | str | Manifest,
    here: str,
    there: str,
    *,
    forth: Callable[[Manifest], Manifest],
    back: Callable[[Manifest], Manifest],
) -> list[str]:
    """Return what objects of the version `here` lose when converted to `there` and back.

    The objects are generated from the schema of `here` in the CRD: one with only the required
    fields, one with all fields, and some with other values. As in the API server, defaults are set
    and unknown fields pruned after each step, and an object that is invalid in `there` is reported.
    An additional field is not a loss.

    Raises `ValueError` for a version that the CRD does not have, and the errors of `load_manifest`.
    """
    definition = crd if isinstance(crd, dict) else load_manifest(crd)
    old, new = _schema(definition, here), _schema(definition, there)
    found: dict[str, None] = {}
    for sample in _objects(old):
        for line in _losses(sample, old, new, there, forth, back):
            found.setdefault(line)
    return list(found)


def _schema(crd: Manifest, version: str) -> Schema:
    versions = crd["spec"]["versions"]
    for one in versions:
        if one["name"] == version:
            schema: Schema = one["schema"]["openAPIV3Schema"]
            return schema
    names = ", ".join(f"`{one['name']}`" for one in versions)
    raise ValueError(
        f"the CRD has no version `{version}`, only {names}: run `olmkit generate` first"
    )


def _losses(
    sample: Manifest,
    old: Schema,
    new: Schema,
    there: str,
    forth: Callable[[Manifest], Manifest],
    back: Callable[[Manifest], Manifest],
) -> Iterator[str]:
    before = schemas.with_defaults(sample, old)
    try:
        between = _as_stored(forth(copy.deepcopy(before)), new)
        for fault in schemas.faults(between, new):
            yield f"`{there}` refuses `.{fault.field}`: {fault.message}"
        after = _as_stored(back(copy.deepcopy(between)), old)
    except CannotConvert as error:
        yield f"cannot convert: {error}"
        return
    yield from _missing(before, after, "")


def _as_stored(manifest: Manifest, schema: Schema) -> Manifest:
    """Return an object as the API server would store it."""
    stored: Manifest = schemas.with_defaults(schemas.pruned(manifest, schema), schema)
    return stored


def _missing(before: Any, after: Any, path: str) -> Iterator[str]:
    """Yield the differences: fields of `before` that are missing or changed in `after`."""
    match before, after:
        case dict(), dict():
            for key, value in before.items():
                below = f"{path}.{key}"
                if key not in after:
                    yield f"`{below}` is lost"
                else:
                    yield from _missing(value, after[key], below)
        case list(), list() if len(before) == len(after):
            for number, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from _missing(one, other, f"{path}[{number}]")
        case _ if before != after or isinstance(before, bool) != isinstance(after, bool):
            yield f"`{path}` was {before!r} and is {after!r}"


def _objects(schema: Schema) -> Iterator[Manifest]:
    """Yield objects: the smallest, the largest, and the largest with each other value."""
    fields = {
        key: value
        for key, value in (schema.get("properties") or {}).items()
        if key not in ("apiVersion", "kind", "metadata")
    }
    least = {
        key: value
        for key in schema.get("required") or ()
        if key in fields and (value := samples.minimal(fields[key])) is not samples.NONE
    }
    yield {"metadata": copy.deepcopy(dict(_METADATA)), **least}
    most = {
        key: value
        for key, below in fields.items()
        if (value := _fill_value(below, 0)) is not _NOTHING
    }
    yield {"metadata": copy.deepcopy(dict(_METADATA)), **copy.deepcopy(most)}
    others = _with_other_values(most, {"properties": fields}, 0)
    for _, other in zip(range(_MOST_OBJECTS), others, strict=False):
        yield {"metadata": copy.deepcopy(dict(_METADATA)), **other}


def _fill_value(schema: Schema, depth: int) -> Any:
    """Return a value with all fields, none of them with its default; or `_NOTHING`."""
    if depth > _MOST_DEPTH:
        return _NOTHING
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    if properties:
        found = {
            key: value
            for key, below in properties.items()
            if (value := _fill_value(below, depth + 1)) is not _NOTHING
        }
        return _smallest_fitting(found, schema)
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping) and (value := _fill_value(values, depth + 1)) is not _NOTHING:
        return _smallest_fitting({"key": value}, schema)
    items = schema.get("items")
    if isinstance(items, Mapping) and (item := _fill_value(items, depth + 1)) is not _NOTHING:
        return _smallest_fitting([item], schema)
    return next(_scalars(schema), _NOTHING)


def _smallest_fitting(value: Any, schema: Schema) -> Any:
    """Return the value, or the smallest valid one if the value does not fit the schema."""
    if samples.fits(value, schema):
        return value
    least = samples.minimal(schema)
    return _NOTHING if least is samples.NONE else least


def _scalars(schema: Schema) -> Iterator[Any]:
    """Yield valid values, starting with those that are neither the default nor empty."""
    fitting = [one for one in samples.candidate_values(schema, schema) if samples.fits(one, schema)]
    plain = [one for one in fitting if one not in ("", 0, False, schema.get("default"))]
    yield from plain
    yield from (one for one in fitting if one not in plain)


def _with_other_values(value: Any, schema: Schema, depth: int) -> Iterator[Any]:
    """Yield copies in which one field has another valid value."""
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            below = (schema.get("properties") or {}).get(key)
            for other in _with_other_values(item, below, depth + 1) if below else ():
                yield {**copy.deepcopy(value), key: other}
    elif isinstance(value, list):
        items = schema.get("items") or {}
        for number, item in enumerate(value):
            for other in _with_other_values(item, items, depth + 1):
                yield [*copy.deepcopy(value[:number]), other, *copy.deepcopy(value[number + 1 :])]
    else:
        wanted = schema.get("enum") or [True, False] if _is_choice(schema) else ()
        yield from (one for one in wanted if one != value and samples.fits(one, schema))


def _is_choice(schema: Schema) -> bool:
    return bool(schema.get("enum")) or schema.get("type") == "boolean"
