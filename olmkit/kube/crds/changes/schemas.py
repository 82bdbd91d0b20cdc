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
from dataclasses import dataclass, replace
from typing import Any, Final

from olmkit.kube.crds.changes import keywords
from olmkit.kube.crds.changes.keywords import Schema
from olmkit.kube.crds.changes.schema_change import Keys, SchemaChange, format_field
from olmkit.kube.objects import mapping, sequence

_EMBEDDED: Final = "x-kubernetes-embedded-resource"
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_OBJECT_FIELDS: Final[Mapping[str, Schema]] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object", keywords.KEEPS: True},
}
_OTHER: Final = frozenset(
    {
        *("title", "example", "externalDocs", "x-kubernetes-map-type", "id", "$schema", "$ref"),
        *("definitions", "dependencies", "patternProperties", "additionalItems"),
    }
)
_MAX_DEPTH: Final = 100


def compare_schemas(old: Schema, new: Schema) -> tuple[SchemaChange, ...]:
    """Return all changes from one schema of a kind to the next, in the order of the old fields."""
    walk = _Walk()
    walk.node(old, new, _At(is_object=True))
    return tuple(walk.found)


def compare_served_pair(older: Schema, newer: Schema) -> tuple[SchemaChange, ...]:
    """Return the differences between two served versions of a CRD that crdify rejects."""
    return tuple(one for one in compare_schemas(older, newer) if not one.is_safe)


@dataclass(frozen=True, slots=True, kw_only=True)
class _At:
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

    def below(self, keys: Keys, name: str, **more: bool) -> _At:
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


class _Walk:
    """Collects the changes of two schemas, node by node."""

    def __init__(self) -> None:
        self.found: list[SchemaChange] = []

    def node(self, old: Any, new: Any, at: _At) -> None:
        if old == new or len(at.old_keys) > _MAX_DEPTH:
            return
        old, new = mapping(old), mapping(new)
        at = replace(at, is_guarded=at.is_guarded or keywords.has_conditions(new))
        before, after = keywords.kinds(old), keywords.kinds(new)
        self._compare_types(old, new, at)
        if before is not None and after is not None and not before & after:
            return
        self._compare_nullable(old, new, at)
        self._compare_default(old, new, at)
        self._compare_enum(old, new, at)
        self._compare_bounds(old, new, at, before)
        self._compare_string_keywords(old, new, at, before)
        self._compare_required(old, new, at)
        self._compare_properties(old, new, at, before)
        self._compare_items(old, new, at)
        self._compare_list_type(old, new, at)
        self._compare_junctors(old, new, at)
        self._compare_rules(old, new, at)
        self._compare_other_keywords(old, new, at)

    def _add(
        self,
        at: _At,
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

    def _compare_types(self, old: Schema, new: Schema, at: _At) -> None:
        before, after = keywords.kinds(old), keywords.kinds(new)
        if old.get("type") != new.get("type") or bool(old.get(keywords.EITHER)) != bool(
            new.get(keywords.EITHER)
        ):
            refuses = after is not None and (before is None or not before <= after)
            self._add(
                at,
                "type-changed",
                "type" if "type" in new else "",
                f"the type of {at.name} changes from {keywords.type_name(old)} to "
                f"{keywords.type_name(new)}",
                (keywords.type_name(old), keywords.type_name(new)),
                refuses=refuses,
                refuses_stored=refuses,
            )
        if bool(old.get(_EMBEDDED)) != bool(new.get(_EMBEDDED)):
            is_new = bool(new.get(_EMBEDDED))
            verb = "must now be" if is_new else "need no longer be"
            self._add(
                at,
                "embedded-resource-added" if is_new else "embedded-resource-removed",
                _EMBEDDED,
                f"{at.name} {verb} a whole Kubernetes object",
                (old.get(_EMBEDDED), new.get(_EMBEDDED)),
                refuses=is_new,
                prunes=not is_new,
            )

    def _compare_nullable(self, old: Schema, new: Schema, at: _At) -> None:
        before, after = bool(old.get("nullable")), bool(new.get("nullable"))
        if before == after:
            return
        is_gone = before and keywords.kinds(new) is not None
        # Elsewhere the API server drops null where it is not allowed.
        is_kept = at.field[-1:] == ("[]",) or at.is_required or at.is_guarded
        self._add(
            at,
            "nullable-removed" if before else "nullable-added",
            "nullable",
            f"{at.name} {'must no longer' if before else 'may now'} be null",
            (before, after),
            refuses=is_gone and is_kept and "default" not in new,
            refuses_stored=is_gone,
        )

    def _compare_default(self, old: Schema, new: Schema, at: _At) -> None:
        before, after = "default" in old, "default" in new
        if (
            keywords.canonical_text(old.get("default"))
            == keywords.canonical_text(new.get("default"))
            and before == after
        ):
            return
        values = (old.get("default"), new.get("default"))
        if not before:
            self._add(
                at,
                "default-added",
                "default",
                f"{at.name} now has the default {keywords.short(values[1])}",
                values,
                refuses=at.is_guarded or at.is_limited,
                defaults=True,
            )
        elif not after:
            self._add(
                at,
                "default-removed",
                "default",
                f"{at.name} no longer has the default {keywords.short(values[0])}",
                values,
                refuses=at.is_guarded or at.is_required,
                defaults=True,
            )
        else:
            self._add(
                at,
                "default-changed",
                "default",
                f"the default of {at.name} changes from {keywords.short(values[0])} to "
                f"{keywords.short(values[1])}",
                values,
                refuses=at.is_guarded,
                defaults=True,
            )

    def _compare_enum(self, old: Schema, new: Schema, at: _At) -> None:
        before, after = sequence(old.get("enum")), sequence(new.get("enum"))
        known, allowed = (
            {keywords.canonical_text(one) for one in before},
            {keywords.canonical_text(one) for one in after},
        )
        if known == allowed:
            return
        gone = [one for one in before if keywords.canonical_text(one) not in allowed]
        more = [one for one in after if keywords.canonical_text(one) not in known]
        if not before:
            self._add(
                at,
                "enum-added",
                "enum",
                f"{at.name} is now limited to {keywords.list_first(after)}",
                (None, after),
                refuses=True,
                refuses_stored=True,
            )
        elif gone:
            left = bool(after)
            self._add(
                at,
                "enum-value-removed" if left else "enum-removed",
                "enum",
                f"{at.name} no longer accepts {keywords.list_first(gone)}"
                if left
                else f"{at.name} is no longer limited to {keywords.list_first(before)}",
                (before, after or None),
                refuses=left,
                refuses_stored=left,
            )
        else:
            self._add(
                at,
                "enum-value-added",
                "enum",
                f"{at.name} now accepts {keywords.list_first(more)}, too",
                (before, after),
                is_safe=True,
            )

    def _compare_bounds(
        self, old: Schema, new: Schema, at: _At, before: frozenset[str] | None
    ) -> None:
        for table, sign in ((keywords.LOWER, 1), (keywords.UPPER, -1)):
            for keyword, kind in table.items():
                self._compare_bound(
                    old, new, at, keyword, sign, applies=keywords.applies(before, kind)
                )
        for keyword, bound, sign in (
            ("exclusiveMinimum", "minimum", 1),
            ("exclusiveMaximum", "maximum", -1),
        ):
            was, now = bool(old.get(keyword)), bool(new.get(keyword))
            limit, other = keywords.number(new.get(bound)), keywords.number(old.get(bound))
            if was != now:
                refuses = (
                    now and limit is not None and (other is None or sign * (limit - other) >= 0)
                )
                applies = refuses and keywords.applies(before, "number")
                self._add(
                    at,
                    f"{keywords.kebab(keyword)}-{'added' if now else 'removed'}",
                    keyword,
                    f"{at.name} {'must not' if now else 'may now'} be its `{bound}` "
                    f"{keywords.short(limit if now else other)} itself",
                    (was, now),
                    refuses=applies,
                    refuses_stored=applies,
                )
        self._compare_multiple(old, new, at, before)

    def _compare_bound(
        self, old: Schema, new: Schema, at: _At, keyword: str, sign: int, *, applies: bool
    ) -> None:
        before, after = keywords.number(old.get(keyword)), keywords.number(new.get(keyword))
        if before == after:
            return
        values = (before, after)
        if after is None:
            message = f"{at.name} no longer has the `{keyword}` {keywords.short(before)}"
            self._add(
                at, f"{keywords.kebab(keyword)}-removed", keyword, message, values, is_safe=True
            )
            return
        words = keywords.limit_words(keyword, after)
        if before is None:
            tightens = sign < 0 or keyword == "minimum" or after > 0
            verb, suffix, is_safe = "added", "", False
        else:
            tightens = sign * (after - before) > 0
            verb = "raised" if after > before else "lowered"
            suffix, is_safe = f" (before: {keywords.short(before)})", not tightens
        self._add(
            at,
            f"{keywords.kebab(keyword)}-{verb}",
            keyword,
            f"{at.name} must now {words}{suffix}"
            if tightens
            else f"{at.name} need only {words}{suffix}",
            values,
            is_safe=is_safe,
            refuses=tightens and applies,
            refuses_stored=tightens and applies,
        )

    def _compare_multiple(
        self, old: Schema, new: Schema, at: _At, before: frozenset[str] | None
    ) -> None:
        was, now = keywords.number(old.get("multipleOf")), keywords.number(new.get("multipleOf"))
        if was == now:
            return
        refuses = (
            bool(now) and keywords.applies(before, "number") and not keywords.is_multiple(was, now)
        )
        self._add(
            at,
            f"multiple-of-{'added' if was is None else 'removed' if now is None else 'changed'}",
            "multipleOf",
            f"{at.name} must now be a multiple of {keywords.short(now)}"
            if now
            else f"{at.name} need no longer be a multiple of {keywords.short(was)}",
            (was, now),
            refuses=refuses,
            refuses_stored=refuses,
        )

    def _compare_string_keywords(
        self, old: Schema, new: Schema, at: _At, before: frozenset[str] | None
    ) -> None:
        was, now = old.get("pattern") or None, new.get("pattern") or None
        if was != now:
            refuses = bool(now) and keywords.applies(before, "string") and now not in (".*", "^.*$")
            self._add(
                at,
                f"pattern-{'added' if not was else 'removed' if not now else 'changed'}",
                "pattern",
                f"{at.name} must now match {keywords.short(now)}"
                + (f" (before: {keywords.short(was)})" if was else "")
                if now
                else f"{at.name} need no longer match {keywords.short(was)}",
                (was, now),
                refuses=refuses,
                refuses_stored=refuses,
            )
        was, now = old.get("format") or None, new.get("format") or None
        if was != now:
            refuses = now is not None and keywords.narrows(str(now), old, new)
            self._add(
                at,
                f"format-{'added' if not was else 'removed' if not now else 'changed'}",
                "format",
                f"{at.name} must now have the format `{now}`"
                + (f" (before: `{was}`)" if was else "")
                if now
                else f"{at.name} need no longer have the format `{was}`",
                (was, now),
                refuses=refuses,
                refuses_stored=refuses,
            )

    def _compare_required(self, old: Schema, new: Schema, at: _At) -> None:
        before, after = keywords.names(old.get("required")), keywords.names(new.get("required"))
        fields, old_fields = mapping(new.get("properties")), mapping(old.get("properties"))
        for name in sorted(after - before):
            inner = at.below(("properties", name), name)
            has_default = "default" in mapping(fields.get(name))
            had_default = "default" in mapping(old_fields.get(name))
            hint = ", with a default" if has_default else ""
            self._add(
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
            self._add(at, "required-removed", "required", message, values, is_safe=True)
        if before == after and sequence(old.get("required")) != sequence(new.get("required")):
            self._order(at, "required")

    def _compare_properties(
        self, old: Schema, new: Schema, at: _At, before: frozenset[str] | None
    ) -> None:
        after = keywords.kinds(new)
        if any(kinds is not None and "object" not in kinds for kinds in (before, after)):
            return
        olds, news = mapping(old.get("properties")), mapping(new.get("properties"))
        rest, new_rest = keywords.rest_of(old), keywords.rest_of(new)
        is_object = at.is_object or bool(new.get(_EMBEDDED))
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
        self, schema: Any, new: Schema, inner: _At, rest: Schema | None, *, is_object: bool
    ) -> None:
        name = inner.field[-1]
        prunes = rest is None and not (is_object and name in _OBJECT_FIELDS)
        depends = bool(keywords.number(new.get("minProperties"))) or name in keywords.names(
            new.get("required")
        )
        self._add(
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

    def _compare_added_property(self, before: Schema | None, schema: Any, inner: _At) -> None:
        has_default = "default" in mapping(schema)
        self._add(
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
                self._add(
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
        self, old: Schema, new: Schema, at: _At, rest: Schema | None, new_rest: Schema | None
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
                self._add(at, "keyword-changed", keywords.KEEPS, message)
            return
        if rest is not None and new_rest is not None:
            if keywords.is_any(rest):
                self._add(
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
                self._add(inner, "values-untyped", "", message, (keywords.type_name(rest), None))
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
        self._add(
            at,
            "unknown-fields-dropped" if is_gone else "unknown-fields-kept",
            keyword,
            f"unknown fields of {at.name} are {'now dropped' if is_gone else 'no longer dropped'}",
            (True, None) if is_gone else (None, True),
            refuses=is_gone and depends,
            prunes=is_gone,
        )

    def _compare_items(self, old: Schema, new: Schema, at: _At) -> None:
        before, after = old.get("items"), new.get("items")
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            self.node(before, after, at.below(("items",), "[]"))

    def _compare_list_type(self, old: Schema, new: Schema, at: _At) -> None:
        was, now = old.get(_LIST_TYPE) or "atomic", new.get(_LIST_TYPE) or "atomic"
        keys, new_keys = sequence(old.get(_LIST_KEYS)), sequence(new.get(_LIST_KEYS))
        if was != now or old.get(_LIST_TYPE) != new.get(_LIST_TYPE):
            self._add(
                at,
                "list-type-changed",
                _LIST_TYPE,
                f"the list {at.name} was of type `{was}` and is now of type `{now}`"
                + (": its items must be unique" if now != "atomic" else ""),
                (was, now),
                refuses=now != "atomic" and was != now,
            )
        if keys != new_keys:
            listed = ", ".join(f"`{key}`" for key in map(str, new_keys)) or "none"
            is_coarser = not {str(key) for key in keys} <= {str(key) for key in new_keys}
            self._add(
                at,
                "list-keys-changed",
                _LIST_KEYS,
                f"the keys of the list {at.name} are now {listed}",
                (keys or None, new_keys or None),
                refuses=now == "map" and (is_coarser or was != "map"),
            )

    def _compare_junctors(self, old: Schema, new: Schema, at: _At) -> None:
        for keyword in keywords.JUNCTORS:
            before, after = old.get(keyword), new.get(keyword)
            if (before or None) == (after or None):
                continue
            refuses = keywords.narrows_alternatives(keyword, before, after, new)
            verb = "added" if not before else "removed" if not after else "changed"
            self._add(
                at,
                f"{keywords.kebab(keyword)}-{verb}",
                keyword,
                f"the condition `{keyword}` of {at.name} is {_PAST[verb]}",
                (before or None, after or None),
                refuses=refuses,
                refuses_stored=refuses,
            )

    def _compare_rules(self, old: Schema, new: Schema, at: _At) -> None:
        before, after = sequence(old.get(keywords.RULES)), sequence(new.get(keywords.RULES))
        if before == after:
            return
        known = {keywords.rule_text(one) for one in before}
        left = {keywords.rule_text(one) for one in after}
        gone = [one for one in before if keywords.rule_text(one) not in left]
        added = [one for one in after if keywords.rule_text(one) not in known]
        for one in added:
            self._add(
                at,
                "rule-added",
                keywords.RULES,
                f"{at.name} must now fulfill the rule {keywords.short(keywords.rule_text(one))}",
                (None, one),
                refuses=True,
            )
        for one in gone:
            self._add(
                at,
                "rule-removed",
                keywords.RULES,
                f"{at.name} need no longer fulfill the rule "
                f"{keywords.short(keywords.rule_text(one))}",
                (one, None),
            )
        if not added and not gone:
            message = f"the messages of the rules of {at.name} change"
            self._add(at, "rule-message-changed", keywords.RULES, message, (before, after))

    def _compare_other_keywords(self, old: Schema, new: Schema, at: _At) -> None:
        if old.get("description") != new.get("description"):
            message = f"the description of {at.name} changes"
            self._add(at, "description-changed", "description", message, is_safe=True)
        was, now = bool(old.get("uniqueItems")), bool(new.get("uniqueItems"))
        if was != now:
            self._add(
                at,
                "unique-items-added" if now else "unique-items-removed",
                "uniqueItems",
                f"the items of {at.name} {'must now' if now else 'need no longer'} be unique",
                (was, now),
                refuses=now,
                refuses_stored=now,
            )
        for keyword in sorted((old.keys() | new.keys()) & _OTHER):
            if old.get(keyword) != new.get(keyword):
                message = f"the keyword `{keyword}` of {at.name} changes"
                values = (old.get(keyword), new.get(keyword))
                self._add(at, "keyword-changed", keyword, message, values)
        enums = sequence(old.get("enum")), sequence(new.get("enum"))
        if enums[0] != enums[1] and sorted(map(keywords.canonical_text, enums[0])) == sorted(
            map(keywords.canonical_text, enums[1])
        ):
            self._order(at, "enum")

    def _order(self, at: _At, keyword: str) -> None:
        """Report a different order, which matters only where crdify compares a value as a whole."""
        message = f"the order of `{keyword}` of {at.name} changes"
        self._add(at, "order-changed", keyword, message, is_safe=True)


_PAST: Final = {"added": "new", "removed": "gone", "changed": "different"}
