"""Generate roles with the fewest rules from RBAC markers.

The steps are exactly those of the reference, because users have committed and reviewed its results.
`core` is the empty group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from olmkit.apis.findings import Findings
from olmkit.apis.markers.language import Marker
from olmkit.apis.model import Sources
from olmkit.base import texts

Manifest = dict[str, Any]

# https://kubernetes.io/docs/reference/access-authn-authz/authorization/#request-verb-resource, with
# the special verbs of roles, users, signers and policies.
_VERBS = (
    *("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*"),
    *("bind", "escalate", "impersonate", "approve", "sign", "attest", "use", "proxy"),
)
_URL_VERBS = ("get", "post", "put", "patch", "delete", "head", "options", "*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRule:
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()

    def manifest(self) -> Manifest:
        parts = {
            "apiGroups": self.groups,
            "nonResourceURLs": self.urls,
            "resourceNames": self.resource_names,
            "resources": self.resources,
        }
        rule: Manifest = {key: list(value) for key, value in parts.items() if value}
        # The reference writes `null` if there are no verbs.
        return rule | {"verbs": ["*"] if "*" in self.verbs else list(self.verbs) or None}


def roles(sources: Sources, *, role_name: str) -> list[Manifest]:
    """Return ClusterRoles first, then the roles of each namespace; empty without markers."""
    found: dict[tuple[str, str], list[PolicyRule]] = {}
    for package in sources.packages:
        for marker in package.markers:
            if marker.name == "kubebuilder:rbac":
                key = (marker.get("namespace") or "", marker.get("roleName") or role_name)
                found.setdefault(key, []).extend(_rules(marker))
    return [
        _role(namespace, name, merge(rules)) for (namespace, name), rules in sorted(found.items())
    ]


def check(sources: Sources, findings: Findings) -> None:
    """Report verbs that no Kubernetes API has; the API server accepts any string."""
    for package in sources.packages:
        for marker in package.markers:
            if marker.name == "kubebuilder:rbac":
                _check_verbs(marker, findings)


def _check_verbs(marker: Marker, findings: Findings) -> None:
    import difflib

    known = _URL_VERBS if marker.get("urls") and not marker.get("resources") else _VERBS
    for verb in marker.get("verbs") or ():
        if verb not in known:
            near = difflib.get_close_matches(verb.lower(), known, n=1)
            findings.add(
                "API036",
                f"`{texts.shorten(verb)}` is not a verb of the API server",
                marker.at,
                hint=f"did you mean `{near[0]}`?"
                if near
                else f"the verbs are {_list_verbs(known)}",
            )


def _list_verbs(verbs: Iterable[str]) -> str:
    return ", ".join(f"`{verb}`" for verb in verbs)


def _role(namespace: str, name: str, rules: list[PolicyRule]) -> Manifest:
    metadata = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role" if namespace else "ClusterRole",
        "metadata": metadata,
        "rules": [rule.manifest() for rule in rules],
    }


def _rules(marker: Marker) -> list[PolicyRule]:
    """Return one rule for each resource that a marker names."""
    groups = _normal("" if group == "core" else group for group in marker.get("groups") or ())
    rule = PolicyRule(
        groups=groups,
        resource_names=_normal(marker.get("resourceNames") or ()),
        urls=_normal(marker.get("urls") or ()),
        verbs=_normal(marker.get("verbs") or ()),
    )
    resources = marker.get("resources") or ()
    if not resources:
        return [rule]
    return [replace(rule, resources=(resource,)) for resource in resources]


def merge(rules: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Merge rules that differ in only one part, part by part."""
    current = list(rules)
    current = _merge(current, "verbs", lambda r: (r.groups, r.resources, r.resource_names, r.urls))
    current = _merge(current, "resources", lambda r: (r.groups, r.resource_names, r.urls, r.verbs))
    current = _merge(current, "groups", lambda r: (r.resources, r.resource_names, r.urls, r.verbs))
    current = _merge(current, "urls", lambda r: (r.groups, r.resources, r.resource_names, r.verbs))
    return sorted(current, key=_sort_key)


Parts = tuple[tuple[str, ...], ...]


def _merge(
    rules: list[PolicyRule], part: str, key: Callable[[PolicyRule], Parts]
) -> list[PolicyRule]:
    found: dict[tuple[str, ...], PolicyRule] = {}
    for rule in rules:
        # Keys are joined strings: no group and the empty group are equal, and `""` is written.
        joined = tuple("&".join(texts) for texts in key(rule))
        other = found.get(joined)
        if other is None:
            found[joined] = rule
            continue
        union = _normal([*getattr(other, part), *getattr(rule, part)])
        changed = replace(other, groups=other.groups or rule.groups)
        found[joined] = replace(changed, **{part: union})
    return list(found.values())


def _sort_key(rule: PolicyRule) -> str:
    parts = (rule.groups, rule.resources, rule.resource_names, rule.urls)
    return " + ".join("&".join(part) for part in parts)


def _normal(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(texts)))
