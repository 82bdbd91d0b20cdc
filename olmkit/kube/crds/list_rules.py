"""The rules of the API server for lists and maps of a schema: their types and keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.kube.crds.schema_problems import (
    Keys,
    SchemaProblem,
    as_list,
    forbidden,
    invalid,
    missing,
    unsupported,
)


def check_map_type(node: Mapping[str, Any], at: Keys) -> Iterator[SchemaProblem]:
    kind = node.get("x-kubernetes-map-type")
    if not kind:
        return
    if node.get("type") != "object":
        detail = "must be object if x-kubernetes-map-type is specified"
        yield invalid((*at, "type"), node.get("type") or "", detail)
    if kind not in ("atomic", "granular"):
        yield unsupported((*at, "x-kubernetes-map-type"), kind, ("atomic", "granular"))


def check_array(node: Mapping[str, Any], at: Keys) -> Iterator[SchemaProblem]:
    items = node.get("items")
    if isinstance(items, list):
        yield forbidden((*at, "items"), "items must be a schema object and not an array")
        return
    if items is None:
        yield missing((*at, "items"), "must be specified")
        return
    kind, listed = node.get("x-kubernetes-list-type"), node.get("x-kubernetes-list-map-keys")
    if kind not in (None, "atomic", "set", "map"):
        yield unsupported((*at, "x-kubernetes-list-type"), kind, ("atomic", "map", "set"))
    elif listed and kind != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield invalid((*at, "x-kubernetes-list-type"), kind or "", detail)
    if kind not in ("set", "map") or not isinstance(items, dict):
        return
    if items.get("nullable") is True:
        detail = f"cannot be nullable when x-kubernetes-list-type is {kind}"
        yield forbidden((*at, "items", "nullable"), detail)
    if kind == "map":
        yield from _map_keys(items, as_list(listed), at)
    elif items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(
            (*at, "items", "x-kubernetes-map-type"),
            items.get("x-kubernetes-map-type"),
            "must be atomic as item of a list with x-kubernetes-list-type=set",
        )


def _map_keys(items: Mapping[str, Any], listed: list[Any], at: Keys) -> Iterator[SchemaProblem]:
    place = (*at, "x-kubernetes-list-map-keys")
    if not listed:
        yield missing(place, "must not be empty if x-kubernetes-list-type is map")
    if len(set(map(str, listed))) < len(listed):
        yield invalid(place, listed, "must not contain duplicate entries")
    fields = items.get("properties")
    for index, key in enumerate(listed):
        field = fields.get(key) if isinstance(fields, dict) and isinstance(key, str) else None
        keys = (*at, "items", "properties", key)
        if not isinstance(field, dict):
            yield invalid((*place, index), key, "entries must all be names of item properties")
            continue
        if field.get("type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid((*keys, "type"), field["type"], detail)
        if field.get("nullable") is True:
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            yield forbidden((*keys, "nullable"), detail)
        if "default" not in field and key not in as_list(items.get("required")):
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be "
                "a required property"
            )
            yield missing((*keys, "default"), detail)
