"""The permissions that a service account needs so that OLM v1 can install a bundle with it.

Releases of OLM v1 before 1.11 create everything with the rights of a service account. The account
must be able to create, change and watch each object of the bundle. It also needs every permission
that the bundle grants to its operator, because the API server lets an account grant only
permissions that it has.

Sources: operator-controller's guide `derive-service-account`; the requests of release 1.2.0, as
recorded by a real API server; the naming of roles in its package `rukpak/convert`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.base import names
from olmkit.base.versions import Version
from olmkit.bundle.generation import supported_kinds
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.install_objects import OURS, PART_OF
from olmkit.olm.v1.extension import GROUP

RBAC = "rbac.authorization.k8s.io"
_MAX_NAME = 63
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NAMED_VERBS = ("get", "patch", "delete")
_FIELDS = ("apiGroups", "resources", "resourceNames", "nonResourceURLs", "verbs")
# The first release whose roles may have other names, and that needs one more rule.
_LATER = Version(1, 3, 0)

Rule = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionPermissions:
    """RBAC rules: for the whole cluster, and for the namespace of the installation.

    `granted` are the rules that the bundle grants to its operator in the whole cluster.
    """

    cluster: tuple[Rule, ...]
    local: tuple[Rule, ...]
    granted: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class _Created:
    """An object that OLM creates; `namespaced` as OLM treats its kind."""

    group: str
    resource: str
    name: str
    namespaced: bool


def required_permissions(
    manifests: Iterable[Manifest], *, extension: str, release: Version | None = None
) -> ExtensionPermissions:
    """Return the permissions that a bundle needs; `release` is that of OLM v1, if known."""
    found = list(manifests)
    cluster: list[Rule] = []
    local: list[Rule] = []
    is_later = release is None or release >= _LATER
    for kind in _group_by_kind(_created_objects(found, is_later=is_later)):
        _add_kind(kind, cluster, local)
    local += [
        _known_fields(rule) for one in found if objects.kind(one) == "Role" for rule in _rules(one)
    ]
    # The admission plug-in OwnerReferencesPermissionEnforcement, where it is enabled.
    cluster.append(_rule(GROUP, "clusterextensions/finalizers", ["update"], [extension]))
    granted = _distinct(_granted_rules(found, is_later=is_later))
    return ExtensionPermissions(cluster=_distinct(cluster), local=_distinct(local), granted=granted)


def account_objects(
    needs: ExtensionPermissions, *, account: str, namespace: str, package: str, suffix: str = ""
) -> tuple[Manifest, ...]:
    """Return the service account with roles and bindings for these permissions, in order.

    `suffix` ends the names of roles and bindings.
    """
    labels = {**OURS, PART_OF: package}
    wide = {"name": f"{namespace}-{account}{suffix}"}
    near = {"name": f"{account}{suffix}", "namespace": namespace}
    own = {"name": account, "namespace": namespace}
    subjects = [{"kind": "ServiceAccount", **own}]

    def create_object(kind: str, place: Mapping[str, str], **fields: Any) -> Manifest:
        api = "v1" if kind == "ServiceAccount" else f"{RBAC}/v1"
        metadata = {**place, "labels": labels}
        return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}

    def create_binding(kind: str, place: Mapping[str, str]) -> Manifest:
        role = {"apiGroup": RBAC, "kind": kind, "name": place["name"]}
        return create_object(f"{kind}Binding", place, roleRef=role, subjects=subjects)

    found = [create_object("ServiceAccount", own)]
    rules = [*needs.cluster, *needs.granted]
    if rules:
        found += [
            create_object("ClusterRole", wide, rules=rules),
            create_binding("ClusterRole", wide),
        ]
    if needs.local:
        found += [
            create_object("Role", near, rules=list(needs.local)),
            create_binding("Role", near),
        ]
    return tuple(found)


def describe_rule(rule: Mapping[str, Any], namespace: str = "") -> str:
    """Return a rule in one line."""
    groups = sequence(rule.get("apiGroups")) or [""]
    resources = [
        f"{resource}.{group}" if group else resource
        for group in groups
        for resource in sequence(rule.get("resources"))
    ]
    what = ", ".join([*resources, *sequence(rule.get("nonResourceURLs"))])
    named = ", ".join(sequence(rule.get("resourceNames")))
    suffix = f" named {named}" if named else ""
    place = f" in namespace `{namespace}`" if namespace else ""
    return f"{', '.join(sequence(rule.get('verbs')))}: {what}{suffix}{place}"


def _created_objects(manifests: list[Manifest], *, is_later: bool) -> Iterator[_Created]:
    """Yield the objects that OLM creates from a bundle; without a name if that is unknown."""
    for csv in manifests:
        if objects.kind(csv) != kinds.CSV[1]:
            continue
        install = _install(csv)
        for deployment in sequence(install.get("deployments")):
            name = text(mapping(deployment).get("name"))
            yield _Created("apps", "deployments", name, namespaced=True)
        for account in sorted(_accounts(install) - {"default"}):
            yield _Created("", "serviceaccounts", account, namespaced=True)
        for permission in _permissions(install):
            name = "" if is_later else _role_name(objects.name(csv), permission)
            yield _Created(RBAC, "clusterroles", name, namespaced=False)
            yield _Created(RBAC, "clusterrolebindings", name, namespaced=False)
    for one in manifests:
        kind = objects.kind(one)
        if kind == kinds.CSV[1]:
            continue
        namespaced = supported_kinds.SUPPORTED.get(kind, True)
        yield _Created(
            objects.gvk(one).group,
            names.plural_of_kind(kind),
            objects.name(one),
            namespaced=namespaced,
        )


def _group_by_kind(created: Iterable[_Created]) -> Iterator[list[_Created]]:
    found: dict[tuple[str, str], list[_Created]] = {}
    for one in created:
        found.setdefault((one.group, one.resource), []).append(one)
    yield from (found[key] for key in sorted(found))


def _add_kind(created: list[_Created], cluster: list[Rule], local: list[Rule]) -> None:
    """Add rules for a kind: OLM watches by label in the whole cluster, so names cannot limit it."""
    first = created[0]
    listed = sorted({one.name for one in created})
    place = local if first.namespaced else cluster
    named = [] if "" in listed else listed
    watched = ["list", "watch"]
    if first.namespaced:
        cluster.append(_rule(first.group, first.resource, watched))
        place.append(_rule(first.group, first.resource, ["create"]))
    else:
        place.append(_rule(first.group, first.resource, ["create", *watched]))
    place.append(_rule(first.group, first.resource, [*_NAMED_VERBS], named))


def _granted_rules(manifests: list[Manifest], *, is_later: bool) -> Iterator[Rule]:
    """Yield the bundle's permissions in the cluster: OLM v1 installs for all namespaces."""
    for one in manifests:
        if objects.kind(one) == kinds.CSV[1]:
            install = _install(one)
            for permission in _permissions(install):
                yield from (_known_fields(rule) for rule in _rules_of(permission))
            if is_later and sequence(install.get("permissions")):
                yield _rule("", "namespaces", ["get", "list", "watch"])
        elif objects.kind(one) == "ClusterRole":
            yield from (_known_fields(rule) for rule in _rules(one))


def _known_fields(rule: Mapping[str, Any]) -> Rule:
    """Return the rule without unknown fields, which the API server would reject.

    Go's reader of bundles does not distinguish upper and lower case.
    """
    found = {str(field).lower(): value for field, value in rule.items()}
    return {field: found[field.lower()] for field in _FIELDS if found.get(field.lower())}


def _rules(role: Manifest) -> list[Mapping[str, Any]]:
    return [mapping(rule) for rule in sequence(role.get("rules"))]


def _install(csv: Manifest) -> Mapping[str, Any]:
    return mapping(mapping(kinds.spec(csv).get("install")).get("spec"))


def _permissions(install: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = ("clusterPermissions", "permissions")
    return [mapping(one) for part in parts for one in sequence(install.get(part))]


def _accounts(install: Mapping[str, Any]) -> set[str]:
    named = {text(one.get("serviceAccountName")) for one in _permissions(install)}
    for deployment in sequence(install.get("deployments")):
        pod = objects.pod_spec({"kind": "Deployment", "spec": mapping(deployment).get("spec")})
        named.add(text(pod.get("serviceAccountName")))
    return {name or "default" for name in named}


def _role_name(csv: str, permission: Mapping[str, Any]) -> str:
    """Return the name of the role that OLM creates for one entry of permissions.

    The hash is computed from the entry as Go encodes it: fields in their order, without empty ones.
    """
    account = text(permission.get("serviceAccountName"))
    rules = [*map(_go_rule, _rules_of(permission))] or None
    entry = {"serviceAccountName": account, "rules": rules}
    written = json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n"
    for plain in "<>&\u2028\u2029":
        written = written.replace(plain, f"\\u{ord(plain):04x}")
    digest = _base36(int.from_bytes(hashlib.sha224(written.encode()).digest(), "big"))
    base = f"{csv}-{account or 'default'}"
    if len(base) + len(digest) > _MAX_NAME:
        base = base[: _MAX_NAME - len(digest) - 1]
    return f"{base}-{digest}"


def _rules_of(permission: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [mapping(rule) for rule in sequence(permission.get("rules"))]


def _go_rule(rule: Mapping[str, Any]) -> Rule:
    fields = ("apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return {
        "verbs": rule.get("verbs"),
        **{field: rule[field] for field in fields if rule.get(field)},
    }


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
    return digits or "0"


def _rule(group: str, resource: str, verbs: list[str], named: Iterable[str] = ()) -> Rule:
    rule: Rule = {"apiGroups": [group], "resources": [resource], "verbs": verbs}
    limits = sorted(named)
    return {**rule, "resourceNames": limits} if limits else rule


def _distinct(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    found: dict[str, Rule] = {}
    for rule in rules:
        found.setdefault(json.dumps(rule, sort_keys=True), rule)
    return tuple(found.values())
