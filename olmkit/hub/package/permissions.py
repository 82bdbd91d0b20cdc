"""Describe the permissions of a bundle, for each service account."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from olmkit.base import documents
from olmkit.bundle.summary import grants
from olmkit.bundle.summary.grants import CLUSTER, Grant, GrantTarget
from olmkit.hub.pages.operator_page import Permission, Permissions
from olmkit.hub.records import Record

_READ: Final = frozenset({"get", "list", "watch"})
_CHANGE: Final = frozenset({"create", "update", "patch"})
_ESCALATING: Final = frozenset({"escalate", "bind", "impersonate"})
_WRITES: Final = _CHANGE | {"*"}
_BINDINGS: Final = frozenset({"rolebindings", "clusterrolebindings"})
_WEBHOOKS: Final = frozenset({"mutatingwebhookconfigurations", "validatingwebhookconfigurations"})
_SHOWN: Final = 500  # maximum permissions of an account on a page

OF_OLM: Final = (
    "OLM adds a Role for the OperatorCondition of this version, and ClusterRoles with which "
    "administrators can grant the use of each API."
)


def list_permissions(record: Record) -> tuple[Permissions, ...] | None:
    """Return the permissions by service account; None if the catalog does not contain them."""
    if not record.has_manifests:
        return None
    found: dict[str, list[Grant]] = {}
    for grant in (*grants.csv_grants(record.csv), *grants.role_grants(record.manifests)):
        found.setdefault(grant.account or "default", []).append(grant)
    return tuple(_account_permissions(account, listed) for account, listed in sorted(found.items()))


def _account_permissions(account: str, listed: list[Grant]) -> Permissions:
    notable: list[Permission] = []
    others: list[Permission] = []
    for target, verbs in grants.atoms(listed).items():
        reason = _reason(target, verbs)
        made = Permission(text=f"may {_describe_verbs(verbs)} {target}", reason=reason)
        (notable if reason else others).append(made)
    return Permissions(
        account=account,
        notable=_limit(notable),
        others=_limit(others),
        raw=documents.dump_all(_rules(listed)[:_SHOWN]).decode(),
    )


def _limit(listed: list[Permission]) -> tuple[Permission, ...]:
    left = len(listed) - _SHOWN
    if left <= 0:
        return tuple(listed)
    return (*listed[:_SHOWN], Permission(text=f"{left} more: see the rules as written"))


def _rules(listed: Iterable[Grant]) -> list[dict[str, Any]]:
    return [
        {
            "scope": one.scope,
            **_some("apiGroups", one.groups),
            **_some("resources", one.resources),
            **_some("resourceNames", one.names),
            **_some("nonResourceURLs", one.urls),
            "verbs": list(one.verbs),
        }
        for one in listed
    ]


def _some(key: str, values: tuple[str, ...]) -> dict[str, list[str]]:
    return {key: list(values)} if values else {}


def _describe_verbs(verbs: Iterable[str]) -> str:
    """Return `read`, `read and change`, or `do anything with`."""
    given = frozenset(verbs)
    if "*" in given:
        return "do anything with"
    listed = list(_fold_verbs(given))
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"


def _fold_verbs(verbs: frozenset[str]) -> Iterator[str]:
    left = verbs
    for whole, word in ((_READ, "read"), (_CHANGE, "change")):
        if whole <= left:
            yield word
            left -= whole
    yield from sorted(left)


def _reason(target: GrantTarget, verbs: frozenset[str]) -> str:
    if target.url:
        return "a URL of the API server that is not an object"
    if target.resource == "*" and target.group == "*" and "*" in verbs:
        return "includes everything, also objects that do not belong to the operator"
    if verbs & _ESCALATING:
        return "allows the operator to get permissions that it was not given"
    if target.resource in ("secrets", "*") and target.scope == CLUSTER and not target.name:
        return "includes the Secrets of other applications" if target.group in ("", "*") else ""
    if target.resource in _BINDINGS and verbs & _WRITES:
        return "allows the operator to grant permissions"
    if target.resource in _WEBHOOKS and verbs & _WRITES:
        return "allows the operator to change requests to the API server"
    if target.resource == "pods/exec":
        return "allows the operator to run commands in containers"
    if target.resource == "nodes" and verbs & _WRITES:
        return "changes nodes of the cluster"
    return ""
