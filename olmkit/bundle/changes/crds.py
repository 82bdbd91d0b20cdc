"""Compare the CRDs of two bundles by the rules of each generation of OLM.

OLM v1 refuses what crdify does not accept (release 1.11 of operator-controller; `enforcement: None`
turns that off). Its releases before 1.4 refuse more, which is a note. OLM v0 refuses a CRD that
loses a stored version or that does not fit objects in the cluster, unless a webhook converts them.
If a version that the old CSV owns is no longer served, that CSV fails during the upgrade. Both
generations fail if the API server refuses the CRD.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from olmkit.bundle.changes.change import GENERATIONS, V0, V1, Area, BundleChange, ChangeLevel
from olmkit.kube import objects
from olmkit.kube.crds import field_errors
from olmkit.kube.crds.changes import crd_versions, definitions, early_safety
from olmkit.kube.crds.changes.definitions import CrdChange
from olmkit.kube.objects import Manifest

_SHOWN = 3
CRD_KIND = "CustomResourceDefinition"
Owned = frozenset[tuple[str, str]]
"""Names of CRDs, with the versions that a CSV owns."""


def compare_manifests(
    old: Iterable[Manifest], new: Iterable[Manifest], *, owned: Owned = frozenset()
) -> Iterator[BundleChange]:
    """Yield the changes of all CRDs. `owned`: the CRDs and versions that the old CSV owns."""
    olds, news = _crds_by_name(old), _crds_by_name(new)
    for name, before in olds.items():
        if name in news:
            yield from compare_crd(before, news[name], owned=owned)
            yield from _early_refusal(before, news[name])
        else:
            yield _removed_crd(name)
    for name in news:
        if name not in olds:
            yield BundleChange(
                area=Area.CRDS,
                rule="crd-added",
                subject=name,
                message="the CustomResourceDefinition is new",
            )


def _early_refusal(old: Manifest, new: Manifest) -> Iterator[BundleChange]:
    """Yield a note if only releases of OLM v1 before 1.4 refuse a CRD."""
    if find_refused_by_v1(old, new):
        return
    found = [one.message for one in early_safety.refusals(old, new)]
    if found:
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        yield BundleChange(
            area=Area.CRDS,
            rule="refused-before-v1.4",
            subject=objects.name(new),
            message="releases of OLM v1 before 1.4 refuse the new CustomResourceDefinition: "
            + "; ".join(found[:_SHOWN])
            + more,
            olm=(V1,),
            hint="upgrade OLM v1 first, or set "
            "`spec.install.preflight.crdUpgradeSafety.enforcement: None` for this upgrade",
        )


def compare_crd(
    old: Manifest, new: Manifest, *, owned: Owned = frozenset(), examples: bool = True
) -> Iterator[BundleChange]:
    """Yield the changes of one CRD."""
    is_converted = crd_versions.converts(new)
    shared = {one.name for one in crd_versions.versions(new) if one.is_served} & {
        one.name for one in crd_versions.versions(old) if one.is_served
    }
    for one in definitions.compare_crds(old, new, examples=examples):
        is_checked = one.refuses_stored and one.version in shared and not is_converted
        yield _change(one, refused_by=_refusing_generations(one, owned, is_checked=is_checked))


def find_refused_by_v1(old: Manifest, new: Manifest) -> tuple[BundleChange, ...]:
    """Return the changes of one CRD that OLM v1 refuses whether objects exist or not."""
    return tuple(
        one
        for one in compare_crd(old, new, examples=False)
        if one.level is ChangeLevel.BLOCKS and V1 in one.olm
    )


def _refusing_generations(one: CrdChange, owned: Owned, *, is_checked: bool) -> tuple[str, ...]:
    if one.is_refused:
        return GENERATIONS
    is_unserved = one.rule in ("version-not-served", "version-removed")
    by_v0 = is_checked or (is_unserved and (one.crd, one.version) in owned)
    return tuple(name for name, refuses in ((V0, by_v0), (V1, not one.is_safe)) if refuses)


def _change(one: CrdChange, *, refused_by: tuple[str, ...]) -> BundleChange:
    matters = one.is_breaking or one.defaults
    otherwise = ChangeLevel.WARNS if matters else ChangeLevel.INFO
    return BundleChange(
        area=Area.CRDS,
        rule=one.rule,
        message=one.message,
        level=ChangeLevel.BLOCKS if refused_by else otherwise,
        olm=refused_by or GENERATIONS,
        subject=one.crd,
        place=field_errors.path(one.keys) if one.keys else "",
        version=one.version,
        old=one.old,
        new=one.new,
        example=one.example,
        hint=_hint(one, refused_by) or one.hint,
        otherwise=otherwise,
    )


def _hint(one: CrdChange, refused_by: tuple[str, ...]) -> str:
    if one.rule in ("version-not-served", "version-removed"):
        return (
            "the old ClusterServiceVersion owns this version and fails while it is replaced: "
            "release a version first that does not own it and still serves it"
            if V0 in refused_by
            else ""
        )
    if one.is_refused:
        return ""
    if V0 in refused_by:
        return (
            "serve the new schema as a new version with a conversion webhook, or release a version "
            "first that corrects existing objects"
        )
    if one.prunes:
        return "keep the field and deprecate it in its description"
    if V1 in refused_by and not one.is_breaking:
        return (
            "objects stay valid; OLM v1 accepts it with "
            "`spec.install.preflight.crdUpgradeSafety.enforcement: None`"
        )
    return ""


def _removed_crd(name: str) -> BundleChange:
    return BundleChange(
        area=Area.CRDS,
        rule="crd-removed",
        subject=name,
        message="the CustomResourceDefinition was removed: OLM v1 deletes it with all its objects, "
        "OLM v0 leaves them without an operator",
        level=ChangeLevel.BLOCKS,
        olm=(V1,),
        hint="keep the CRD in the bundle until no objects of its kind exist",
    )


def _crds_by_name(manifests: Iterable[Manifest]) -> Mapping[str, Manifest]:
    return {objects.name(one): one for one in manifests if objects.kind(one) == CRD_KIND}
