"""Explain why a catalog is not ready, or does not satisfy a Subscription.

A catalog that OLM cannot connect to stops every resolution of the namespaces that see it, also for
Subscriptions to other catalogs. The resolver's messages are parsed by their fixed fragments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import constraints, explanation, forms
from olmkit.olm.explain.explanation import Diagnosis, FaultOrigin, Readiness
from olmkit.olm.explain.workloads import images, pods
from olmkit.olm.resolver import report


def explain_catalog(snapshot: ClusterState, catalog: Manifest) -> Diagnosis | None:
    """Return why OLM cannot read the catalog; None if it can."""
    state = kinds.connection_state(catalog)
    if state == "READY":
        return None
    name, namespace = objects.name(catalog), objects.namespace(catalog)
    reason = kinds.reason(catalog)
    top = explanation.link(catalog, f"connection: {state or 'none yet'}")
    if reason in ("SpecInvalidError", "ConfigMapError"):
        words = explanation.first_line(kinds.message(catalog))
        return Diagnosis(
            cause="catalog-invalid",
            message=f"the catalog `{name}` is misconfigured: {words}",
            links=(top,),
            readiness=Readiness.BLOCKED,
        )
    served = tuple(snapshot.pods_of(namespace, {kinds.CATALOG_LABEL: name}))
    below = pods.explain_worst_pod(snapshot, served)
    if below is not None:
        below = _explain_catalog_image(snapshot, catalog, served, below)
        return Diagnosis(
            cause="catalog-not-ready",
            message=f"the catalog `{name}` is not ready: {below.message}",
            hint=below.hint,
            links=(top, *below.links),
            log=below.log,
            readiness=below.readiness,
            origin=below.origin,
        )
    if reason == "RegistryServerError":
        words = explanation.first_line(kinds.message(catalog))
        return Diagnosis(
            cause="catalog-not-ready",
            message=f"the catalog `{name}` cannot be served: {words}",
            hint=pods.refusal_hint(kinds.message(catalog), namespace),
            links=(top,),
            origin=FaultOrigin.WORLD,
        )
    address = text(kinds.spec(catalog).get("address"))
    if address and state in ("TRANSIENT_FAILURE", "CONNECTING", "IDLE"):
        return Diagnosis(
            cause="catalog-not-ready",
            message=f"the catalog `{name}` is not ready: nothing answers at `{address}`",
            hint="start its server, and check that the cluster can reach that address",
            links=(top,),
            readiness=Readiness.STUCK if state == "TRANSIENT_FAILURE" else Readiness.WAITING,
            origin=FaultOrigin.WORLD,
        )
    return Diagnosis(
        cause="catalog-not-ready",
        message=f"the catalog `{name}` is not ready yet",
        hint="" if kinds.status(catalog) else explanation.UNSEEN,
        links=(top,),
        readiness=Readiness.WAITING,
        origin=FaultOrigin.WORLD,
    )


def list_permission_hint(namespace: str) -> str:
    """Return a hint with the permission to list the catalogs of a namespace."""
    return (
        "bind the user to a role that allows `list` of `catalogsources.operators.coreos.com` in "
        f"namespace `{namespace}`, then repeat the command"
    )


def _explain_catalog_image(
    snapshot: ClusterState, catalog: Manifest, served: tuple[Manifest, ...], below: Diagnosis
) -> Diagnosis:
    """Return the image error of a failing catalog pod, if that is the problem."""
    below = images.use_catalog_secrets(below)
    content = mapping(mapping(kinds.spec(catalog).get("grpcPodConfig")).get("extractContent"))
    image = text(kinds.spec(catalog).get("image"))
    if content and below.cause == "container-crashes" and "`extract-content`" in below.message:
        return replace(
            below,
            hint=f"correct `extractContent` of the CatalogSource: the image `{image}` must have "
            f"`{text(content.get('catalogDir'))}` and `{text(content.get('cacheDir'))}`",
        )
    why = "" if content else _find_no_catalog_evidence(snapshot, served)
    if not why:
        return below
    return replace(
        below,
        message=f"the image `{image}` does not serve a catalog: {why}",
        hint="name the image of a catalog; one that holds only files needs "
        "`grpcPodConfig.extractContent`, which `olmkit install --catalog` sets",
        readiness=Readiness.BLOCKED,
    )


def _find_no_catalog_evidence(snapshot: ClusterState, served: tuple[Manifest, ...]) -> str:
    """Return the evidence that an image is not a catalog image; empty if there is none.

    A catalog server does not exit by itself, and OLM probes it with a program in its image.
    """
    for pod in served:
        for one in map(mapping, sequence(kinds.status(pod).get("containerStatuses"))):
            states = (mapping(one.get(key)).get("terminated") for key in ("state", "lastState"))
            if any(mapping(state).get("exitCode") == 0 for state in states):
                return "its program ends with exit code 0"
        for event in snapshot.events_of(pod):
            words = text(event.get("message"))
            if "grpc_health_probe" in words and "not found" in words:
                return "it has no `grpc_health_probe`"
    return ""


def explain_resolution(snapshot: ClusterState, subscription: Manifest, message: str) -> Diagnosis:
    """Return what the message of a failed resolution means.

    It may be about another Subscription: all of a namespace are resolved together.
    """
    facts = snapshot.conflict
    if not facts and message.startswith(forms.UNSATISFIABLE):
        facts = constraints.parse_facts(message)
    message = message.removeprefix(forms.UNSATISFIABLE).strip("[]")
    for pattern, explain in _FRAGMENTS:
        found = pattern.search(message)
        if found is not None:
            finding = explain(snapshot, subscription, found.groupdict())
            return _add_facts(finding, facts, is_whole=bool(snapshot.conflict))
    reason = explanation.first_line(message) or "no reason is given"
    finding = Diagnosis(
        cause="resolution-failed", message=f"OLM cannot resolve the installation: {reason}"
    )
    return _add_facts(finding, facts, is_whole=bool(snapshot.conflict))


_CONCLUDED = ("missing-dependency", "resolution-failed")


def _add_facts(finding: Diagnosis, facts: Sequence[str], *, is_whole: bool) -> Diagnosis:
    """Add the facts that contradict each other to the finding.

    `is_whole`: they come from the catalogs, and name the bundles that exclude each other.
    """
    if finding.readiness is Readiness.WAITING:
        return finding
    if finding.cause not in _CONCLUDED:
        return replace(finding, details=tuple(facts)) if len(facts) > 1 else finding
    excludes = any(" provide" in one or " of the package " in one for one in facts)
    if not facts or not (is_whole or excludes):
        return finding
    if any("no catalog offers" in one for one in facts):
        return replace(finding, message=report.join_sentences(facts))
    message = "OLM cannot resolve the installation: requirements exclude each other"
    if not is_whole:
        message += "; the catalogs, which cannot be read here, would show which ones"
    return replace(
        finding,
        cause="dependency-conflict",
        message=message,
        details=tuple(facts),
        hint="change the channel or the version of a Subscription, remove an operator that "
        "excludes the others, or use another namespace",
        readiness=Readiness.BLOCKED,
    )


Explain = Callable[[ClusterState, Manifest, Mapping[str, str]], Diagnosis]


def _explain_broken_catalog(
    snapshot: ClusterState, subscription: Manifest, part: Mapping[str, str]
) -> Diagnosis:
    namespace, name = part["namespace"], part["name"]
    catalog = snapshot.catalog(name, namespace)
    below = None if catalog is None else explain_catalog(snapshot, catalog)
    if below is not None:
        key = kinds.subscription_key(subscription)
        is_other = (key.catalog, key.catalog_namespace) != (name, namespace)
        reason = "; it stops every Subscription that sees it" if is_other else ""
        return replace(below, message=below.message + reason)
    if catalog is not None and "no registry client established" in part["rest"]:
        return Diagnosis(
            cause="waiting",
            message=f"the catalog `{name}` has just become ready",
            readiness=Readiness.WAITING,
        )
    return Diagnosis(
        cause="catalog-not-ready",
        message=f"the catalog `{name}` in namespace `{namespace}` does not answer: "
        f"{explanation.first_line(part['rest'])}",
        hint="repair or delete the catalog: while it fails, it stops every Subscription that "
        "sees it",
        origin=FaultOrigin.WORLD,
    )


def _explain_missing(what: str) -> Explain:
    def explain(
        snapshot: ClusterState, subscription: Manifest, part: Mapping[str, str]
    ) -> Diagnosis:
        asking = snapshot.named_subscription(part["subscription"]) or subscription
        key = kinds.subscription_key(asking)
        package, channel = part.get("package", ""), part.get("channel", "")
        where = f"channel `{channel}` of `{package}`" if channel else f"the package `{package}`"
        subjects = {
            "catalog": _describe_missing_catalog(snapshot, asking),
            "package": f"the catalog `{key.catalog}` has no package `{package}`",
            "channel": f"the package `{package}` has no channel `{channel}` "
            f"in the catalog `{key.catalog}`",
            "name": f"{where} has no `{part.get('csv', '')}`",
        }
        hints = {
            "catalog": "correct `source` and `sourceNamespace` of the Subscription",
            "package": "correct the name of the package, or choose another catalog",
            "channel": f"correct `channel` of the Subscription `{objects.name(asking)}`",
            "name": f"correct `startingCSV` of the Subscription `{objects.name(asking)}`, or "
            "delete it and install again",
        }
        is_other = part["subscription"] != objects.name(subscription)
        other = f"; Subscription `{part['subscription']}` requests it, and blocks the namespace"
        return Diagnosis(
            cause=f"no-such-{'version' if what == 'name' else what}",
            message=subjects[what] + (other if is_other else ""),
            hint=hints[what],
            readiness=Readiness.BLOCKED,
        )

    return explain


def _describe_missing_catalog(snapshot: ClusterState, subscription: Manifest) -> str:
    key = kinds.subscription_key(subscription)
    found = snapshot.catalog(key.catalog, key.catalog_namespace)
    if found is None and snapshot.lists_catalogs(key.catalog_namespace):
        none = "" if snapshot.catalogs else ", and the cluster has no other"
        return (
            f"there is no CatalogSource `{key.catalog}` in namespace `{key.catalog_namespace}`"
            f"{none if snapshot.lists_catalogs() else ''}"
        )
    return (
        f"there is no catalog `{key.catalog}` that namespace "
        f"`{objects.namespace(subscription)}` sees, or it is empty"
    )


def _explain_dependency(_: ClusterState, __: Manifest, part: Mapping[str, str]) -> Diagnosis:
    needed = f"an operator {part['need'].strip()}".rstrip()
    return Diagnosis(
        cause="missing-dependency",
        message=f"`{part['bundle']}` needs {needed}, and no catalog offers one",
        hint="add a catalog that has it, or install that operator first",
        readiness=Readiness.BLOCKED,
    )


def _explain_csv_without_subscription(
    snapshot: ClusterState, _: Manifest, part: Mapping[str, str]
) -> Diagnosis:
    name = part["csv"]
    csv = snapshot.csv(name)
    successor = next(
        (one for one in snapshot.own_csvs() if kinds.spec(one).get("replaces") == name), None
    )
    if csv is None or successor is not None:
        # The condition is from the moment in which OLM replaced that version.
        return Diagnosis(
            cause="waiting",
            message=f"OLM has not yet resolved again since the ClusterServiceVersion `{name}` "
            "was deleted"
            if successor is None
            else f"OLM replaces `{name}` with `{objects.name(successor)}`",
            readiness=Readiness.WAITING,
        )
    return Diagnosis(
        cause="csv-without-subscription",
        message=f"the ClusterServiceVersion `{name}` exists and belongs to no Subscription",
        hint=f"delete it: `kubectl delete csv -n {snapshot.namespace} {name}`; "
        "OLM does not adopt it",
        links=(explanation.link(csv, kinds.phase(csv)),),
        readiness=Readiness.BLOCKED,
    )


def _explain_several_heads(
    _: ClusterState, subscription: Manifest, part: Mapping[str, str]
) -> Diagnosis:
    channel, package = part["channel"].strip('"'), part["package"].strip('"')
    key = kinds.subscription_key(subscription)
    place = f"catalogsource:{key.catalog_namespace}/{key.catalog}"
    return Diagnosis(
        cause="several-heads",
        message=f"channel `{channel}` of package `{package}` has several heads: {part['chains']}",
        hint="let one of them replace or skip the other, and publish the catalog again; "
        f"`olmkit catalog graph {place} {package}` draws its channels",
        readiness=Readiness.BLOCKED,
    )


def _explain_no_head(_: ClusterState, __: Manifest, part: Mapping[str, str]) -> Diagnosis:
    return Diagnosis(
        cause="no-head",
        message=f"no upgrade path leads to a newest version: "
        f"{explanation.first_line(part['words'])}",
        hint="remove the cycle: no entry of a channel may replace, directly or indirectly, "
        "what replaces it",
        readiness=Readiness.BLOCKED,
    )


def _explain_api_conflict(_: ClusterState, __: Manifest, part: Mapping[str, str]) -> Diagnosis:
    return Diagnosis(
        cause="api-provided-twice",
        message=f"two operators would provide {part['api']}: {part['both'].strip()}",
        hint="uninstall the other one, or use another namespace",
        readiness=Readiness.BLOCKED,
    )


def _explain_duplicate_package(_: ClusterState, __: Manifest, part: Mapping[str, str]) -> Diagnosis:
    return Diagnosis(
        cause="package-wanted-twice",
        message=f"package `{part['package']}` is requested twice in this namespace: "
        f"{part['both'].strip()}",
        hint="keep one Subscription, and no ClusterServiceVersion without one",
        readiness=Readiness.BLOCKED,
    )


def _explain_deprecated_bundle(_: ClusterState, __: Manifest, part: Mapping[str, str]) -> Diagnosis:
    return Diagnosis(
        cause="bundle-deprecated",
        message=f"the bundle `{part['bundle']}` is deprecated and cannot be installed",
        hint="choose another version or channel",
        readiness=Readiness.BLOCKED,
    )


def _explain_invalid_constraint(
    snapshot: ClusterState, _: Manifest, part: Mapping[str, str]
) -> Diagnosis:
    reason = (
        "a bundle of a catalog declares a dependency that OLM cannot read: "
        f"{explanation.first_line(part['words'])}"
    )
    return Diagnosis(
        cause="bad-constraint",
        message=snapshot.conflict[0] if len(snapshot.conflict) == 1 else reason,
        hint="correct the bundle, and publish the catalog again: it stops every Subscription "
        "that might select it",
        readiness=Readiness.BLOCKED,
    )


def _explain_installed_csvs(
    snapshot: ClusterState, _: Manifest, part: Mapping[str, str]
) -> Diagnosis:
    """Explain what is wrong with the CSVs of the namespace, which OLM reads as a catalog."""
    found = re.search(r'csv (?:"(?P<quoted>[^"]+)"|[^/\s]+/(?P<name>\S+))', part["rest"])
    csv = snapshot.csv(found["quoted"] or found["name"]) if found else None
    return Diagnosis(
        cause="csvs-unusable",
        message="OLM cannot continue from the ClusterServiceVersions of namespace "
        f"`{part['namespace']}`: {explanation.first_line(part['rest'])}",
        hint="correct that ClusterServiceVersion, or uninstall it; until then nothing of the "
        "namespace is installed or upgraded",
        links=() if csv is None else (explanation.link(csv, kinds.phase(csv)),),
    )


def _explain_operator_groups(_: ClusterState, __: Manifest, part: Mapping[str, str]) -> Diagnosis:
    return Diagnosis(
        cause="operator-groups",
        message=f"the namespace needs exactly one OperatorGroup and has {part['count']}",
        readiness=Readiness.BLOCKED,
    )


# In this order: a message may contain several of them, the cause before its consequences.
_FRAGMENTS: tuple[tuple[re.Pattern[str], Explain], ...] = (
    (forms.BROKEN_INSTALLED, _explain_installed_csvs),
    (forms.BROKEN_SOURCE, _explain_broken_catalog),
    (forms.GROUPS, _explain_operator_groups),
    (forms.HEADS, _explain_several_heads),
    (forms.NO_HEADS, _explain_no_head),
    (forms.UNREAD, _explain_invalid_constraint),
    (forms.NO_CATALOG, _explain_missing("catalog")),
    (forms.NO_PACKAGE, _explain_missing("package")),
    (forms.NO_CHANNEL, _explain_missing("channel")),
    (forms.NO_NAME, _explain_missing("name")),
    (
        re.compile(
            forms.REQUIRES
            + r" (?P<need>.*?)(?=, bundle |, subscription |, clusterserviceversion |, \S+/\S|$)",
            re.DOTALL,
        ),
        _explain_dependency,
    ),
    (re.compile(forms.ORPHAN + "subscription"), _explain_csv_without_subscription),
    (re.compile(r"(?P<both>[^,]*(?:, [^,]*)?)" + forms.PROVIDE), _explain_api_conflict),
    (
        re.compile(rf"(?P<both>[^,]*){forms.SAME_PACKAGE}(?P<package>[^,\s]+)"),
        _explain_duplicate_package,
    ),
    (re.compile(forms.DEPRECATED), _explain_deprecated_bundle),
)
