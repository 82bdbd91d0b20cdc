"""Rules of the operator's role for its kinds."""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.base import documents, names
from olmkit.kube import objects
from olmkit.kube.objects import GVK

_VERBS = ("create", "delete", "get", "list", "patch", "update", "watch")
# Kubernetes requires this permission to grant others permissions that one does not have.
_RBAC = "rbac.authorization.k8s.io"
_GIVING = ("bind", "escalate")


def format_kind_rules(kinds: Iterable[GVK]) -> bytes:
    """Return a rule for each group and one for cluster-scoped kinds, as list items."""
    groups: dict[tuple[str, bool], set[str]] = {}
    for one in kinds:
        is_cluster = objects.is_cluster_scoped(one)
        groups.setdefault((one.group, is_cluster), set()).add(names.plural_of_kind(one.kind))
    found = []
    for (group, _), resources in sorted(groups.items()):
        roles = resources & {"roles", "clusterroles"} if group == _RBAC else set()
        found.append(_rule(group, resources, (*_VERBS, *(_GIVING if roles else ()))))
    return _text(found)


def format_primary_rule(group: str, plural: str) -> bytes:
    """Return the RBAC rule for the objects of the operator's kind."""
    resources = {plural, f"{plural}/status", f"{plural}/finalizers"}
    return _text([_rule(group, resources, _VERBS)])


def _rule(group: str, resources: Iterable[str], verbs: Iterable[str]) -> dict[str, list[str]]:
    return {"apiGroups": [group], "resources": sorted(resources), "verbs": sorted(verbs)}


def _text(rules: list[dict[str, list[str]]]) -> bytes:
    return documents.dump(rules) if rules else b""
