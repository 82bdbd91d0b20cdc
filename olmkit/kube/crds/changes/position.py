"""The position of a comparison in both schemas."""

from __future__ import annotations

from dataclasses import dataclass, replace

from olmkit.kube.crds.changes.schema_change import Keys, format_field


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The current position of the walk.

    `is_whole`: crdify compares the surrounding part as one value. `is_virtual`: one of the two
    schemas is at another place, so crdify does not compare them. `is_guarded`: alternatives or
    rules around it may depend on any value inside. `is_required`, `is_limited`: the enclosing
    object requires the field or a number of fields, or limits their number.
    """

    old_keys: Keys = ()
    new_keys: Keys = ()
    field: tuple[str, ...] = ()
    is_whole: bool = False
    is_virtual: bool = False
    is_guarded: bool = False
    is_required: bool = False
    is_limited: bool = False
    is_object: bool = False

    def below(self, keys: Keys, name: str, **more: bool) -> Position:
        fresh = {"is_required": False, "is_limited": False, "is_object": False}
        return replace(
            self,
            old_keys=(*self.old_keys, *keys),
            new_keys=(*self.new_keys, *keys),
            field=(*self.field, name),
            **{**fresh, **more},
        )

    @property
    def name(self) -> str:
        return f"`{format_field(self.field)}`"
