"""Rules about the APIs of a bundle: the descriptions in the CSV compared with the CRDs.

OLM compares the two before it installs anything, so a mismatch appears only in the cluster, as a
CSV that remains in the phase Pending.
"""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.base import texts
from olmkit.base.diagnostics import Related, Severity
from olmkit.bundle.model import GVK, ApiDescription, Bundle, CustomResourceDefinition
from olmkit.kube import objects
from olmkit.rules import schemas
from olmkit.rules.engine import SOUND_SUITE, Finding, rule


@rule("CSV013", "owned-name")
def owned_name(bundle: Bundle) -> Iterator[Finding]:
    """The name of an owned CRD has no dot.

    Why: the name is `<plural>.<group>`; without a dot, the group is missing.

    Fix: write the `metadata.name` of the CRD.
    """
    csv = bundle.csv
    for api in csv.owned_crds if csv else ():
        if csv is not None and "." not in api.name and api.name:
            yield Finding(
                f"couldn't parse plural.group from crd name: {texts.shorten(api.name)}",
                at=csv.at(*api.keys, "name"),
                hint="write the `metadata.name` of the CRD, `<plural>.<group>`",
            )


@rule("CSV025", "owned-crd-missing")
def owned_crd_missing(bundle: Bundle) -> Iterator[Finding]:
    """An owned API has no CRD in the bundle.

    Why: OLM waits for the CRD, and the operator is never installed.

    Fix: add the CRD to the bundle, or correct name, version and kind in the CSV.
    """
    csv = bundle.csv
    if csv is None:
        return
    defined = {gvk for crd in bundle.crds for gvk in crd.gvks}
    for api in csv.owned_crds:
        if api.gvk not in defined:
            yield Finding(
                f'owned CRD "{api.gvk}" not found in bundle "{csv.name}"',
                at=csv.at(*api.keys),
                hint=_nearest(api.gvk, defined),
            )


@rule("CSV026", "crd-not-owned")
def crd_not_owned(bundle: Bundle) -> Iterator[Finding]:
    """The CSV does not describe a CRD of the bundle.

    Why: OLM installs the CRDs that the CSV owns; its behavior for other CRDs of the bundle
    is undefined.

    Fix: describe it at `spec.customresourcedefinitions.owned`, or remove the CRD.
    """
    csv = bundle.csv
    if csv is None or not csv.spec:
        return
    described = {api.gvk for api in csv.owned_crds}
    defined = {gvk for crd in bundle.crds for gvk in crd.gvks}
    known = {(gvk.group, gvk.kind) for gvk in described & defined}
    for crd in bundle.crds:
        for index, gvk in enumerate(crd.gvks):
            if gvk not in described and (gvk.group, gvk.kind) not in known:
                yield Finding(
                    f'CRD "{gvk}" is present in bundle "{csv.name}" but not defined in CSV',
                    at=crd.at("spec", "versions", index, "name"),
                    hint="describe it at `spec.customresourcedefinitions.owned` of the CSV",
                )


@rule("CSV029", "owned-twice")
def owned_twice(bundle: Bundle) -> Iterator[Finding]:
    """The CSV describes an owned API twice.

    Why: `operator-sdk` then reports that the CRD is missing, and the console shows the API
    twice.

    Fix: remove one of the entries.
    """
    csv = bundle.csv
    seen: dict[GVK, ApiDescription] = {}
    for api in csv.owned_crds if csv else ():
        first = seen.setdefault(api.gvk, api)
        if csv is not None and first is not api:
            yield Finding(
                f'owned CRD "{api.gvk}" is listed twice',
                at=csv.at(*api.keys),
                hint="remove one of the entries",
                related=(Related(csv.at(*first.keys), "first listed here"),),
            )


@rule("CSV080", "described-name", suite=SOUND_SUITE)
def described_name(bundle: Bundle) -> Iterator[Finding]:
    """The name of an API description differs from the name of its CRD.

    Why: `opm render` compares the whole name, including the plural, and rejects the bundle.
    Names of required CRDs must also have a dot.

    Fix: write the `metadata.name` of the CRD.
    """
    csv = bundle.csv
    if csv is None:
        return
    names = {gvk: crd for crd in bundle.crds for gvk in crd.gvks}
    for api in csv.owned_crds:
        crd = names.get(api.gvk)
        if crd is not None and crd.name and api.name != crd.name:
            yield Finding(
                f"owned CRD `{api.name}` is named `{crd.name}` in the bundle",
                at=csv.at(*api.keys, "name"),
                hint=f"write `{crd.name}`",
                related=(Related(crd.at("metadata", "name"), "the CRD"),),
            )
    for api in csv.required_crds:
        if "." not in api.name:
            yield Finding(
                f"required CRD `{api.name}` has no group in its name",
                at=csv.at(*api.keys, "name"),
                hint="write `<plural>.<group>`",
            )


@rule("CSV081", "owned-and-required", severity=Severity.WARNING, suite=SOUND_SUITE)
def owned_and_required(bundle: Bundle) -> Iterator[Finding]:
    """An API is both owned and required.

    Why: the operator provides the API itself, so the requirement has no effect. Usually a
    different API was intended.

    Fix: remove it from `required`.
    """
    csv = bundle.csv
    if csv is None:
        return
    owned = {api.gvk: api for api in csv.owned_crds}
    for api in csv.required_crds:
        other = owned.get(api.gvk)
        if other is not None:
            yield Finding(
                f"`{api.name}` is both owned and required",
                at=csv.at(*api.keys),
                hint="remove it from `required`",
                related=(Related(csv.at(*other.keys), "owned here"),),
            )


@rule("CSV082", "descriptor-path", severity=Severity.WARNING, suite=SOUND_SUITE)
def descriptor_path(bundle: Bundle) -> Iterator[Finding]:
    """The path of a descriptor does not match a field of the schema.

    Why: the console shows no value for it.

    Fix: correct the path. It starts below `spec` or `status`; the first element of a list
    is `[0]`.
    """
    csv = bundle.csv
    if csv is None:
        return
    for api in csv.owned_crds:
        schema = schemas.schema_of(bundle, api.gvk)
        for section, root in (("specDescriptors", "spec"), ("statusDescriptors", "status")):
            for index, item in enumerate(objects.sequence(api.value.get(section))):
                path = objects.scalar_text(objects.mapping(item).get("path"))
                if schema and path and not schemas.leads_somewhere(schema, f".{root}.{path}"):
                    yield Finding(
                        f"`{path}` is not in the `{root}` of {api.gvk.kind}'s schema",
                        at=csv.at(*api.keys, section, index, "path"),
                    )


@rule("CRD001", "crd-repeated")
def crd_repeated(bundle: Bundle) -> Iterator[Finding]:
    """Two CRDs define the same API.

    Why: only one of the two definitions takes effect, and the choice is undefined.

    Fix: keep one of them.
    """
    csv = bundle.csv
    seen: dict[GVK, tuple[CustomResourceDefinition, int]] = {}
    for crd in bundle.crds:
        for index, gvk in enumerate(crd.gvks):
            first = seen.setdefault(gvk, (crd, index))
            if first != (crd, index):
                place = first[0].at("spec", "versions", first[1])
                yield Finding(
                    f'duplicate CRD "{gvk}" in bundle "{csv.name if csv else ""}"',
                    at=crd.at("spec", "versions", index),
                    hint="keep one of the two",
                    related=(Related(place, "first defined here"),),
                )


def _nearest(gvk: GVK, defined: set[GVK]) -> str:
    for other in sorted(defined):
        if other.kind == gvk.kind:
            return f"the bundle has `{other.kind}` of `{other.group}/{other.version}`"
    for other in sorted(defined):
        if other.group == gvk.group and other.version == gvk.version:
            return f"the bundle has kind `{other.kind}` of that group and version"
    return "add the CRD to the manifests, or remove the entry"
