"""Rules about manifests that hinder a cluster's administrator.

Source: the object validator of operator-framework/api, which none of its tools can report. A
percentage of `maxUnavailable` is read as one here, and the CSV's permissions count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from olmkit.base.diagnostics import Severity
from olmkit.bundle.model import Bundle
from olmkit.kube import objects as kube
from olmkit.rules import objects, permissions
from olmkit.rules.engine import Finding, rule

SUITE = "object"
_ZERO = re.compile(r"0+%?")
_ALL = re.compile(r"0*100%")
_CASED = ("olm.operatorGroup", "olm.operatorNamespace", "olm.targetNamespaces", "olm.providedAPIs")
_STANDARD_SCCS = frozenset(
    {
        "privileged",
        "restricted",
        "anyuid",
        "hostaccess",
        "hostmount-anyuid",
        "hostnetwork",
        "node-exporter",
        "nonroot",
    }
)
_PDB_VERBS = frozenset({"create", "update", "patch"})
_SCC_VERBS = frozenset({"delete", "update", "patch"})


@rule("OBJ040", "pdb-blocks", suite=SUITE)
def pdb_blocks(bundle: Bundle) -> Iterator[Finding]:
    """A PodDisruptionBudget does not allow the eviction of any pod.

    Why: nodes with such a pod cannot be drained, so the cluster cannot be upgraded.

    Fix: allow at least one pod to be unavailable.
    """
    for resource in objects.resources(bundle):
        if resource.kind != "PodDisruptionBudget":
            continue
        spec = kube.mapping(resource.value.get("spec"))
        for field, pattern in (("maxUnavailable", _ZERO), ("minAvailable", _ALL)):
            value = spec.get(field)
            if isinstance(value, str | int) and pattern.fullmatch(kube.scalar_text(value)):
                yield Finding(
                    f"`{field}: {kube.scalar_text(value)}` blocks every eviction",
                    at=resource.at("spec", field),
                    hint="allow at least one pod to be unavailable",
                )


@rule("OBJ041", "priority-class-default", suite=SUITE)
def priority_class_default(bundle: Bundle) -> Iterator[Finding]:
    """A PriorityClass is the default of the whole cluster.

    Why: every pod without a priority gets it. Only the administrator should decide this.

    Fix: remove `globalDefault`.
    """
    for resource in objects.resources(bundle):
        if resource.kind == "PriorityClass" and resource.value.get("globalDefault") is True:
            yield Finding(
                "the PriorityClass is the default of the whole cluster",
                at=resource.at("globalDefault"),
                hint="remove `globalDefault`, or set it to `false`",
            )


@rule("OBJ042", "pdb-permission", severity=Severity.WARNING, suite=SUITE)
def pdb_permission(bundle: Bundle) -> Iterator[Finding]:
    """The operator has permission to create or change PodDisruptionBudgets.

    Why: a budget that is too strict blocks upgrades of the cluster.

    Fix: put the budget into the bundle, or make sure that it allows an eviction.
    """
    for permission in permissions.every(bundle):
        if _names(permission, "policy", "poddisruptionbudgets", _PDB_VERBS):
            yield Finding(
                "the permissions allow changes of PodDisruptionBudgets",
                at=permission.at,
                hint="remove the verbs `create`, `update` and `patch`, unless operands need them",
            )


@rule("OBJ043", "scc-permission", suite=SUITE)
def scc_permission(bundle: Bundle) -> Iterator[Finding]:
    """The operator has permission to change OpenShift's default SecurityContextConstraints.

    Why: such a change breaks other workloads, and blocks upgrades of OpenShift.

    Fix: create a custom SecurityContextConstraints object.
    """
    for permission in permissions.every(bundle):
        touched = sorted(_STANDARD_SCCS & {*permission.names})
        if touched and _names(
            permission, "security.openshift.io", "securitycontextconstraints", _SCC_VERBS
        ):
            yield Finding(
                f"the permissions allow changes of OpenShift's `{'`, `'.join(touched)}`",
                at=permission.at,
                hint="grant only the verb `use`, or create a custom object",
            )


@rule("OBJ044", "operator-group-annotation", severity=Severity.WARNING, suite=SUITE)
def operator_group_annotation(bundle: Bundle) -> Iterator[Finding]:
    """An OperatorGroup has an annotation of OLM with the wrong case, or properties.

    Why: OLM does not find an annotation with the wrong case, and does not read
    `olm.properties` of an OperatorGroup. The OperatorGroup itself does not belong in a
    bundle.

    Fix: remove the OperatorGroup.
    """
    right = {name.lower(): name for name in _CASED}
    for resource in objects.resources(bundle):
        if resource.kind != "OperatorGroup":
            continue
        for key in resource.annotations:
            name = right.get(key.lower())
            if key == "olm.properties" or (name is not None and key != name):
                yield Finding(
                    f"annotation `{key}` of the OperatorGroup has no effect",
                    at=resource.at_key("metadata", "annotations", key),
                    hint="remove the OperatorGroup: users create it",
                )


def _names(
    permission: permissions.RbacRule, group: str, resource: str, verbs: frozenset[str]
) -> bool:
    """Return whether the rule names group and resource explicitly, without wildcards."""
    return (
        group in permission.groups
        and resource in permission.resources
        and bool((verbs | {"*"}) & {*permission.verbs})
    )
