"""One difference between two schemas of a kind, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from olmkit.base.documents import Key

Keys = tuple[Key, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChange:
    """A changed keyword.

    `keys` lead to it from the root of the schema: of the new schema, or of the old one if the
    keyword is gone. `field` leads to the affected values, with `[]` for items of a list and
    `*` for values of a map.

    `refuses`: the API server may refuse an object that was valid before, after defaults and
    pruning. `refuses_stored`: the stored object may not fit the new schema, without new defaults,
    pruning and Kubernetes' own extensions; OLM v0 checks this. `prunes`: the API server drops
    values that were kept. `defaults`: absent values get another default. `is_safe`: crdify
    accepts the change with the configuration of OLM v1.
    """

    rule: str
    keys: Keys
    field: tuple[str, ...]
    message: str
    old: Any = None
    new: Any = None
    refuses: bool = False
    refuses_stored: bool = False
    prunes: bool = False
    defaults: bool = False
    is_safe: bool = True

    @property
    def is_breaking(self) -> bool:
        """Return whether existing objects or applied manifests can be affected."""
        return self.refuses or self.refuses_stored or self.prunes


def format_field(field: tuple[str, ...]) -> str:
    """Format a field for people: `spec.ports[].name`; the root is `.`."""
    words = ""
    for part in field:
        words += part if part == "[]" else f".{part}"
    return words.removeprefix(".") or "."
