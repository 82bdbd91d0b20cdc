"""Kinds → structural OpenAPI schemas, with every referenced type expanded.

The rules are those of the reference generators, so that the same types written in Go and in Python
give the same schema: field markers see the type of the value but not its contents, and descriptions
of a field take precedence over those of its type.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, assert_never

from olmkit.apis import docs
from olmkit.apis.crds import flatten, schema_markers, well_known
from olmkit.apis.crds.flatten import RULES, Schema, TypesDifferError
from olmkit.apis.crds.schema_limits import is_of_type, limit_keywords, require_content
from olmkit.apis.crds.schema_options import Options
from olmkit.apis.crds.struct_fields import StructFields
from olmkit.apis.findings import Findings
from olmkit.apis.markers.table import VALIDATION
from olmkit.apis.model import (
    Choice,
    Constrained,
    Constraint,
    Declaration,
    Field,
    ListType,
    MapType,
    Missing,
    Named,
    NamedType,
    Scalar,
    Sources,
    Struct,
    TypeExpression,
    TypeReference,
    Untyped,
    WellKnown,
)
from olmkit.base.diagnostics import Location

# The limit of an object is 1.5 MB; no object has more fields than this.
MAX_FIELDS = 50_000
# Nested models and base classes; real sources have fewer levels.
MAX_DEPTH = 100

_DEFAULTS = ("kubebuilder:default", "default", "olmkit:nodefault")
# The part of a declared type that markers of a field see.
_VISIBLE = ("type", "format")
# The schema of the declared item type, next to the items of a list until markers are applied.
_WHOLE = "whole"


@dataclass(slots=True)
class SchemaBuilder:
    """Builds the schemas of one project, each declared type once."""

    sources: Sources
    findings: Findings
    options: Options = field(default_factory=Options)
    _done: dict[Named, Schema] = field(default_factory=dict)
    _sizes: dict[Named, int] = field(default_factory=dict)
    _open: list[Named] = field(default_factory=list)

    @property
    def _fields(self) -> StructFields:
        return StructFields(self.sources, self.findings)

    def kind(self, kind: Struct) -> Schema:
        """Return the schema of a kind, as in a CRD."""
        schema = self._like(kind, kind.like) if kind.like else self._struct(kind, is_root=True)
        properties = dict(schema.get("properties", {}))
        if not kind.declares_metadata:
            properties["apiVersion"] = copy.deepcopy(well_known.API_VERSION)
            properties["kind"] = copy.deepcopy(well_known.KIND)
        if "metadata" in properties or not kind.declares_metadata:
            properties["metadata"] = {"type": "object"}
        schema["properties"] = properties
        if self.options.max_description is not None:
            return _with_short_descriptions(schema, self.options.max_description)
        return schema

    # Declared types

    def _declared_schema(self, name: Named, at: Location) -> Schema:
        if name in self._done:
            return self._done[name]
        declaration = self.sources.get(name)
        if declaration is None:
            self.findings.add("API007", f"the type `{name.name}` is not declared", at)
            return {}
        if name in self._open:
            self._refuse_cycle(declaration, at)
            return {}
        if len(self._open) >= MAX_DEPTH:
            self.findings.add(
                "API006", f"the models are nested more than {MAX_DEPTH} levels deep", at
            )
            return {}
        self._open.append(name)
        try:
            schema = self._declaration(declaration)
        finally:
            self._open.pop()
        self._done[name] = schema
        self._sizes[name] = _size(schema)
        if self._sizes[name] > MAX_FIELDS:
            self.findings.add(
                "API006",
                f"`{name.name}` expands to more than {MAX_FIELDS:,} fields",
                declaration.at,
                hint="no cluster accepts a CRD of that size; use free-form fields inside",
            )
            self._done[name] = {}
        return self._done[name]

    def _declaration(self, declaration: Declaration) -> Schema:
        match declaration:
            case Struct(like=Named() as like):
                return self._like(declaration, like)
            case Struct():
                return self._struct(declaration)
            case NamedType():
                return self._named_type(declaration)
            case _:
                assert_never(declaration)

    def _named_type(self, declaration: NamedType) -> Schema:
        seen, whole = self._see(declaration.type, declaration.at)
        schema_markers.apply(seen, declaration.markers, self.findings)
        self._join_items(seen, declaration.at)
        self._constrain(declaration.type, seen)
        if declaration.doc:
            seen["description"] = declaration.doc
        return self._join(whole, seen, declaration.at)

    def _like(self, struct: Struct, like: Named) -> Schema:
        return self._named_type(
            NamedType(
                name=struct.name,
                at=struct.at,
                type=TypeReference(like),
                doc=struct.doc,
                markers=struct.markers,
            )
        )

    def _refuse_cycle(self, declaration: Declaration, at: Location) -> None:
        start = self._open.index(declaration.name)
        circle = [*(name.name for name in self._open[start:]), declaration.name.name]
        self.findings.add(
            "API011",
            "the type contains itself: " + " → ".join(f"`{name}`" for name in circle),
            at,
            hint=f"mark the field `+{VALIDATION}Schemaless` and "
            "`+kubebuilder:pruning:PreserveUnknownFields`",
        )

    def _struct(self, struct: Struct, *, is_root: bool = False) -> Schema:
        own: Schema = {"type": "object"}
        fields = self._fields.own(struct, is_root=is_root)
        properties: Schema = {}
        required: list[str] = []
        rules: list[Schema] = []
        inlined: list[Schema] = []
        for one in fields:
            if one.is_inline:
                inlined.append(self._field(one))
                continue
            properties[one.json_name] = self._field(one)
            is_required = self._fields.is_required(struct, one)
            if is_required:
                required.append(one.json_name)
            elif any(marker.name == "k8s:immutable" for marker in one.markers):
                rules.append(_keep_rule(one.json_name))
        if properties or not is_root:
            own["properties"] = properties
        if required:
            own["required"] = sorted(set(required))
        if rules:
            own[RULES] = rules
        schema_markers.apply(own, struct.markers, self.findings)
        if not own.get("properties"):
            own.pop("properties", None)
        parts = [*self._bases(struct, own), *inlined]
        schema = self._with_parts(struct, own, parts, is_root=is_root)
        if struct.doc:
            schema["description"] = struct.doc
        return schema

    def _bases(self, struct: Struct, own: Schema) -> Iterator[Schema]:
        """Yield base classes, each with the fields that the class inherits only from it."""
        if not struct.bases:
            return
        owners = self._fields.owners(struct.name)
        left = owners.keys() - own.get("properties", {}).keys()
        for base in struct.bases:
            self._fields.check_overridden(struct, base)
            schema = dict(self._declared_schema(base, struct.at))
            theirs = self._fields.owners(base)
            mine = {name for name in left if theirs.get(name) == owners[name]}
            left -= mine
            for key in ("properties", "required"):
                if key in schema:
                    kept = [name for name in schema[key] if name in mine]
                    as_map = key == "properties"
                    schema[key] = {n: schema[key][n] for n in kept} if as_map else kept
            if not schema.get("required", True):
                del schema["required"]
            yield schema

    def _with_parts(
        self, struct: Struct, own: Schema, parts: list[Schema], *, is_root: bool
    ) -> Schema:
        """Merge an embedded type's keys before the type's own keys, except in a kind."""
        if not parts:
            return own
        first, *others = [own, *parts] if is_root else [*parts, own]
        merged: Schema = {k: v for k, v in first.items() if k not in flatten.TEXTS}
        for other in others:
            self._merge(merged, other, struct.at)
        flatten.set_texts(merged, own)
        return merged

    # Fields

    def _field(self, one: Field) -> Schema:
        names = {marker.name for marker in one.markers}
        if VALIDATION + "Schemaless" in names:
            seen, whole = Schema(), None
        else:
            seen, whole = self._see(one.type, one.at)
            if isinstance(one.type, Untyped):
                self._check_untyped(one.type, one, names)
        schema_markers.apply(seen, one.markers, self.findings)
        self._join_items(seen, one.at)
        self._constrain(one.type, seen)
        if "k8s:required" in names:
            require_content(seen, is_reference=isinstance(one.type, TypeReference))
        self._add_words(one, seen)
        if self.options.infer_defaults and not names.intersection(_DEFAULTS):
            self._add_default(one, seen, whole)
        return self._join(whole, seen, one.at)

    def _check_untyped(self, kind: Untyped, one: Field, names: Iterable[str]) -> None:
        if kind.reason and not schema_markers.PRESERVING.intersection(names):
            self.findings.add(
                "API006",
                kind.reason,
                one.at,
                hint="use `JSON` or `RawExtension`, or mark the field "
                "`+kubebuilder:pruning:PreserveUnknownFields`",
            )

    def _add_words(self, one: Field, seen: Schema) -> None:
        if one.doc:
            seen["description"] = one.doc
        if one.title:
            seen.setdefault("title", one.title)
        if not isinstance(one.example, Missing):
            seen.setdefault("example", one.example)

    def _add_default(self, one: Field, seen: Schema, whole: Schema | None) -> None:
        if isinstance(one.default, Missing):
            return
        kind = seen.get("type") or (whole or {}).get("type")
        allowed = seen.get("enum") or (whole or {}).get("enum")
        if (kind and not is_of_type(one.default, kind)) or (allowed and one.default not in allowed):
            what = (
                f"one of {', '.join(f'`{v}`' for v in allowed)}" if allowed else f"of type `{kind}`"
            )
            self.findings.add(
                "API018",
                f"the default `{one.default}` of `{one.name}` is not {what}",
                one.at,
                hint="change it, or mark the field `+olmkit:nodefault`",
            )
            return
        seen["default"] = one.default

    def _join(self, whole: Schema | None, seen: Schema, at: Location) -> Schema:
        if whole is None:
            return seen
        try:
            return flatten.merge_reference(whole, seen)
        except TypesDifferError as words:
            self.findings.add("API010", f"the types differ: {words}", at)
            return whole

    def _merge(self, destination: Schema, source: Schema, at: Location) -> None:
        try:
            flatten.merge(destination, source)
        except TypesDifferError as words:
            self.findings.add(
                "API010", f"a field has different types in its base classes: {words}", at
            )

    # Type expressions

    def _see(self, kind: TypeExpression, at: Location) -> tuple[Schema, Schema | None]:
        """Return the view of a field's type for markers, and the whole declared type."""
        match kind:
            case Constrained(base=base):
                return self._see(base, at)
            case Named():
                whole = self._declared_schema(kind, at)
                seen: Schema = {key: whole[key] for key in _VISIBLE if key in whole}
                return seen, whole
            case TypeReference(to=to, type=shown, is_scalar=is_scalar):
                whole = (
                    self._declared_schema(to, at)
                    if isinstance(to, Named)
                    else self._expression(to, at)
                )
                if is_scalar:
                    return {key: whole[key] for key in _VISIBLE if key in whole}, whole
                return {"type": shown} if shown else {}, whole
            case _:
                return self._expression(kind, at), None

    def _expression(self, kind: TypeExpression, at: Location) -> Schema:
        match kind:
            case Scalar(type=name, format=form):
                if name == "number" and not self.options.allow_dangerous_types:
                    self.findings.add(
                        "API006",
                        "a `float` is refused, because its value can differ between machines",
                        at,
                        hint="use a string or `Quantity`, or set `allow-dangerous-types = true` "
                        "in [tool.olmkit]",
                    )
                return {"type": name, "format": form} if form else {"type": name}
            case ListType(item=item, is_set=is_set):
                return self._list(item, at, is_set=is_set)
            case MapType(value=value):
                return {"type": "object", "additionalProperties": self._inner(value, at)}
            case WellKnown(name="ObjectMeta") if self.options.embedded_object_meta:
                return copy.deepcopy(well_known.EMBEDDED_OBJECT_META)
            case WellKnown(name=name):
                return well_known.schema(name)
            case Choice(base=base, values=values):
                return {"type": base.type, "enum": list(values)}
            case Untyped():
                return {}
            case Named() | TypeReference() | Constrained():
                return self._inner(kind, at)
            case _:
                assert_never(kind)

    def _inner(self, kind: TypeExpression, at: Location) -> Schema:
        """Return the type of list items or map values, with its constraints."""
        seen, whole = self._see(kind, at)
        if isinstance(kind, Untyped) and kind.reason:
            self.findings.add(
                "API006", kind.reason, at, hint="use `JSON` or `RawExtension` for free content"
            )
        self._join_items(seen, at)
        self._constrain(kind, seen)
        return self._join(whole, seen, at)

    def _join_items(self, schema: Schema, at: Location) -> None:
        """Set the type of a list's items, after its markers were applied."""
        items = schema.get("items")
        if isinstance(items, dict) and _WHOLE in items:
            seen = {key: value for key, value in items.items() if key != _WHOLE}
            schema["items"] = self._join(items[_WHOLE], seen, at)

    def _list(self, item: TypeExpression, at: Location, *, is_set: bool) -> Schema:
        if isinstance(item, TypeReference):
            seen, whole = self._see(item, at)
            items = seen | {_WHOLE: whole}
        else:
            items = self._inner(item, at)
        schema: Schema = {"type": "array", "items": items}
        if is_set:
            if items.get("type") in ("object", "array"):
                self.findings.add(
                    "API006",
                    "a set may contain only strings, numbers and booleans",
                    at,
                    hint="use a list, with `+listType=map` and `+listMapKey` if items have a key",
                )
            else:
                schema["x-kubernetes-list-type"] = "set"
        return schema

    def _constrain(self, kind: TypeExpression, schema: Schema) -> None:
        """Apply limits that are next to a type in the code, after the markers."""
        while isinstance(kind, Constrained):
            for constraint in kind.constraints:
                self._constraint(constraint, schema)
            kind = kind.base

    def _constraint(self, constraint: Constraint, schema: Schema) -> None:
        wanted = limit_keywords(constraint, schema)
        if not wanted:
            self.findings.add(
                "API009",
                f"the limit `{constraint.value}` does not fit the type"
                + (f" `{schema['type']}`" if "type" in schema else ""),
                constraint.at,
            )
            return
        for keyword, value in wanted.items():
            if keyword in schema and schema[keyword] != value:
                self.findings.add(
                    "API010",
                    f"`{keyword}` is `{value}` here and `{schema[keyword]}` in another place",
                    constraint.at,
                    hint="write it once",
                )
                continue
            schema[keyword] = value


def _keep_rule(name: str) -> Schema:
    return {
        "rule": f"!has(oldSelf.{name}) || has(self.{name})",
        "message": f"field {name} is immutable once set",
    }


def _size(schema: Any) -> int:
    """Return the total number of fields in a schema."""
    count = 0
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        properties = one.get("properties", {})
        count += len(properties) or 1
        waiting.extend(properties.values())
        waiting.extend(one[key] for key in ("items", "additionalProperties") if key in one)
        if count > MAX_FIELDS:
            return count
    return count


def _with_short_descriptions(schema: Schema, limit: int) -> Schema:
    """Return a copy of the schema with truncated descriptions."""
    found: Schema = {}
    for key, value in schema.items():
        if key == "description":
            short = docs.shorten(value, limit)
            if short:
                found[key] = short
        elif key == "properties":
            found[key] = {n: _with_short_descriptions(one, limit) for n, one in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            found[key] = _with_short_descriptions(value, limit)
        else:
            found[key] = value
    return found
