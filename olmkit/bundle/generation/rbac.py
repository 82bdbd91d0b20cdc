"""Convert roles and bindings to the permissions of a CSV.

OLM creates the service accounts of a CSV with its own roles and bindings, so roles that are bound
to the operator's accounts move into the CSV, by binding: RoleBindings become `permissions`,
ClusterRoleBindings `clusterPermissions`. Roles of other subjects remain manifests. Rules are
neither merged nor resolved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic
from olmkit.bundle.generation.collect import RBAC_GROUP, CollectedObjects, subject
from olmkit.bundle.model import BundleObject
from olmkit.kube import objects


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccountRules:
    """The rules of one service account, and the roles they come from."""

    service_account: str
    rules: tuple[Any, ...]
    sources: tuple[BundleObject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountAccess:
    """The permissions in the CSV, and the manifests that remain in the bundle."""

    service_accounts: tuple[str, ...]
    permissions: tuple[ServiceAccountRules, ...]
    cluster_permissions: tuple[ServiceAccountRules, ...]
    leftover: tuple[BundleObject, ...]
    findings: tuple[Diagnostic, ...]


def operator_accounts(deployments: Iterable[BundleObject], extra: Iterable[str]) -> tuple[str, ...]:
    """Return the accounts that OLM will create, in order of their first use."""
    names = [
        objects.text(objects.pod_spec(deployment.value).get("serviceAccountName")) or "default"
        for deployment in deployments
    ]
    return tuple(dict.fromkeys([*names, *extra]))


def divide(
    collection: CollectedObjects, extra_service_accounts: Sequence[str] = ()
) -> AccountAccess:
    """Divide roles, bindings and accounts between the CSV and the manifests."""
    accounts = operator_accounts(collection.deployments, extra_service_accounts)
    used: list[BundleObject] = []
    leftover_bindings = [
        binding
        for binding in (*collection.role_bindings, *collection.cluster_role_bindings)
        if _stays(binding, collection, accounts, used)
    ]
    leftover = (
        *(role for role in collection.roles if not _is_among(role, used)),
        *(role for role in collection.cluster_roles if not _is_among(role, used)),
        *leftover_bindings,
        *(account for account in collection.service_accounts if account.name not in accounts),
    )
    permissions = _permissions(collection.role_bindings, collection, accounts)
    cluster_permissions = _permissions(collection.cluster_role_bindings, collection, accounts)
    granted = {item.service_account for item in (*permissions, *cluster_permissions)}
    return AccountAccess(
        service_accounts=accounts,
        permissions=permissions,
        cluster_permissions=cluster_permissions,
        leftover=leftover,
        findings=(
            *_find_aggregated(used),
            *_find_dangling(leftover_bindings, collection, used),
            *_find_unbound_accounts(collection.service_accounts, accounts),
            *_unknown(collection, extra_service_accounts),
            *_without_rules(collection, granted | _bound_accounts(leftover_bindings)),
        ),
    )


def _stays(
    binding: BundleObject,
    collection: CollectedObjects,
    accounts: Sequence[str],
    used: list[BundleObject],
) -> bool:
    """Record the role of a binding; return whether it also has other subjects."""
    role = _find_role(binding, collection)
    subjects = objects.sequence(binding.value.get("subjects"))
    if role is None:
        return bool(subjects)
    others = [item for item in subjects if _account(item) not in accounts]
    if len(others) < len(subjects) and not _is_among(role, used):
        used.append(role)
    return bool(others)


def _find_role(binding: BundleObject, collection: CollectedObjects) -> BundleObject | None:
    """Return the role that a binding refers to, if it is in the input."""
    reference = objects.mapping(binding.value.get("roleRef"))
    if reference.get("apiGroup") not in (None, "", RBAC_GROUP):
        return None
    name = reference.get("name")
    match reference.get("kind"):
        case "ClusterRole":
            named = [role for role in collection.cluster_roles if role.name == name]
        case "Role" if binding.kind == "RoleBinding":
            named = [role for role in collection.roles if role.name == name]
            near = [role for role in named if _namespace(role) == _namespace(binding)]
            named = near or named
        case _:
            return None
    return named[-1] if named else None


def _account(item: Any) -> str:
    """Return the name of a subject that is a service account, else an empty string."""
    value = objects.mapping(item)
    return objects.text(value.get("name")) if value.get("kind") == "ServiceAccount" else ""


def _permissions(
    bindings: Iterable[BundleObject], collection: CollectedObjects, accounts: Sequence[str]
) -> tuple[ServiceAccountRules, ...]:
    rules: dict[str, list[Any]] = {}
    sources: dict[str, list[BundleObject]] = {}
    for binding in bindings:
        role = _find_role(binding, collection)
        if role is None:
            continue
        for item in objects.sequence(binding.value.get("subjects")):
            account = _account(item)
            if account and account in accounts:
                rules.setdefault(account, []).extend(objects.sequence(role.value.get("rules")))
                sources.setdefault(account, []).append(role)
    return tuple(
        ServiceAccountRules(
            service_account=account, rules=tuple(granted), sources=tuple(sources[account])
        )
        for account, granted in sorted(rules.items())
        if granted
    )


def _find_aggregated(used: Iterable[BundleObject]) -> Iterator[Diagnostic]:
    for role in used:
        if role.value.get("aggregationRule"):
            yield findings.create(
                "PRJ109",
                f"the rules that `{role.name}` aggregates do not reach the CSV",
                at=role.at("aggregationRule"),
                subject=subject(role),
                hint="write the rules themselves, or bind the roles that it aggregates",
            )


def _find_dangling(
    bindings: Iterable[BundleObject], collection: CollectedObjects, used: Sequence[BundleObject]
) -> Iterator[Diagnostic]:
    for binding in bindings:
        role = _find_role(binding, collection)
        if role is not None and _is_among(role, used):
            yield findings.create(
                "PRJ110",
                f"`{binding.name}` is kept for its other subjects, but its role "
                f"`{role.name}` moves into the CSV",
                at=binding.at("subjects"),
                subject=subject(binding),
                hint="bind the operator's account and the others separately, to two roles",
            )


def _find_unbound_accounts(
    accounts: Iterable[BundleObject], known: Sequence[str]
) -> Iterator[Diagnostic]:
    for account in accounts:
        if account.name not in known:
            continue
        for field in ("imagePullSecrets", "secrets", "automountServiceAccountToken"):
            if account.value.get(field):
                yield _unbound_account_finding(account, field)
        if account.annotations:
            yield _unbound_account_finding(account, "metadata", "annotations")


def _unbound_account_finding(account: BundleObject, *keys: str) -> Diagnostic:
    return findings.create(
        "PRJ112",
        f"OLM creates the service account `{account.name}` itself, without `{'.'.join(keys)}`",
        at=account.at_key(*keys),
        subject=subject(account),
    )


def _unknown(collection: CollectedObjects, extra: Sequence[str]) -> Iterator[Diagnostic]:
    bound = _bound_accounts((*collection.role_bindings, *collection.cluster_role_bindings))
    for name in extra:
        if name not in bound:
            yield findings.create(
                "PRJ115",
                f"no binding names the extra service account `{name}`",
                hint="remove it from `--extra-service-accounts`, or bind a role to it",
            )


def _without_rules(collection: CollectedObjects, granted: set[str]) -> Iterator[Diagnostic]:
    for deployment in collection.deployments:
        (account,) = operator_accounts([deployment], ())
        if account not in granted:
            yield findings.create(
                "PRJ118",
                f"the account `{account}` has no permissions",
                at=deployment.at("spec", "template", "spec", "serviceAccountName"),
                subject=subject(deployment),
                hint="add its Role or ClusterRole and the binding to the input",
            )


def _bound_accounts(bindings: Iterable[BundleObject]) -> set[str]:
    """Return the accounts that bindings name."""
    return {
        _account(item)
        for binding in bindings
        for item in objects.sequence(binding.value.get("subjects"))
    }


def _is_among(resource: BundleObject, others: Iterable[BundleObject]) -> bool:
    return any(resource is other for other in others)


def _namespace(resource: BundleObject) -> str:
    return objects.text(resource.metadata.get("namespace"))
