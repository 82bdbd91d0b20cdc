"""Compare the limits of one value: numbers, lengths and sizes."""

from __future__ import annotations

from olmkit.kube.crds.changes import keywords
from olmkit.kube.crds.changes.change_list import ChangeList
from olmkit.kube.crds.changes.keywords import Schema
from olmkit.kube.crds.changes.position import Position


def compare_bounds(
    found: ChangeList, old: Schema, new: Schema, at: Position, before: frozenset[str] | None
) -> None:
    for table, sign in ((keywords.LOWER, 1), (keywords.UPPER, -1)):
        for keyword, kind in table.items():
            _compare_bound(
                found, old, new, at, keyword, sign, applies=keywords.applies(before, kind)
            )
    for keyword, bound, sign in (
        ("exclusiveMinimum", "minimum", 1),
        ("exclusiveMaximum", "maximum", -1),
    ):
        was, now = bool(old.get(keyword)), bool(new.get(keyword))
        limit, other = keywords.number(new.get(bound)), keywords.number(old.get(bound))
        if was != now:
            refuses = now and limit is not None and (other is None or sign * (limit - other) >= 0)
            applies = refuses and keywords.applies(before, "number")
            found.add(
                at,
                f"{keywords.kebab(keyword)}-{'added' if now else 'removed'}",
                keyword,
                f"{at.name} {'must not' if now else 'may now'} be its `{bound}` "
                f"{keywords.short(limit if now else other)} itself",
                (was, now),
                refuses=applies,
                refuses_stored=applies,
            )
    _compare_multiple(found, old, new, at, before)


def _compare_bound(
    found: ChangeList,
    old: Schema,
    new: Schema,
    at: Position,
    keyword: str,
    sign: int,
    *,
    applies: bool,
) -> None:
    before, after = keywords.number(old.get(keyword)), keywords.number(new.get(keyword))
    if before == after:
        return
    values = (before, after)
    if after is None:
        message = f"{at.name} no longer has the `{keyword}` {keywords.short(before)}"
        found.add(at, f"{keywords.kebab(keyword)}-removed", keyword, message, values, is_safe=True)
        return
    words = keywords.limit_words(keyword, after)
    if before is None:
        tightens = sign < 0 or keyword == "minimum" or after > 0
        verb, suffix, is_safe = "added", "", False
    else:
        tightens = sign * (after - before) > 0
        verb = "raised" if after > before else "lowered"
        suffix, is_safe = f" (before: {keywords.short(before)})", not tightens
    found.add(
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
    found: ChangeList, old: Schema, new: Schema, at: Position, before: frozenset[str] | None
) -> None:
    was, now = keywords.number(old.get("multipleOf")), keywords.number(new.get("multipleOf"))
    if was == now:
        return
    refuses = (
        bool(now) and keywords.applies(before, "number") and not keywords.is_multiple(was, now)
    )
    found.add(
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
