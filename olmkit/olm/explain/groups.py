"""Explain problems with OperatorGroups, about which OLM reports little or nothing."""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.kube import objects
from olmkit.kube.objects import text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Diagnosis, Readiness


def explain_groups(snapshot: ClusterState) -> Diagnosis | None:
    """Explain why OLM installs nothing: not exactly one OperatorGroup, or no namespaces."""
    count = len(snapshot.groups)
    if count == 1:
        return _explain_selector(snapshot)
    if count == 0:
        return Diagnosis(
            cause="no-operator-group",
            message=f"namespace `{snapshot.namespace}` has no OperatorGroup, "
            "so OLM installs nothing in it",
            hint="create one that names the namespaces to watch in `targetNamespaces`; or "
            "uninstall the operator and install it with `olmkit install`, which creates one",
            readiness=Readiness.BLOCKED,
        )
    names = ", ".join(f"`{objects.name(group)}`" for group in snapshot.groups)
    return Diagnosis(
        cause="several-operator-groups",
        message=f"namespace `{snapshot.namespace}` has {count} OperatorGroups, "
        f"so OLM installs nothing in it: {names}",
        hint="delete all but one",
        links=tuple(
            explanation.link(group, f"watches {', '.join(kinds.target_namespaces(group)) or 'all'}")
            for group in snapshot.groups
        ),
        readiness=Readiness.BLOCKED,
    )


def _explain_selector(snapshot: ClusterState) -> Diagnosis | None:
    group = snapshot.groups[0]
    if not kinds.selects_nothing(group):
        return None
    name, wanted = objects.name(group), kinds.selector(group)
    return Diagnosis(
        cause="no-target-namespace",
        message=f"no namespace matches the selector `{wanted}` of OperatorGroup `{name}`, "
        "so OLM installs nothing in its namespace",
        hint="label the namespaces to watch, or name them in `targetNamespaces` of the "
        "OperatorGroup",
        links=(explanation.link(group, f"selects {wanted}: no namespace"),),
        readiness=Readiness.BLOCKED,
    )


@dataclass(frozen=True, slots=True)
class AbsentTargets:
    """Namespaces that the OperatorGroup names and that do not exist; `is_all`: it has no others."""

    message: str
    hint: str
    is_all: bool


def find_absent_targets(snapshot: ClusterState) -> AbsentTargets | None:
    """Return the target namespaces that do not exist; None if all do.

    OLM installs the operator all the same, and reports nothing.
    """
    absent = snapshot.absent_targets
    if not absent or len(snapshot.groups) != 1:
        return None
    name = objects.name(snapshot.groups[0])
    listed = ", ".join(f"`{one}`" for one in absent)
    are = "do not exist" if len(absent) > 1 else "does not exist"
    each = "create each" if len(absent) > 1 else "create it"
    return AbsentTargets(
        message=f"the namespace{'s' if len(absent) > 1 else ''} {listed}, which OperatorGroup "
        f"`{name}` names, {are}",
        hint=f"{each}: `kubectl create namespace {absent[0]}`; or correct `targetNamespaces`: "
        f"`kubectl edit operatorgroup {name} -n {snapshot.namespace}`",
        is_all=set(absent) == set(kinds.target_namespaces(snapshot.groups[0])),
    )


def explain_service_account(snapshot: ClusterState) -> Diagnosis | None:
    """Explain a missing service account of the group: OLM waits for it."""
    group = snapshot.groups[0]
    if kinds.condition(group, "OperatorGroupServiceAccount") is None:
        return None
    account = text(kinds.spec(group).get("serviceAccountName"))
    return Diagnosis(
        cause="service-account",
        message=f"OLM does not find the service account `{account}` that OperatorGroup "
        f"`{objects.name(group)}` names",
        hint=f"create it: `kubectl create serviceaccount {account} -n {snapshot.namespace}`, and "
        "bind it to roles that allow the install; or remove `serviceAccountName` from the "
        "OperatorGroup",
        links=(explanation.link(group, f"service account {account}: not found"),),
    )
