"""The changes from one schema to the next, as a comparison finds them."""

from __future__ import annotations

from typing import Any

from olmkit.kube.crds.changes.position import Position
from olmkit.kube.crds.changes.schema_change import SchemaChange


class ChangeList:
    """Collects changes with the rules of crdify for each position."""

    def __init__(self) -> None:
        self.found: list[SchemaChange] = []

    def add(
        self,
        at: Position,
        rule: str,
        keyword: str,
        message: str,
        values: tuple[Any, Any] = (None, None),
        *,
        is_safe: bool = False,
        refuses: bool = False,
        refuses_stored: bool = False,
        prunes: bool = False,
        defaults: bool = False,
    ) -> None:
        keys = at.old_keys if values[1] is None and values[0] is not None else at.new_keys
        self.found.append(
            SchemaChange(
                rule=rule,
                keys=(*keys, keyword) if keyword else keys,
                field=at.field,
                message=message,
                old=values[0],
                new=values[1],
                refuses=refuses,
                refuses_stored=refuses_stored,
                prunes=prunes,
                defaults=defaults,
                is_safe=not at.is_whole and (is_safe or at.is_virtual),
            )
        )

    def order(self, at: Position, keyword: str) -> None:
        """Report a different order, which matters only where crdify compares a value as a whole."""
        message = f"the order of `{keyword}` of {at.name} changes"
        self.add(at, "order-changed", keyword, message, is_safe=True)
