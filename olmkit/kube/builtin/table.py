"""The fields of Kubernetes' and OLM's types, from the tables in `kube/data`.

Go's tools and the API server do not agree on the required fields, so there are two views:
`written_types` has the fields that tools write, `accepted_types` those that the server requires.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Mapping
from typing import Final, NamedTuple

_WRITTEN: Final = "data/shapes.txt"
_FURTHER: Final = "data/manifests.txt"


class TypeField(NamedTuple):
    """A field of a type. `type` is in the notation of `shapes.txt`.

    `is_required`: it is always written, or the API server requires it. `omit_zero`: it is left out
    if it is zero, regardless of its type.
    """

    type: str
    is_required: bool
    omit_zero: bool


Table = Mapping[str, Mapping[str, TypeField]]
"""The fields of each type by name."""


@functools.cache
def written_types() -> Table:
    """Return the types of `shapes.txt`, as Go's tools write them; `*T` may be absent."""
    return _load(_WRITTEN)


@functools.cache
def accepted_types() -> Table:
    """Return all types of the API server; a field in both tables comes from the second."""
    found: dict[str, dict[str, TypeField]] = {}
    for table in (written_types(), _load(_FURTHER)):
        for type_name, fields in table.items():
            found.setdefault(type_name, {}).update(
                (name, field._replace(type=field.type.lstrip("*")))
                for name, field in fields.items()
            )
    return found


def _load(file: str) -> dict[str, dict[str, TypeField]]:
    table: dict[str, dict[str, TypeField]] = {}
    fields: dict[str, TypeField] = {}
    for line in (pkgutil.get_data("olmkit.kube", file) or b"").decode().splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            fields = table.setdefault(line.removesuffix(":"), {})
            continue
        for item in line.split():
            name, _, type_name = item.partition(":")
            fields[name.rstrip("!?")] = TypeField(type_name, name.endswith("!"), name.endswith("?"))
    return table
