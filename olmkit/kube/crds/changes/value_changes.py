"""Compare the keywords of one value: its type, default, enumeration, pattern and format."""

from __future__ import annotations

from typing import Final

from olmkit.kube.crds.changes import keywords
from olmkit.kube.crds.changes.change_list import ChangeList
from olmkit.kube.crds.changes.keywords import Schema
from olmkit.kube.crds.changes.position import Position
from olmkit.kube.objects import sequence

_OTHER: Final = frozenset(
    {
        *("title", "example", "externalDocs", "x-kubernetes-map-type", "id", "$schema", "$ref"),
        *("definitions", "dependencies", "patternProperties", "additionalItems"),
    }
)


def compare_types(found: ChangeList, old: Schema, new: Schema, at: Position) -> None:
    before, after = keywords.kinds(old), keywords.kinds(new)
    if old.get("type") != new.get("type") or bool(old.get(keywords.EITHER)) != bool(
        new.get(keywords.EITHER)
    ):
        refuses = after is not None and (before is None or not before <= after)
        found.add(
            at,
            "type-changed",
            "type" if "type" in new else "",
            f"the type of {at.name} changes from {keywords.type_name(old)} to "
            f"{keywords.type_name(new)}",
            (keywords.type_name(old), keywords.type_name(new)),
            refuses=refuses,
            refuses_stored=refuses,
        )
    if bool(old.get(keywords.EMBEDDED)) != bool(new.get(keywords.EMBEDDED)):
        is_new = bool(new.get(keywords.EMBEDDED))
        verb = "must now be" if is_new else "need no longer be"
        found.add(
            at,
            "embedded-resource-added" if is_new else "embedded-resource-removed",
            keywords.EMBEDDED,
            f"{at.name} {verb} a whole Kubernetes object",
            (old.get(keywords.EMBEDDED), new.get(keywords.EMBEDDED)),
            refuses=is_new,
            prunes=not is_new,
        )


def compare_nullable(found: ChangeList, old: Schema, new: Schema, at: Position) -> None:
    before, after = bool(old.get("nullable")), bool(new.get("nullable"))
    if before == after:
        return
    is_gone = before and keywords.kinds(new) is not None
    # Elsewhere the API server drops null where it is not allowed.
    is_kept = at.field[-1:] == ("[]",) or at.is_required or at.is_guarded
    found.add(
        at,
        "nullable-removed" if before else "nullable-added",
        "nullable",
        f"{at.name} {'must no longer' if before else 'may now'} be null",
        (before, after),
        refuses=is_gone and is_kept and "default" not in new,
        refuses_stored=is_gone,
    )


def compare_default(found: ChangeList, old: Schema, new: Schema, at: Position) -> None:
    before, after = "default" in old, "default" in new
    if (
        keywords.canonical_text(old.get("default")) == keywords.canonical_text(new.get("default"))
        and before == after
    ):
        return
    values = (old.get("default"), new.get("default"))
    if not before:
        found.add(
            at,
            "default-added",
            "default",
            f"{at.name} now has the default {keywords.short(values[1])}",
            values,
            refuses=at.is_guarded or at.is_limited,
            defaults=True,
        )
    elif not after:
        found.add(
            at,
            "default-removed",
            "default",
            f"{at.name} no longer has the default {keywords.short(values[0])}",
            values,
            refuses=at.is_guarded or at.is_required,
            defaults=True,
        )
    else:
        found.add(
            at,
            "default-changed",
            "default",
            f"the default of {at.name} changes from {keywords.short(values[0])} to "
            f"{keywords.short(values[1])}",
            values,
            refuses=at.is_guarded,
            defaults=True,
        )


def compare_enum(found: ChangeList, old: Schema, new: Schema, at: Position) -> None:
    before, after = sequence(old.get("enum")), sequence(new.get("enum"))
    known, allowed = (
        {keywords.canonical_text(one) for one in before},
        {keywords.canonical_text(one) for one in after},
    )
    if known == allowed:
        return
    removed = [one for one in before if keywords.canonical_text(one) not in allowed]
    more = [one for one in after if keywords.canonical_text(one) not in known]
    if not before:
        found.add(
            at,
            "enum-added",
            "enum",
            f"{at.name} is now limited to {keywords.list_first(after)}",
            (None, after),
            refuses=True,
            refuses_stored=True,
        )
    elif removed:
        left = bool(after)
        found.add(
            at,
            "enum-value-removed" if left else "enum-removed",
            "enum",
            f"{at.name} no longer accepts {keywords.list_first(removed)}"
            if left
            else f"{at.name} is no longer limited to {keywords.list_first(before)}",
            (before, after or None),
            refuses=left,
            refuses_stored=left,
        )
    else:
        found.add(
            at,
            "enum-value-added",
            "enum",
            f"{at.name} now accepts {keywords.list_first(more)}, too",
            (before, after),
            is_safe=True,
        )


def compare_string_keywords(
    found: ChangeList, old: Schema, new: Schema, at: Position, before: frozenset[str] | None
) -> None:
    was, now = old.get("pattern") or None, new.get("pattern") or None
    if was != now:
        refuses = bool(now) and keywords.applies(before, "string") and now not in (".*", "^.*$")
        found.add(
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
        found.add(
            at,
            f"format-{'added' if not was else 'removed' if not now else 'changed'}",
            "format",
            f"{at.name} must now have the format `{now}`" + (f" (before: `{was}`)" if was else "")
            if now
            else f"{at.name} need no longer have the format `{was}`",
            (was, now),
            refuses=refuses,
            refuses_stored=refuses,
        )


def compare_other_keywords(found: ChangeList, old: Schema, new: Schema, at: Position) -> None:
    if old.get("description") != new.get("description"):
        message = f"the description of {at.name} changes"
        found.add(at, "description-changed", "description", message, is_safe=True)
    was, now = bool(old.get("uniqueItems")), bool(new.get("uniqueItems"))
    if was != now:
        found.add(
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
            found.add(at, "keyword-changed", keyword, message, values)
    enums = sequence(old.get("enum")), sequence(new.get("enum"))
    if enums[0] != enums[1] and sorted(map(keywords.canonical_text, enums[0])) == sorted(
        map(keywords.canonical_text, enums[1])
    ):
        found.order(at, "enum")
