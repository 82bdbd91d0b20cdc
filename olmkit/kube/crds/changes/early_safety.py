"""The CRD upgrade safety of OLM v1 before release 1.4, which did not use crdify yet.

These releases flatten both schemas to one schema for each field, and accept a difference only if
their checks handle all of it: even another description is refused, and any change below the items
of a list or the values of a map. They also compare the served versions of the new CRD with each
other, whether the old CRD has the same differences or not.

Source: the behavior of operator-controller 1.2.0 with kapp 0.64.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from olmkit.kube.crds.changes import crd_versions, keywords
from olmkit.kube.crds.changes.keywords import Schema
from olmkit.kube.objects import Manifest, mapping, sequence

_Flat = Mapping[str, Mapping[str, Any]]

# Keywords whose empty value is the same as none.
_PLAIN: Final = frozenset(
    {
        *("exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "nullable"),
        *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"),
        *("id", "$schema", "description", "type", "format", "title", "pattern"),
    }
)
_SCHEMAS: Final = frozenset({"not", "items", "additionalProperties", "additionalItems"})
_SCHEMA_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf"})
_SCHEMA_MAPS: Final = frozenset({"properties", "patternProperties", "definitions"})
_OTHER: Final = frozenset(
    {
        *("$ref", "default", "maximum", "minimum", "maxLength", "minLength", "maxItems"),
        *("minItems", "multipleOf", "enum", "maxProperties", "minProperties", "required"),
        *("dependencies", "externalDocs", "example", "x-kubernetes-preserve-unknown-fields"),
        *("x-kubernetes-list-map-keys", "x-kubernetes-list-type", "x-kubernetes-map-type"),
        "x-kubernetes-validations",
    }
)
# Each is checked, and then left out of the comparison, in this order.
_UPPER: Final = ("maximum", "maxItems", "maxLength", "maxProperties")
_LOWER: Final = ("minimum", "minItems", "minLength", "minProperties")
_CHECKED: Final = ("enum", "required", *_UPPER, *_LOWER, "default", "type")


@dataclass(frozen=True, slots=True, kw_only=True)
class SafetyRefusal:
    """A reason to refuse a CRD: the check that finds it, and the version and field, if any.

    `version` is `A -> B` for two served versions.
    """

    check: str
    message: str
    version: str = ""
    field: str = ""


def refusals(old: Manifest, new: Manifest) -> Iterator[SafetyRefusal]:
    """Yield the reasons why these releases refuse the new CRD; none if they accept it."""
    before, after = crd_versions.scope(old), crd_versions.scope(new)
    if before != after:
        message = f"the scope changes from `{before}` to `{after}`"
        yield SafetyRefusal(check="NoScopeChange", message=message)
    for name in crd_versions.removed_stored_versions(old, new)[:1]:
        yield SafetyRefusal(
            check="NoStoredVersionRemoved",
            message=f"the version `{name}` is gone, and objects may be stored in it",
            version=name,
        )
    olds = {one.name: flatten(one.schema) for one in crd_versions.versions(old)}
    news = {one.name: flatten(one.schema) for one in crd_versions.versions(new)}
    shared = [name for name in olds if name in news]
    for name in shared:
        yield from _removed_fields(name, olds[name], news[name])
    if not crd_versions.converts(new):
        yield from _served_versions(new, news)
    for name in shared:
        yield from _changed_fields(name, olds[name], news[name])


def _removed_fields(version: str, old: _Flat, new: _Flat) -> Iterator[SafetyRefusal]:
    for field in sorted(old.keys() - new.keys()):
        yield SafetyRefusal(
            check="NoExistingFieldRemoved",
            message=f"the field `{_shown(field)}` of version `{version}` is gone",
            version=version,
            field=field,
        )


def _served_versions(crd: Manifest, flat: Mapping[str, _Flat]) -> Iterator[SafetyRefusal]:
    served = crd_versions.by_priority(one for one in crd_versions.versions(crd) if one.is_served)
    for index, older in enumerate(served):
        for newer in served[index + 1 :]:
            pair = f"{older.name} -> {newer.name}"
            between = f"the served versions `{older.name}` and `{newer.name}`"
            for field, reason in _differences(flat[older.name], flat[newer.name]):
                where = f"`{_shown(field)}` differs between {between}" if field else (
                    f"{between} do not have the same fields"
                )  # fmt: skip
                yield SafetyRefusal(
                    check="ServedVersionValidator",
                    message=f"{where}, and no webhook converts" + (f": {reason}" if reason else ""),
                    version=pair,
                    field=field,
                )


def _changed_fields(version: str, old: _Flat, new: _Flat) -> Iterator[SafetyRefusal]:
    for field, reason in _differences(old, new):
        message = f"`{_shown(field)}` of version `{version}` changes: {reason}"
        if not field:  # the removed fields are reported already
            message = f"a field of version `{version}` is gone, so the others are not compared"
        yield SafetyRefusal(check="ChangeValidator", message=message, version=version, field=field)


def _differences(old: _Flat, new: _Flat) -> Iterator[tuple[str, str]]:
    """Yield the fields with a difference that is not safe, and the reason.

    The field is empty if a field of the old schema is missing: then nothing else is compared.
    """
    if old.keys() - new.keys():
        yield "", ""
        return
    for field in sorted(old):
        before = {key: one for key, one in old[field].items() if key != "properties"}
        after = {key: one for key, one in new[field].items() if key != "properties"}
        if before == after:
            continue
        yield from ((field, reason) for reason in _faults(before, after))
        changed = sorted(
            key
            for key in before.keys() | after.keys()
            if key not in _CHECKED and before.get(key) != after.get(key)
        )
        if changed:
            yield field, f"the change of {_listed(changed)} is not known to be safe"


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _faults(old: Schema, new: Schema) -> Iterator[str]:
    """Yield the changes of checked keywords that are not safe."""
    known, left = _values(old.get("enum")), _values(new.get("enum"))
    if not known and left:
        yield "`enum` is new"
    elif known - left:
        yield f"`enum` no longer has {keywords.list_first(sorted(known - left))}"
    more = _values(new.get("required")) - _values(old.get("required"))
    if more:
        yield f"`required` has {keywords.list_first(sorted(more))}"
    for names, sign in ((_UPPER, -1), (_LOWER, 1)):
        for name in names:
            yield from _bound_faults(name, old.get(name), new.get(name), sign)
    if old.get("default") != new.get("default"):
        yield "`default` changes"
    if old.get("type") != new.get("type"):
        yield f"`type` changes from {keywords.short(old.get('type', ''))} to " + keywords.short(
            new.get("type", "")
        )


def _bound_faults(name: str, before: Any, after: Any, sign: int) -> Iterator[str]:
    was, now = keywords.number(before), keywords.number(after)
    if was is None and now is not None:
        yield f"`{name}` is new"
    elif was is not None and now is not None and sign * (now - was) > 0:
        yield f"`{name}` changes from {keywords.short(was)} to {keywords.short(now)}"


def _values(values: Any) -> set[str]:
    return {one if isinstance(one, str) else str(one) for one in sequence(values)}


def flatten(schema: Schema) -> dict[str, Mapping[str, Any]]:
    """Return the schema of each field: `^` is the root, `[*]` an item of a list or a map.

    Alternatives of a field replace the schema of the field itself, the last one wins.
    """
    found: dict[str, Mapping[str, Any]] = {}
    _flatten(_normal(schema), "^", found)
    return found


def _flatten(schema: Mapping[str, Any], at: str, found: dict[str, Mapping[str, Any]]) -> None:
    found[at] = schema
    items = schema.get("items")
    if isinstance(items, Mapping):
        _flatten(items, f"{at}[*]", found)
    for index, one in enumerate(sequence(items)):
        _flatten(mapping(one), f"{at}[{index}]", found)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for one in sequence(schema.get(keyword)):
            _flatten(mapping(one), at, found)
    if isinstance(schema.get("not"), Mapping):
        _flatten(schema["not"], at, found)
    for name, one in mapping(schema.get("properties")).items():
        _flatten(mapping(one), f"{at}.{name}", found)
    if isinstance(schema.get("additionalProperties"), Mapping):
        _flatten(schema["additionalProperties"], f"{at}[*]", found)
    for one in mapping(schema.get("patternProperties")).values():
        _flatten(mapping(one), at, found)
    if isinstance(schema.get("additionalItems"), Mapping):
        _flatten(schema["additionalItems"], at, found)
    for one in mapping(schema.get("definitions")).values():
        _flatten(mapping(one), at, found)


def _normal(schema: Any) -> Mapping[str, Any]:
    """Return a schema as these releases read it: without unknown keywords and empty values."""
    found: dict[str, Any] = {}
    for key, value in mapping(schema).items():
        if value is None:
            continue
        if key in _PLAIN:
            if value:
                found[key] = value
        elif key in _SCHEMAS:
            found[key] = _normal(value) if isinstance(value, Mapping) else _items(value)
        elif key in _SCHEMA_LISTS:
            found[key] = [_normal(one) for one in sequence(value)]
        elif key in _SCHEMA_MAPS:
            found[key] = {name: _normal(one) for name, one in mapping(value).items()}
        elif key == "enum":
            found[key] = [keywords.canonical_text(one) for one in sequence(value)]
        elif key in ("default", "example"):
            found[key] = keywords.canonical_text(value)
        elif key in _OTHER:
            found[key] = value
    return found


def _items(value: Any) -> Any:
    return [_normal(one) for one in value] if isinstance(value, list) else value


def _shown(field: str) -> str:
    """Return a field as in other messages: `spec.ports[].name`; the root is `.`."""
    return field.removeprefix("^").removeprefix(".").replace("[*]", "[]") or "."
