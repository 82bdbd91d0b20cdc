"""Compare two versions of a CRD, and find the effects on its objects.

Both API versions are read. `is_safe` of a change is the verdict of crdify with the configuration of
OLM v1; `is_refused`: the API server refuses the change in any update, whether objects exist or not.
An object that shows a change is valid under the old schema but not under the new one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from olmkit.kube import objects
from olmkit.kube.crds.changes import samples, schemas
from olmkit.kube.crds.changes.crd_versions import (
    SUBRESOURCES,
    CrdVersion,
    by_priority,
    conversion,
    converts,
    removed_stored_versions,
    scope,
    versions,
)
from olmkit.kube.crds.changes.schema_change import Keys, SchemaChange, format_field
from olmkit.kube.objects import Manifest, mapping, sequence, text

_MAX_EXAMPLES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CrdChange:
    """A difference between two CRDs of the same name.

    `keys` lead to it in the new CRD, or in the old one if it is gone. `version` is empty for fields
    that all versions share, and `A -> B` for two versions that are served together. `field`: the
    field of the objects. The flags are those of `SchemaChange`; `is_refused`: the API server
    refuses the new CRD; `loses_stored`: a version in which objects may be stored is gone. `example`
    is a whole object, None if none was found. `is_breaking`: clients or objects are affected.
    """

    crd: str
    rule: str
    message: str
    keys: Keys = ()
    version: str = ""
    field: str = ""
    old: Any = None
    new: Any = None
    is_safe: bool = True
    is_refused: bool = False
    loses_stored: bool = False
    refuses: bool = False
    refuses_stored: bool = False
    prunes: bool = False
    defaults: bool = False
    is_breaking: bool = False
    example: Manifest | None = None
    hint: str = ""


def compare_crds(old: Manifest, new: Manifest, *, examples: bool = True) -> tuple[CrdChange, ...]:
    """Return all differences of two CRDs of the same name.

    `status.storedVersions` of the old one has the versions in which objects are stored; without it,
    the storage version is used. `examples`: find objects that show the changes.
    """
    return tuple(_compare_crds(old, new, examples=examples))


def _compare_crds(old: Manifest, new: Manifest, *, examples: bool) -> Iterator[CrdChange]:
    name = objects.name(new) or objects.name(old)
    yield from _compare_names(name, old, new)
    olds = {one.name: one for one in versions(old)}
    news = {one.name: one for one in versions(new)}
    yield from _compare_versions(name, old, new)
    for version, before in olds.items():
        if version in news:
            yield from _compare_version(name, before, news[version], new, examples=examples)
    yield from _compare_conversion(name, old, new)
    yield from _compare_served_pairs(name, old, new)


def _compare_names(crd: str, old: Manifest, new: Manifest) -> Iterator[CrdChange]:
    before, after = scope(old), scope(new)
    if before != after:
        yield CrdChange(
            crd=crd,
            rule="scope-changed",
            message=f"the scope changes from `{before}` to `{after}`",
            keys=("spec", "scope"),
            old=before,
            new=after,
            is_safe=False,
            is_refused=True,
            is_breaking=True,
            hint="delete the CRD with all its objects first, or define a new kind",
        )
    spec, new_spec = mapping(old.get("spec")), mapping(new.get("spec"))
    names, new_names = mapping(spec.get("names")), mapping(new_spec.get("names"))
    for key in ("kind", "plural", "singular", "listKind"):
        was, now = text(names.get(key)), text(new_names.get(key))
        if was == now or (key in ("singular", "listKind") and not (was and now)):
            continue
        is_fixed = key in ("kind", "plural")
        yield CrdChange(
            crd=crd,
            rule="name-changed",
            message=f"the name `{key}` changes from `{was}` to `{now}`",
            keys=("spec", "names", key),
            old=was,
            new=now,
            is_refused=is_fixed,
            is_breaking=True,
            hint="define a new kind next to the old one" if is_fixed else "",
        )
    if text(spec.get("group")) != text(new_spec.get("group")):
        yield CrdChange(
            crd=crd,
            rule="name-changed",
            message=f"the group changes from `{text(spec.get('group'))}` to "
            f"`{text(new_spec.get('group'))}`",
            keys=("spec", "group"),
            old=text(spec.get("group")),
            new=text(new_spec.get("group")),
            is_refused=True,
            is_breaking=True,
        )
    for key in ("shortNames", "categories"):
        was_all, now_all = (set(map(str, sequence(one.get(key)))) for one in (names, new_names))
        noun = "short name" if key == "shortNames" else "category"
        for value in sorted(was_all - now_all):
            message = f"the {noun} `{value}` is gone"
            keys = ("spec", "names", key)
            yield CrdChange(crd=crd, rule="name-removed", message=message, keys=keys, old=value)
        for value in sorted(now_all - was_all):
            message = f"the {noun} `{value}` is new"
            keys = ("spec", "names", key)
            yield CrdChange(crd=crd, rule="name-added", message=message, keys=keys, new=value)


def _compare_versions(crd: str, old: Manifest, new: Manifest) -> Iterator[CrdChange]:
    olds = {one.name: one for one in versions(old)}
    news = {one.name: one for one in versions(new)}
    yield from _removed_versions(crd, olds, news, removed_stored_versions(old, new))
    for name, after in news.items():
        before = olds.get(name)
        if before is not None:
            yield from _compare_flags(crd, before, after, old)
            continue
        yield CrdChange(
            crd=crd,
            rule="version-added",
            message=f"the version `{name}` is new",
            keys=("spec", "versions", after.index),
            version=name,
            new=name,
        )
    for name, after in news.items():
        if after.is_stored and name not in olds:
            yield _compare_storage(crd, old, name, ("spec", "versions", after.index))


def _removed_versions(
    crd: str,
    olds: Mapping[str, CrdVersion],
    news: Mapping[str, CrdVersion],
    lost: Collection[str],
) -> Iterator[CrdChange]:
    # A version can be stored although the old CRD no longer has it.
    for name in dict.fromkeys([*olds, *lost]):
        if name in news:
            continue
        is_lost = name in lost
        suffix = ", and objects may be stored in it" if is_lost else ""
        yield CrdChange(
            crd=crd,
            rule="stored-version-removed" if is_lost else "version-removed",
            message=f"the version `{name}` is gone{suffix}",
            keys=("spec", "versions", olds[name].index) if name in olds else ("spec", "versions"),
            version=name,
            old=name,
            is_safe=not is_lost,
            is_refused=is_lost,
            loses_stored=is_lost,
            is_breaking=is_lost or (name in olds and olds[name].is_served),
            hint="keep the version with `served: false` until all objects are stored in another "
            "version and `status.storedVersions` does not list it"
            if is_lost
            else "keep the version until no client uses it",
        )


def _compare_flags(
    crd: str, before: CrdVersion, after: CrdVersion, old: Manifest
) -> Iterator[CrdChange]:
    """Yield the changes of a version that both definitions have, except those of its schema."""
    name = after.name
    keys: Keys = ("spec", "versions", after.index)
    if before.is_served and not after.is_served:
        yield CrdChange(
            crd=crd,
            rule="version-not-served",
            message=f"the version `{name}` is no longer served",
            keys=(*keys, "served"),
            version=name,
            old=True,
            new=False,
            is_breaking=True,
            hint="deprecate it first, and stop serving it when no client uses it",
        )
    elif after.is_served and not before.is_served:
        message = f"the version `{name}` is served again"
        yield CrdChange(crd=crd, rule="version-served", message=message, keys=keys, version=name)
    if after.is_stored and not before.is_stored:
        yield _compare_storage(crd, old, name, keys)
    if after.is_deprecated and not before.is_deprecated:
        message = f"the version `{name}` is deprecated"
        yield CrdChange(
            crd=crd, rule="version-deprecated", message=message, keys=keys, version=name
        )


def _compare_storage(crd: str, old: Manifest, name: str, keys: Keys) -> CrdChange:
    before = next((one.name for one in versions(old) if one.is_stored), "")
    return CrdChange(
        crd=crd,
        rule="storage-changed",
        message=f"objects are stored in version `{name}` instead of `{before}`",
        keys=(*keys, "storage"),
        version=name,
        old=before,
        new=name,
        hint=f"keep `{before}` in the CRD: objects stay stored in it until they are written again",
    )


def _compare_version(
    crd: str, before: CrdVersion, after: CrdVersion, new: Manifest, *, examples: bool
) -> Iterator[CrdChange]:
    count = 0
    for one in schemas.compare_schemas(before.schema, after.schema):
        wants = examples and (one.refuses or one.refuses_stored) and count < _MAX_EXAMPLES
        count += wants
        example = _example(one, before, after, new) if wants else None
        base = before.keys if one.new is None and one.old is not None else after.keys
        yield replace(
            _convert_schema_change(crd, one),
            keys=(*base, *one.keys),
            version=after.name,
            example=example,
        )
    for key in SUBRESOURCES:
        was, now = before.subresources.get(key), after.subresources.get(key)
        if (was is None) == (now is None):
            if was != now:
                yield _compare_subresource(
                    crd, after, key, "changed", "changes its paths", was, now
                )
        elif now is None:
            yield _compare_subresource(crd, after, key, "removed", "is gone", was, now)
        else:
            yield _compare_subresource(crd, after, key, "added", "is new", was, now)
    for name in before.columns:
        if name not in after.columns:
            yield CrdChange(
                crd=crd,
                rule="column-removed",
                message=f"the column `{name}` of `kubectl get` is gone",
                keys=("spec", "versions", after.index, "additionalPrinterColumns"),
                version=after.name,
                old=name,
            )


def _compare_subresource(
    crd: str, version: CrdVersion, key: str, verb: str, words: str, was: Any, now: Any
) -> CrdChange:
    hints = {
        "removed": "clients that write it get `404 Not Found`; keep it",
        "added": "the API server ignores `status` in usual writes from now on"
        if key == "status"
        else "",
    }
    return CrdChange(
        crd=crd,
        rule=f"subresource-{verb}",
        message=f"the subresource `{key}` of version `{version.name}` {words}",
        keys=("spec", "versions", version.index, "subresources", key),
        version=version.name,
        old=was,
        new=now,
        is_breaking=verb == "removed" or (verb == "added" and key == "status"),
        hint=hints.get(verb, ""),
    )


def _compare_conversion(crd: str, old: Manifest, new: Manifest) -> Iterator[CrdChange]:
    before, after = conversion(old), conversion(new)
    was, now = (text(one.get("strategy")) or "None" for one in (before, after))
    keys: Keys = ("spec", "conversion", "strategy")
    if was != now:
        is_several = sum(one.is_served for one in versions(new)) > 1
        yield CrdChange(
            crd=crd,
            rule="conversion-changed",
            message=f"the conversion between versions changes from `{was}` to `{now}`",
            keys=keys,
            old=was,
            new=now,
            is_breaking=is_several,
            hint="all objects are read through the webhook: it must run before the CRD changes"
            if now == "Webhook"
            else "without a webhook only `apiVersion` changes: the versions must have the same "
            "fields",
        )
        return
    reviews = [
        set(map(str, sequence(mapping(one.get("webhook")).get("conversionReviewVersions"))))
        for one in (before, after)
    ]
    if now == "Webhook" and reviews[0] - reviews[1]:
        listed = ", ".join(f"`{one}`" for one in sorted(reviews[0] - reviews[1]))
        yield CrdChange(
            crd=crd,
            rule="conversion-changed",
            message=f"the conversion webhook no longer accepts reviews of version {listed}",
            keys=("spec", "conversion", "webhook", "conversionReviewVersions"),
            old=sorted(reviews[0]),
            new=sorted(reviews[1]),
        )


def _compare_served_pairs(crd: str, old: Manifest, new: Manifest) -> Iterator[CrdChange]:
    """Yield versions that are served together and differ more than before, without a webhook.

    crdify compares each version with every later one; differences that the old CRD already had are
    accepted.
    """
    if converts(new):
        return
    known = {
        (pair, one.field): _faults(found) for pair, found in _served_pairs(old) for one in found
    }
    for (older, newer), found in _served_pairs(new):
        for place, group in _group_by_field(found).items():
            faults = _faults(group)
            before = known.get(((older, newer), place), frozenset())
            left = [one for one in group if _fault(one) not in before]
            if not left:
                continue
            yield CrdChange(
                crd=crd,
                rule="served-versions-differ",
                message=f"`{format_field(place)}` differs between the served versions `{older}` "
                f"and `{newer}`, and no webhook converts: {left[0].message}",
                keys=("spec", "versions"),
                version=f"{older} -> {newer}",
                field=format_field(place),
                old=sorted(before) or None,
                new=sorted(faults),
                is_safe=False,
                hint="give the versions the same schema, or convert with a webhook",
            )


def _served_pairs(
    crd: Manifest,
) -> Iterator[tuple[tuple[str, str], tuple[SchemaChange, ...]]]:
    served = by_priority(one for one in versions(crd) if one.is_served)
    for index, older in enumerate(served):
        for newer in served[index + 1 :]:
            pair = (older.name, newer.name)
            yield pair, schemas.compare_served_pair(older.schema, newer.schema)


def _group_by_field(found: Iterable[SchemaChange]) -> dict[tuple[str, ...], list[SchemaChange]]:
    grouped: dict[tuple[str, ...], list[SchemaChange]] = {}
    for one in found:
        grouped.setdefault(one.field, []).append(one)
    return grouped


def _faults(found: Iterable[SchemaChange]) -> frozenset[str]:
    return frozenset(_fault(one) for one in found)


def _fault(change: SchemaChange) -> str:
    return f"{change.rule}: {change.message}"


def _convert_schema_change(crd: str, change: SchemaChange) -> CrdChange:
    return CrdChange(
        crd=crd,
        rule=change.rule,
        message=change.message,
        field=format_field(change.field),
        old=change.old,
        new=change.new,
        is_safe=change.is_safe,
        refuses=change.refuses,
        refuses_stored=change.refuses_stored,
        prunes=change.prunes,
        defaults=change.defaults,
        is_breaking=change.is_breaking,
    )


def _example(
    change: SchemaChange, before: CrdVersion, after: CrdVersion, crd: Manifest
) -> Manifest | None:
    """Return a whole object that is valid for the old schema and not for the new one."""
    found = samples.witness(before.schema, after.schema, change)
    if found is samples.NONE or not isinstance(found, Mapping):
        return None
    spec = mapping(crd.get("spec"))
    metadata = {"name": "example"}
    if scope(crd) == "Namespaced":
        metadata["namespace"] = "default"
    return {
        "apiVersion": f"{text(spec.get('group'))}/{after.name}",
        "kind": text(mapping(spec.get("names")).get("kind")),
        "metadata": metadata,
        **{key: value for key, value in found.items() if key not in _OBJECT_FIELDS},
    }


_OBJECT_FIELDS: Final = ("apiVersion", "kind", "metadata")
