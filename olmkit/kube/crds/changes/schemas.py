"""Compare two schemas: every changed keyword, and its effect on objects.

With a change that is not marked as refusing, every valid object remains valid. If the comparison
cannot be certain (patterns, CEL rules, alternatives), it marks the change. Each change records
whether crdify accepts it: crdify compares field by field, accepts only some changes as safe, and
compares everything below `additionalProperties` and the alternatives as a whole.

Sources: https://github.com/kubernetes-sigs/crdify (v0.6) with the configuration of
operator-controller 1.11; the validation of custom resources in `k8s.io/apiextensions-apiserver`
1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from olmkit.kube.crds.changes import bound_changes, condition_changes, keywords, value_changes
from olmkit.kube.crds.changes.change_list import ChangeList
from olmkit.kube.crds.changes.keywords import Schema
from olmkit.kube.crds.changes.position import Position
from olmkit.kube.crds.changes.schema_change import SchemaChange
from olmkit.kube.objects import mapping, sequence

_OBJECT_FIELDS: Final[Mapping[str, Schema]] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object", keywords.KEEPS: True},
}
_MAX_DEPTH: Final = 100


def compare_schemas(old: Schema, new: Schema) -> tuple[SchemaChange, ...]:
    """Return all changes from one schema of a kind to the next, in the order of the old fields."""
    walk = _Walk()
    walk.node(old, new, Position(is_object=True))
    return tuple(walk.changes.found)


def compare_served_pair(older: Schema, newer: Schema) -> tuple[SchemaChange, ...]:
    """Return the differences between two served versions of a CRD that crdify rejects."""
    return tuple(one for one in compare_schemas(older, newer) if not one.is_safe)


class _Walk:
    """Collects the changes of two schemas, node by node."""

    def __init__(self) -> None:
        self.changes = ChangeList()

    def node(self, old: Any, new: Any, at: Position) -> None:
        if old == new or len(at.old_keys) > _MAX_DEPTH:
            return
        old, new = mapping(old), mapping(new)
        at = replace(at, is_guarded=at.is_guarded or keywords.has_conditions(new))
        before, after = keywords.kinds(old), keywords.kinds(new)
        value_changes.compare_types(self.changes, old, new, at)
        if before is not None and after is not None and not before & after:
            return
        value_changes.compare_nullable(self.changes, old, new, at)
        value_changes.compare_default(self.changes, old, new, at)
        value_changes.compare_enum(self.changes, old, new, at)
        bound_changes.compare_bounds(self.changes, old, new, at, before)
        value_changes.compare_string_keywords(self.changes, old, new, at, before)
        self._compare_required(old, new, at)
        self._compare_properties(old, new, at, before)
        self._compare_items(old, new, at)
        condition_changes.compare_list_type(self.changes, old, new, at)
        condition_changes.compare_junctors(self.changes, old, new, at)
        condition_changes.compare_rules(self.changes, old, new, at)
        value_changes.compare_other_keywords(self.changes, old, new, at)

    def _compare_required(self, old: Schema, new: Schema, at: Position) -> None:
        before, after = keywords.names(old.get("required")), keywords.names(new.get("required"))
        fields, old_fields = mapping(new.get("properties")), mapping(old.get("properties"))
        for name in sorted(after - before):
            inner = at.below(("properties", name), name)
            has_default = "default" in mapping(fields.get(name))
            had_default = "default" in mapping(old_fields.get(name))
            hint = ", with a default" if has_default else ""
            self.changes.add(
                at,
                "required-added",
                "required",
                f"{inner.name} is now required{hint}",
                (sorted(before), sorted(after)),
                refuses=not has_default or at.is_guarded,
                refuses_stored=not had_default,
            )
        for name in sorted(before - after):
            inner = at.below(("properties", name), name)
            message = f"{inner.name} is no longer required"
            values = (sorted(before), sorted(after))
            self.changes.add(at, "required-removed", "required", message, values, is_safe=True)
        if before == after and sequence(old.get("required")) != sequence(new.get("required")):
            self.changes.order(at, "required")

    def _compare_properties(
        self, old: Schema, new: Schema, at: Position, before: frozenset[str] | None
    ) -> None:
        after = keywords.kinds(new)
        if any(kinds is not None and "object" not in kinds for kinds in (before, after)):
            return
        olds, news = mapping(old.get("properties")), mapping(new.get("properties"))
        rest, new_rest = keywords.rest_of(old), keywords.rest_of(new)
        is_object = at.is_object or bool(new.get(keywords.EMBEDDED))
        required = keywords.names(new.get("required"))
        is_limited = "maxProperties" in new
        needs_some = bool(keywords.number(new.get("minProperties")))
        for name, schema in olds.items():
            inner = at.below(
                ("properties", name),
                name,
                is_required=name in required or needs_some,
                is_limited=is_limited,
            )
            if name in news:
                self.node(schema, news[name], inner)
            else:
                self._compare_removed_property(schema, new, inner, new_rest, is_object=is_object)
        for name, schema in news.items():
            if name not in olds:
                inner = at.below(
                    ("properties", name),
                    name,
                    is_required=name in required or needs_some,
                    is_limited=is_limited,
                )
                known = _OBJECT_FIELDS.get(name) if is_object else None
                self._compare_added_property(known if rest is None else rest, schema, inner)
        self._compare_additional_properties(old, new, at, rest, new_rest)

    def _compare_removed_property(
        self, schema: Any, new: Schema, inner: Position, rest: Schema | None, *, is_object: bool
    ) -> None:
        name = inner.field[-1]
        prunes = rest is None and not (is_object and name in _OBJECT_FIELDS)
        depends = bool(keywords.number(new.get("minProperties"))) or name in keywords.names(
            new.get("required")
        )
        self.changes.add(
            inner,
            "field-removed",
            "",
            f"the field {inner.name} is gone"
            + (", and its values are dropped" if prunes else "; its values stay"),
            (keywords.type_name(mapping(schema)), None),
            refuses=prunes and (inner.is_guarded or depends),
            prunes=prunes,
        )
        if rest is not None and not keywords.is_any(rest):
            self.node(schema, rest, replace(inner, is_virtual=True))

    def _compare_added_property(self, before: Schema | None, schema: Any, inner: Position) -> None:
        has_default = "default" in mapping(schema)
        self.changes.add(
            inner,
            "field-added",
            "",
            f"the field {inner.name} is new" + (", with a default" if has_default else ""),
            (None, keywords.type_name(mapping(schema))),
            is_safe=True,
            refuses=has_default and (inner.is_guarded or inner.is_limited),
            defaults=has_default,
        )
        if before is None:
            return
        if keywords.is_any(before):
            if not keywords.is_any(mapping(schema)):
                self.changes.add(
                    replace(inner, is_virtual=True),
                    "field-typed",
                    "",
                    f"{inner.name} accepted any value and now has a type",
                    (None, keywords.type_name(mapping(schema))),
                    refuses=True,
                    refuses_stored=True,
                )
            return
        self.node(before, schema, replace(inner, is_virtual=True))

    def _compare_additional_properties(
        self, old: Schema, new: Schema, at: Position, rest: Schema | None, new_rest: Schema | None
    ) -> None:
        """Compare the fields without a declared schema: unknown fields, and values of maps."""
        inner = at.below(
            ("additionalProperties",),
            "*",
            is_whole=True,
            is_required=bool(keywords.number(new.get("minProperties"))),
            is_limited="maxProperties" in new,
        )
        if rest == new_rest:
            if bool(old.get(keywords.KEEPS)) != bool(new.get(keywords.KEEPS)):
                message = f"the keyword `{keywords.KEEPS}` of {at.name} changes"
                self.changes.add(at, "keyword-changed", keywords.KEEPS, message)
            return
        if rest is not None and new_rest is not None:
            if keywords.is_any(rest):
                self.changes.add(
                    inner,
                    "values-typed",
                    "",
                    f"{inner.name} accepted any value and now has a type",
                    (None, keywords.type_name(new_rest)),
                    refuses=not keywords.is_any(new_rest),
                    refuses_stored=not keywords.is_any(new_rest),
                )
            elif keywords.is_any(new_rest):
                message = f"{inner.name} now accepts any value"
                self.changes.add(
                    inner, "values-untyped", "", message, (keywords.type_name(rest), None)
                )
            else:
                self.node(rest, new_rest, inner)
            return
        is_gone = new_rest is None
        keyword = (
            keywords.KEEPS
            if (old if is_gone else new).get(keywords.KEEPS)
            else "additionalProperties"
        )
        # A required field without a schema is dropped first, and is then missing.
        undeclared = set(sequence(new.get("required"))) - mapping(new.get("properties")).keys()
        depends = (
            at.is_guarded
            or bool(keywords.number(new.get("minProperties")))
            or bool(undeclared - _OBJECT_FIELDS.keys() if at.is_object else undeclared)
        )
        self.changes.add(
            at,
            "unknown-fields-dropped" if is_gone else "unknown-fields-kept",
            keyword,
            f"unknown fields of {at.name} are {'now dropped' if is_gone else 'no longer dropped'}",
            (True, None) if is_gone else (None, True),
            refuses=is_gone and depends,
            prunes=is_gone,
        )

    def _compare_items(self, old: Schema, new: Schema, at: Position) -> None:
        before, after = old.get("items"), new.get("items")
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            self.node(before, after, at.below(("items",), "[]"))
