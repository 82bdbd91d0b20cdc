"""Compare the conditions of one value: the type of its list, alternatives and rules."""

from __future__ import annotations

from typing import Final

from olmkit.kube.crds.changes import keywords
from olmkit.kube.crds.changes.change_list import ChangeList
from olmkit.kube.crds.changes.keywords import Schema
from olmkit.kube.crds.changes.position import Position
from olmkit.kube.objects import sequence

_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_PAST: Final = {"added": "new", "removed": "gone", "changed": "different"}


def compare_list_type(found: ChangeList, old: Schema, new: Schema, at: Position) -> None:
    was, now = old.get(_LIST_TYPE) or "atomic", new.get(_LIST_TYPE) or "atomic"
    keys, new_keys = sequence(old.get(_LIST_KEYS)), sequence(new.get(_LIST_KEYS))
    if was != now or old.get(_LIST_TYPE) != new.get(_LIST_TYPE):
        found.add(
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
        found.add(
            at,
            "list-keys-changed",
            _LIST_KEYS,
            f"the keys of the list {at.name} are now {listed}",
            (keys or None, new_keys or None),
            refuses=now == "map" and (is_coarser or was != "map"),
        )


def compare_junctors(found: ChangeList, old: Schema, new: Schema, at: Position) -> None:
    for keyword in keywords.JUNCTORS:
        before, after = old.get(keyword), new.get(keyword)
        if (before or None) == (after or None):
            continue
        refuses = keywords.narrows_alternatives(keyword, before, after, new)
        verb = "added" if not before else "removed" if not after else "changed"
        found.add(
            at,
            f"{keywords.kebab(keyword)}-{verb}",
            keyword,
            f"the condition `{keyword}` of {at.name} is {_PAST[verb]}",
            (before or None, after or None),
            refuses=refuses,
            refuses_stored=refuses,
        )


def compare_rules(found: ChangeList, old: Schema, new: Schema, at: Position) -> None:
    before, after = sequence(old.get(keywords.RULES)), sequence(new.get(keywords.RULES))
    if before == after:
        return
    known = {keywords.rule_text(one) for one in before}
    left = {keywords.rule_text(one) for one in after}
    removed = [one for one in before if keywords.rule_text(one) not in left]
    added = [one for one in after if keywords.rule_text(one) not in known]
    for one in added:
        found.add(
            at,
            "rule-added",
            keywords.RULES,
            f"{at.name} must now fulfill the rule {keywords.short(keywords.rule_text(one))}",
            (None, one),
            refuses=True,
        )
    for one in removed:
        found.add(
            at,
            "rule-removed",
            keywords.RULES,
            f"{at.name} need no longer fulfill the rule {keywords.short(keywords.rule_text(one))}",
            (one, None),
        )
    if not added and not removed:
        message = f"the messages of the rules of {at.name} change"
        found.add(at, "rule-message-changed", keywords.RULES, message, (before, after))
