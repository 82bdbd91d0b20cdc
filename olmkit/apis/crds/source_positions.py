"""Find the place in the sources of a part of a kind's schema.

A schema is checked when it is complete, but its author needs a line in the sources: the marker or
the limit that caused the keyword, else its field.
"""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.apis.markers.language import Marker
from olmkit.apis.markers.table import ITEMS
from olmkit.apis.model import (
    Constrained,
    Constraint,
    Declaration,
    Field,
    ListType,
    MapType,
    Named,
    NamedType,
    Sources,
    Struct,
    TypeExpression,
    TypeReference,
)
from olmkit.base.diagnostics import Location
from olmkit.kube.crds.schema_problems import Keys

# Keywords without a marker of the same name.
_OTHER_NAMES = {
    "x-kubernetes-embedded-resource": ("XEmbeddedResource", "EmbeddedResource"),
    "x-kubernetes-list-map-keys": ("listMapKey", "listType"),
    "x-kubernetes-list-type": ("listType",),
    "x-kubernetes-map-type": ("mapType", "structType"),
    "x-kubernetes-validations": ("XValidation",),
}
_SIZES = ("Items", "Length", "Properties")


def find(sources: Sources, kind: Struct, keys: Keys) -> Location:
    """Return the place of `keys` in the schema of `kind`, or the place of the kind."""
    walk = _Walk(sources, kind)
    rest = list(keys)
    while len(rest) > 1 and rest[0] in ("properties", "items", "additionalProperties"):
        step = rest.pop(0)
        went = walk.into_field(str(rest.pop(0))) if step == "properties" else walk.inside()
        if not went:
            return walk.at
    while len(rest) > 1 and rest[0] in ("allOf", "anyOf", "oneOf"):
        del rest[:2]
    return walk.said(str(rest[0]), rest[1:]) if rest else walk.at


class _Walk:
    """Walks from a kind to the fields inside it, and tracks the current field or type."""

    def __init__(self, sources: Sources, kind: Struct) -> None:
        self.sources = sources
        self.at = kind.at
        self.type: TypeExpression = kind.name
        # The markers of the last field, and the depth in its items.
        self.markers: tuple[Marker, ...] = ()
        self.depth = 0

    def into_field(self, name: str) -> bool:
        field = _field(self.sources, self.type, name)
        if field is None:
            return False
        # Types from a table of external types have no line.
        self.at = field.at if field.at.line else self.at
        self.type, self.markers, self.depth = field.type, field.markers, 0
        return True

    def inside(self) -> bool:
        """Step to the items of a list or the values of a map."""
        for kind in _types(self.sources, self.type):
            match kind:
                case ListType(item=inner) | MapType(value=inner):
                    self.type = inner
                    self.depth += 1
                    return True
                case _:
                    continue
        return False

    def said(self, keyword: str, rest: list[str | int]) -> Location:
        names = {
            *_OTHER_NAMES.get(keyword, ()),
            keyword[0].upper() + keyword[1:],
            keyword,
        }
        own = [one for one in self.markers if self.depth == int(one.name.startswith(ITEMS))]
        declared = [
            marker for one in _declarations(self.sources, self.type) for marker in one.markers
        ]
        found = [one for one in (*own, *declared) if one.name.rpartition(":")[2] in names]
        if keyword == "x-kubernetes-validations" and rest:
            # Rules of the field precede those of its type.
            index = rest[0]
            if isinstance(index, int) and index < len(found):
                return found[index].at
        if found:
            return found[0].at
        for kind in _types(self.sources, self.type):
            limits = kind.constraints if isinstance(kind, Constrained) else ()
            for limit in limits:
                if _gives(limit, keyword):
                    return limit.at
        return self.at


def _types(sources: Sources, kind: TypeExpression) -> Iterator[TypeExpression]:
    """Yield a type and the types that it is based on, as far as names can be resolved."""
    seen: set[Named] = set()
    while True:
        yield kind
        match kind:
            case Constrained(base=inner) | TypeReference(to=inner):
                kind = inner
            case Named() as name if name not in seen:
                seen.add(name)
                match sources.get(name):
                    case NamedType(type=inner):
                        kind = inner
                    case Struct(like=Named() as like):
                        kind = like
                    case _:
                        return
            case _:
                return


def _declarations(sources: Sources, kind: TypeExpression) -> Iterator[Declaration]:
    for one in _types(sources, kind):
        declared = sources.get(one) if isinstance(one, Named) else None
        if declared is not None:
            yield declared


def _field(
    sources: Sources, kind: TypeExpression, name: str, seen: frozenset[Named] = frozenset()
) -> Field | None:
    """Return a field of a type, of its inlined types, or of its base classes."""
    for struct in _declarations(sources, kind):
        if not isinstance(struct, Struct) or struct.name in seen:
            continue
        for field in struct.fields:
            if field.json_name == name and not field.is_inline:
                return field
        inlined = (one.type for one in struct.fields if one.is_inline)
        for inner in (*inlined, *struct.bases):
            found = _field(sources, inner, name, seen | {struct.name})
            if found is not None:
                return found
    return None


def _gives(limit: Constraint, keyword: str) -> bool:
    side, _, what = limit.keyword.partition(" ")
    if what == "size":
        return keyword in {side[:3] + size for size in _SIZES}
    return limit.keyword == keyword or (side == "exclusive" and what == keyword)
