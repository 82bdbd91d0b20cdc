"""Read values of a manifest as types of Go, with the places of wrong types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from olmkit.base import findings
from olmkit.base.diagnostics import InputError
from olmkit.base.documents import Document, Key, field_path
from olmkit.catalog.blobs import shapes
from olmkit.catalog.blobs.shapes import Object, ShapeError
from olmkit.catalog.bundles.findings import refusal
from olmkit.kube.builtin import typed
from olmkit.kube.builtin.typed import TypeDifference, TypeMisfit

Keys = tuple[Key, ...]
_TIME: Final = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]?\d|2[0-3]):[0-5]\d:[0-5]\d"
    r"(?:[.,]\d+)?(?:Z|[+-]([01]\d|2[0-4]):[0-5]\d)",
    re.ASCII,
)


def read_shape(document: Document, shape: Object, value: Any, *keys: Key) -> dict[str, Any]:
    """Return `value` below `keys` of `document`, read as `shape`.

    Raises `InputError` with the place of a wrong type.
    """
    try:
        return shapes.read(shape, {} if value is None else value)
    except ShapeError as error:
        place = (*keys, *error.keys)
        hint = f"correct the type of `{field_path(place)}`"
        raise misfit(document, place, error.message, hint=hint) from None


def read_type(
    document: Document, type_name: str, value: Any, *keys: Key, any_case: bool = True
) -> Mapping[str, Any]:
    """Return `value` below `keys` of `document`, read as a type of Kubernetes.

    Raises `InputError` with the places of all wrong types.
    """
    read, differences = typed.read(value, type_name)
    faults = [
        findings.create(
            "FBC904",
            f"`{field_path((*keys, *misfit.keys))}` must be {misfit.wanted}, not {misfit.found}",
            at=document.at(*keys, *misfit.keys),
        )
        for misfit in _misfits(type_name, differences, any_case=any_case)
    ]
    if faults:
        raise refusal(faults)
    return read or {}


def _misfits(
    type_name: str, differences: tuple[TypeDifference, ...], *, any_case: bool
) -> list[TypeDifference]:
    """Return the type errors, except below a key in the wrong case, which hides them."""
    hidden = [
        found.keys for found in differences if not any_case and found.misfit is TypeMisfit.CASE
    ]
    return [
        found
        for found in differences
        if found.misfit in (TypeMisfit.TYPE, TypeMisfit.TEXT)
        and not any(found.keys[: len(keys)] == keys for keys in hidden)
        and not _is_passed_over(type_name, found)
    ]


def _is_passed_over(type_name: str, found: TypeDifference) -> bool:
    """Return whether a schema or a list is expected; the reader skips both."""
    forms = typed.choice(typed.kind_at(type_name, found.keys))
    return "[]" in forms or "[]s" in forms


def misfit(document: Document, keys: Keys, message: str, *, hint: str = "") -> InputError:
    return refusal([findings.create("FBC904", message, at=document.at(*keys), hint=hint)])


def check_times(document: Document, metadata: Any, *keys: Key) -> None:
    """Raise `InputError` for an invalid time in the metadata of an object."""
    for name in ("creationTimestamp", "deletionTimestamp"):
        time = metadata.get(name) if isinstance(metadata, Mapping) else None
        if time is not None and not (isinstance(time, str) and _TIME.fullmatch(time)):
            raise misfit(
                document,
                (*keys, name),
                f"`{name}` must be a time such as `2026-01-31T12:00:00Z`",
                hint="remove it: the cluster sets it",
            )


def spellings(value: Mapping[str, Any], name: str) -> list[str]:
    """Return the keys that match the field `name`, in the order in which they are read."""
    return sorted(key for key in value if shapes.fold(key) == shapes.fold(name))


def read_mapping(document: Document, value: Any, *keys: Key) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, Mapping):
        raise misfit(document, keys, f"`{field_path(keys)}` must be a mapping")
    return value or {}
