"""Check whether a cluster would reject objects of a bundle, before OLM installs it.

Pure functions of a bundle's manifests and of facts about the cluster. Every refusal is certain: OLM
or the API server refuses it too, in some cases after the old version was stopped. Other problems
may still be refused.

Sources: OLM v0's checks of InstallPlans and ClusterServiceVersions (install modes, owners of
APIs, requirements, `validateExistingCRs`, `ensureNoDataLoss`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.base.versions import Version
from olmkit.bundle.changes import crds as crd_changes
from olmkit.bundle.changes.change import V0, ChangeLevel, for_generations
from olmkit.kube import objects
from olmkit.kube.crds import instances
from olmkit.kube.crds.changes import crd_versions, definitions
from olmkit.kube.objects import GVK, Manifest, mapping, sequence, text
from olmkit.olm import kinds, missing_apis, webhook_fit
from olmkit.olm.explain import conversions, explanation

Kind = tuple[str, str]
# A server prunes fields that a schema does not have, so they are not errors of an object.
_PRUNED = "is not in the schema"
_NAMED = 3


@dataclass(frozen=True, slots=True)
class BundleRefusal:
    """The reason why a cluster rejects a bundle: the cause as in `why`, and a message."""

    cause: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """The input of the checks. `version` is None if unknown.

    `crds` are those that the bundle contains or requires, as they exist in the cluster; `instances`
    the objects by CRD and version. `unconverted` are the CRDs whose objects cannot be read, with
    the message about their conversion webhook. `unserved`: kinds that the server does not serve.
    `groups` and `csvs` are those of all namespaces, as far as the user may read them. `denied`
    describes what the service account of the OperatorGroup may not do. `is_whole`: no other bundle
    is installed with these, so a missing API remains missing.
    """

    namespace: str
    group: Manifest = field(default_factory=dict)
    version: Version | None = None
    crds: Mapping[str, Manifest] = field(default_factory=dict)
    instances: Mapping[tuple[str, str], tuple[Manifest, ...]] = field(default_factory=dict)
    unconverted: Mapping[str, str] = field(default_factory=dict)
    unserved: frozenset[Kind] = frozenset()
    groups: tuple[Manifest, ...] = ()
    csvs: tuple[Manifest, ...] = ()
    denied: tuple[str, ...] = ()
    is_whole: bool = False


def refusals(
    manifests: Iterable[Manifest], facts: ClusterFacts, *, replaces: str = ""
) -> Iterator[BundleRefusal]:
    """Yield each reason why the cluster would refuse the manifests of one or more bundles.

    `replaces` is the ClusterServiceVersion that they replace.
    """
    listed = list(manifests)
    csvs = [one for one in listed if objects.kind(one) == kinds.CSV[1]]
    crds = {objects.name(one): one for one in listed if objects.kind(one) == kinds.CRD[1]}
    for csv in csvs:
        for one in webhook_fit.refusals(csv):
            yield BundleRefusal("csv-invalid", one.message, one.hint)
        yield from _check_install_modes(csv, facts)
        yield from _check_cluster_version(csv, facts)
        yield from _check_owners(csv, facts, replaces)
        yield from _check_operator_groups(csv, facts)
        yield from _check_requirements(csv, facts, crds)
    converted = {name for csv in csvs for name in kinds.converted_crds(csv)}
    for name, crd in crds.items():
        if facts.crds.get(name):
            yield from _check_crd(crd, facts.crds[name], facts)
        if name in facts.unconverted and name not in converted and not crd_versions.converts(crd):
            yield _report_conversion_failure(name, facts.unconverted[name])
    yield from _check_kinds(listed, crds, facts)
    if facts.denied:
        account = text(kinds.spec(facts.group).get("serviceAccountName"))
        yield BundleRefusal(
            "service-account-forbidden",
            f"the OperatorGroup's service account `{facts.namespace}/{account}` may not "
            f"{_first_of(facts.denied)}",
            "bind a role to it that allows what the operator contains",
        )


def crd_notes(
    manifests: Iterable[Manifest], crds: Mapping[str, Manifest], csv: Manifest | None
) -> Iterator[str]:
    """Yield a line for each CRD change of a bundle that OLM v0 may accept.

    `csv` is the installed ClusterServiceVersion.
    """
    owned = kinds.owned_versions(csv)
    for new in manifests:
        old = crds.get(objects.name(new)) if objects.kind(new) == kinds.CRD[1] else None
        if not old:
            continue
        found = crd_changes.compare_crd(old, new, owned=owned, examples=False)
        for one in for_generations(found, (V0,)):
            if one.level is not ChangeLevel.INFO:
                yield f"CustomResourceDefinition `{objects.name(new)}`: {one.message}"


def shared_versions(new: Manifest, old: Manifest) -> dict[str, Mapping[str, Any]]:
    """Return the versions that both CRDs serve and whose schema is new; OLM v0 checks these."""
    before = {one.name for one in crd_versions.versions(old) if one.is_served}
    return {
        one.name: one.schema
        for one in crd_versions.versions(new)
        if one.is_served and one.name in before
    }


def _check_install_modes(csv: Manifest, facts: ClusterFacts) -> Iterator[BundleRefusal]:
    if not facts.group:
        return
    targets = kinds.target_namespaces(facts.group)
    supported = kinds.supported_modes(csv)
    needed = kinds.required_modes(targets, facts.namespace)
    lacking = [mode for mode in needed if mode not in supported]
    if lacking:
        listed = ", ".join(f"`{mode}`" for mode in supported) or "none"
        yield BundleRefusal(
            "install-mode-not-supported",
            f"`{objects.name(csv)}` does not support the install mode `{lacking[0]}` that "
            f"OperatorGroup `{objects.name(facts.group)}` of namespace `{facts.namespace}` needs",
            f"it supports {listed}: change the OperatorGroup first, or use another namespace",
        )


def _check_cluster_version(csv: Manifest, facts: ClusterFacts) -> Iterator[BundleRefusal]:
    least = text(kinds.spec(csv).get("minKubeVersion"))
    if not least or facts.version is None:
        return
    wanted, found = Version.read(least.removeprefix("v")), facts.version
    if wanted is None:
        yield BundleRefusal(
            "cluster-too-old",
            f"the `minKubeVersion` of `{objects.name(csv)}` is not a version: `{least}`",
        )
    elif (found.major, found.minor, found.patch) < (wanted.major, wanted.minor, wanted.patch):
        yield BundleRefusal(
            "cluster-too-old",
            f"`{objects.name(csv)}` needs Kubernetes {least}, and the cluster has {found}",
            "upgrade the cluster first",
        )


def _check_owners(csv: Manifest, facts: ClusterFacts, replaces: str) -> Iterator[BundleRefusal]:
    chain = {objects.name(csv), replaces, text(kinds.spec(csv).get("replaces"))}
    own = set(kinds.owned_crds(csv))
    for other in facts.csvs:
        near = objects.namespace(other) == facts.namespace and not kinds.is_copy(other)
        if not near or objects.name(other) in chain or kinds.is_going(other):
            continue
        common = own.intersection(kinds.owned_crds(other))
        if common:
            yield BundleRefusal(
                "crd-owned-elsewhere",
                f"{_first_of(sorted(common))} of `{objects.name(csv)}` belongs to "
                f"`{objects.name(other)}` in the same namespace",
                "uninstall that operator, or use another namespace",
            )


def _check_operator_groups(csv: Manifest, facts: ClusterFacts) -> Iterator[BundleRefusal]:
    """Yield each conflict of OperatorGroups that share a namespace and provide the same API."""
    provided = set(_find_provided_apis(csv))
    if not facts.group or provided <= _annotated_apis(facts.group):
        return
    for other in facts.groups:
        if objects.namespace(other) == facts.namespace:
            continue
        common = provided & _annotated_apis(other)
        if common and _intersect(kinds.target_namespaces(facts.group),
                                 kinds.target_namespaces(other)):  # fmt: skip
            yield BundleRefusal(
                "api-owned-elsewhere",
                f"{explanation.subject(other)} watches the same namespaces and provides "
                f"{_first_of(sorted(common))} already",
                "uninstall that operator, or let the OperatorGroups watch different namespaces",
            )


def _find_provided_apis(csv: Manifest) -> Iterator[str]:
    """Yield the APIs of a CSV as OLM writes them to an OperatorGroup: `Kind.version.group`."""
    defined = mapping(kinds.spec(csv).get("customresourcedefinitions"))
    for one in map(mapping, sequence(defined.get("owned"))):
        group = text(one.get("name")).partition(".")[2]
        yield f"{text(one.get('kind'))}.{text(one.get('version'))}.{group}"


def _annotated_apis(group: Manifest) -> set[str]:
    return set(filter(None, objects.annotations_of(group).get("olm.providedAPIs", "").split(",")))


def _intersect(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    return "" in left or "" in right or bool(set(left) & set(right))


def _check_requirements(
    csv: Manifest, facts: ClusterFacts, crds: Mapping[str, Manifest]
) -> Iterator[BundleRefusal]:
    """Yield required APIs that neither exist nor come with the same InstallPlan."""
    required = mapping(kinds.spec(csv).get("customresourcedefinitions")).get("required")
    for one in map(mapping, sequence(required)):
        name, version = text(one.get("name")), text(one.get("version"))
        existing = crds.get(name, facts.crds.get(name))
        if not facts.is_whole or (existing is not None and not existing):
            continue
        if existing is None or (version and not _serves(existing, version)):
            lacks = f" in version `{version}`" if existing is not None else ""
            yield BundleRefusal(
                "missing-api",
                f"`{objects.name(csv)}` needs the CustomResourceDefinition `{name}`{lacks}, "
                "which the cluster does not have",
                "install the operator that provides it first",
            )
    for one in map(mapping, sequence(kinds.spec(csv).get("nativeAPIs"))):
        group, version = text(one.get("group")), text(one.get("version"))
        kind = (f"{group}/{version}" if group else version, text(one.get("kind")))
        if kind in facts.unserved:
            missing = missing_apis.explain(GVK.parse(*kind))
            yield BundleRefusal(
                missing.cause,
                f"`{objects.name(csv)}` needs `{kind[1]}` of `{kind[0]}`, {missing.why}",
                missing.hint,
            )


def _serves(crd: Manifest, version: str) -> bool:
    return any(one.is_served and one.name == version for one in crd_versions.versions(crd))


def _check_crd(new: Manifest, old: Manifest, facts: ClusterFacts) -> Iterator[BundleRefusal]:
    name = objects.name(new)
    for one in definitions.compare_crds(old, new, examples=False):
        if one.is_refused and not one.loses_stored:
            yield BundleRefusal(
                "install-plan-failed",
                f"the API server refuses the new CustomResourceDefinition `{name}`: {one.message}",
                one.hint,
            )
    lost = crd_versions.removed_stored_versions(old, new)
    if lost:
        yield BundleRefusal(
            "crd-loses-version",
            f"the new CustomResourceDefinition `{name}` has no version {_first_of(lost)}, in "
            "which objects are stored",
            "migrate the objects and `status.storedVersions` first",
        )
    if crd_versions.converts(new):
        return
    found = (
        fault
        for version, schema in shared_versions(new, old).items()
        for one in facts.instances.get((name, version), ())
        for fault in _misfits(one, schema)
    )
    faults = list(dict.fromkeys(found))  # each version of a CRD has the same objects
    if faults:
        yield BundleRefusal(
            "crd-rejects-objects",
            f"the new CustomResourceDefinition `{name}` refuses existing objects: "
            f"{_first_of(faults)}",
            "correct or delete those objects first",
        )


def _report_conversion_failure(name: str, message: str) -> BundleRefusal:
    """Report that OLM cannot read the objects, which it does before it applies the new CRD."""
    reason = conversions.refusal(message) or message
    return BundleRefusal(
        "conversion-webhook-away",
        f"OLM cannot check the objects of `{name}` against the new CustomResourceDefinition, "
        f"because nothing converts them: {explanation.first_line(reason)}",
        conversions.hint(reason) or "let the webhook answer first: read the logs of its pods",
    )


def _misfits(one: Manifest, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the first place where a stored object does not match a schema."""
    for keys, why in instances.differences(one, schema, by_server=False):
        if why != _PRUNED:
            path = ".".join(map(str, keys))
            yield f"{explanation.subject(one)}: {f'`{path}` ' if path else ''}{why}"
            return


def _check_kinds(
    manifests: Iterable[Manifest], crds: Mapping[str, Manifest], facts: ClusterFacts
) -> Iterator[BundleRefusal]:
    own = {text(kinds.spec(crd).get("group")) for crd in crds.values()}
    unserved: dict[tuple[str, str], list[str]] = {}
    for one in manifests:
        kind = (text(one.get("apiVersion")), objects.kind(one))
        if kind[1] == kinds.CSV[1]:
            continue  # OLM reads it by its kind, and creates it in its version
        if kind in facts.unserved and kind[0].partition("/")[0] not in own:
            unserved.setdefault(kind, []).append(f"`{objects.name(one)}`")
    for (version, name), names in unserved.items():
        missing = missing_apis.explain(GVK.parse(version, name))
        yield BundleRefusal(
            missing.cause,
            f"the bundle contains the {name} {_first_of(names, ', ')} of `{version}`, "
            f"{missing.why}",
            missing.hint,
        )


def _first_of(values: Iterable[str], comma: str = "; ") -> str:
    """Return the first of the values, and the number of further ones."""
    listed = list(values)
    more = f"{comma}and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return comma.join(listed[:_NAMED]) + more
