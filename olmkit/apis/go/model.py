"""Go declarations as values: the syntax, before names are resolved.

`go_parser` creates them from source text, `go_table` from the shipped facts; `go_types` resolves
them. Import names are already full paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from olmkit.apis.markers.language import Comment
from olmkit.base.diagnostics import Location


@dataclass(frozen=True, slots=True)
class Name:
    """`T`, or `pkg.T` with the import path of `pkg`.

    Without a package, it is declared in the same package, in a dot import, or in the language.
    """

    name: str
    package: str = ""


@dataclass(frozen=True, slots=True)
class Pointer:
    to: GoType


@dataclass(frozen=True, slots=True)
class Slice:
    """`[]T`, or an array if `length` is set."""

    item: GoType
    length: str = ""


@dataclass(frozen=True, slots=True)
class Map:
    key: GoType
    value: GoType


@dataclass(frozen=True, slots=True)
class StructBody:
    fields: tuple[GoField, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """A type without a schema; `what` is its name with an article: `a channel`."""

    what: str


GoType = Name | Pointer | Slice | Map | StructBody | Other


@dataclass(frozen=True, slots=True, kw_only=True)
class GoField:
    """One field declaration; `names` is empty for an embedded type, `tag` None without one."""

    names: tuple[str, ...]
    type: GoType
    at: Location
    tag: str | None = None
    doc: str = ""
    comments: tuple[Comment, ...] = ()

    @property
    def embedded(self) -> Name | None:
        """Return the embedded type, also if it is a pointer; None for a field with names."""
        kind = self.type.to if isinstance(self.type, Pointer) else self.type
        return kind if not self.names and isinstance(kind, Name) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoDeclaration:
    """One declared type. `dots` are the dot imports of its file."""

    name: str
    type: GoType
    at: Location
    is_alias: bool = False
    is_generic: bool = False
    doc: str = ""
    comments: tuple[Comment, ...] = ()
    dots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GoPackage:
    """One package. `methods`: marshalling methods by type; `constants`: string constants by type.

    `imports`: the imports of the project's own packages, with their places.
    """

    path: str
    name: str
    at: Location
    declarations: Mapping[str, GoDeclaration]
    methods: Mapping[str, frozenset[str]] = field(default_factory=dict)
    constants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    comments: tuple[Comment, ...] = ()
    imports: Mapping[str, Location] = field(default_factory=dict)
