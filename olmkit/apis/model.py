"""Kinds and their types as values, independent of the source language.

`source` creates them from Python text and `go_source` from Go; `schema`, `manifests`, `roles` and
`csv_markers` read only these values, so another language needs only another reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, assert_never

from olmkit.apis.markers.language import Marker
from olmkit.base.diagnostics import Location


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts: its OpenAPI type and format."""

    type: str
    format: str = ""


@dataclass(frozen=True, slots=True)
class ListType:
    item: TypeExpression
    is_set: bool = False


@dataclass(frozen=True, slots=True)
class MapType:
    value: TypeExpression


@dataclass(frozen=True, slots=True)
class Named:
    """A declared type, by the name of its module and its own name."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True, slots=True)
class WellKnown:
    """A type whose schema Kubernetes fixes: see `olmkit.apis.crds.well_known`."""

    name: str


@dataclass(frozen=True, slots=True)
class TypeReference:
    """A type that is declared elsewhere; markers of a field see only a part of it, as in Go.

    They see `type`, or for a scalar the type and format of its declaration.
    """

    to: Named | WellKnown
    type: str = ""
    is_scalar: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A few literal values of one scalar type."""

    base: Scalar
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A limit written next to a type: `Ge(1)`, `max_length=5`.

    `keyword` is that of the schema, or `minimum size` or `maximum size`, which become lengths,
    items or properties depending on the type.
    """

    keyword: str
    value: Any
    at: Location


@dataclass(frozen=True, slots=True)
class Constrained:
    base: TypeExpression
    constraints: tuple[Constraint, ...]


@dataclass(frozen=True, slots=True)
class Untyped:
    """An unknown type: it is ignored, or a finding has the reason."""

    reason: str = ""


TypeExpression = (
    Scalar | ListType | MapType | Named | WellKnown | TypeReference | Choice | Constrained | Untyped
)


class Missing(Enum):
    """The value for a missing default."""

    MISSING = "missing"


MISSING = Missing.MISSING


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a model. `default` is its literal default, or `MISSING`.

    An inline field is merged into the model, and its name has no meaning.
    """

    name: str
    json_name: str
    type: TypeExpression
    at: Location
    is_optional: bool = False
    is_inline: bool = False
    default: Any = MISSING
    doc: str = ""
    title: str = ""
    example: Any = MISSING
    markers: tuple[Marker, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Struct:
    """A model: an object with named fields. `bases` are merged into it.

    `declares_metadata`: apiVersion, kind and metadata are among its fields, as in Go.
    `like`: it is based on that model, and inherits its fields, markers and descriptions.
    """

    name: Named
    at: Location
    doc: str = ""
    markers: tuple[Marker, ...] = ()
    fields: tuple[Field, ...] = ()
    bases: tuple[Named, ...] = ()
    is_kind: bool = False
    declares_metadata: bool = False
    like: Named | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedType:
    """A name for a type that is not a model: a `NewType`, an alias, an enumeration."""

    name: Named
    at: Location
    type: TypeExpression
    doc: str = ""
    markers: tuple[Marker, ...] = ()


Declaration = Struct | NamedType


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPackage:
    """The types of one API version; for other packages, `group` is None."""

    module: str
    at: Location
    group: str | None
    version: str
    markers: tuple[Marker, ...] = ()
    is_skipped: bool = False
    optional_by_default: bool = False
    declarations: tuple[Declaration, ...] = ()

    def kinds(self) -> tuple[Struct, ...]:
        """Return the kinds of this package, by name."""
        if self.is_skipped:
            return ()
        structs = (d for d in self.declarations if isinstance(d, Struct))
        return tuple(sorted((s for s in structs if s.is_kind), key=_by_name))


def _by_name(kind: Struct) -> tuple[str, str]:
    return (kind.name.name, kind.name.module)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """All packages of a project, and the lookup of declarations."""

    packages: tuple[ApiPackage, ...]
    declarations: Mapping[Named, Declaration]
    package_of: Mapping[Named, ApiPackage]
    _lineages: dict[Named, tuple[Named, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def get(self, name: Named) -> Declaration | None:
        return self.declarations.get(name)

    def lineage(self, name: Named) -> tuple[Struct, ...]:
        """Return a model and its bases in Python's method resolution order."""
        left = [name]
        while left:
            declaration = self.declarations.get(left[-1])
            bases = declaration.bases if isinstance(declaration, Struct) else ()
            # Classes may derive from each other in a cycle.
            waiting = [one for one in bases if one not in self._lineages and one not in left]
            if waiting and left[-1] not in self._lineages:
                left += waiting
                continue
            one = left.pop()
            orders = [self._lineages.get(base, (base,)) for base in bases]
            self._lineages.setdefault(one, (one, *_joined([*orders, bases])))
        found = (self.declarations.get(one) for one in self._lineages[name])
        return tuple(one for one in found if isinstance(one, Struct))

    def used(self) -> frozenset[Named]:
        """Return the kinds of all packages and every declaration that their fields lead to."""
        found: set[Named] = set()
        left = [
            declaration.name
            for declaration in self.declarations.values()
            if isinstance(declaration, Struct) and declaration.is_kind
        ]
        while left:
            name = left.pop()
            declaration = self.declarations.get(name)
            if name in found or declaration is None:
                continue
            found.add(name)
            match declaration:
                case Struct():
                    left += declaration.bases
                    left += [declaration.like] if declaration.like else []
                    for one in declaration.fields:
                        left += named(one.type)
                case NamedType():
                    left += named(declaration.type)
                case _:
                    assert_never(declaration)
        return frozenset(found)


def _joined(orders: list[tuple[Named, ...]]) -> Iterator[Named]:
    """Return the C3 order: every class before its bases, and bases in the order of the source."""
    left = [list(reversed(order)) for order in orders if order]
    behind = Counter(one for order in left for one in order[:-1])
    while left:
        # Python cannot create a class with contradictory orders; then any order will do.
        first = next((order[-1] for order in left if not behind[order[-1]]), left[0][-1])
        yield first
        for order in left:
            if order[-1] == first:
                order.pop()
                behind.subtract(order[-1:])
            elif behind[first] and first in order:
                order.remove(first)
        behind[first] = 0
        left = [order for order in left if order]


def named(expression: TypeExpression) -> Iterator[Named]:
    """Yield the declared types inside a type."""
    match expression:
        case Named() as name:
            yield name
        case TypeReference(to=Named() as name):
            yield name
        case ListType(item=inner) | MapType(value=inner) | Constrained(base=inner):
            yield from named(inner)
        case Scalar() | WellKnown() | TypeReference() | Choice() | Untyped():
            return
        case _:
            assert_never(expression)
