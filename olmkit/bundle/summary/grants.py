"""The permissions that a bundle grants, as rules and as text.

They are those of the service accounts of the CSV: in the watched namespaces, or in the whole
cluster. Roles of the bundle count if a binding of the bundle refers to them; other roles are for
people.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from olmkit.base import names
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text

_MAX_ATOMS: Final = 20_000  # permissions of one rule that are distinguished
# Reviews are requests, not objects, and also have no namespace.
_CLUSTER_SCOPED: Final = frozenset(
    {
        *((group, names.plural_of_kind(kind)) for group, kind in objects.CLUSTER_SCOPED),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
    }
)
_ESCALATING: Final = frozenset({"escalate", "bind", "impersonate"})
CLUSTER: Final = "cluster"
NAMESPACES: Final = "namespaces"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One rule of a service account. `scope` is `cluster` or `namespaces`."""

    account: str
    scope: str
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @property
    def is_far_reaching(self) -> bool:
        """Return whether it lets the operator get permissions that it was not granted."""
        return self.scope == CLUSTER and (
            "*" in self.verbs
            or "*" in self.resources
            or bool(_ESCALATING & set(self.verbs))
            or ("secrets" in self.resources and not self.names)
        )

    def __str__(self) -> str:
        what = ", ".join(self.urls) if self.urls else ", ".join(self._resources())
        named = f" named {', '.join(self.names)}" if self.names else ""
        return f"{', '.join(self.verbs)}: {what}{named}"

    def _resources(self) -> Iterator[str]:
        for resource in self.resources:
            for group in self.groups or ("",):
                yield f"{resource}.{group}" if group else resource


class GrantTarget(NamedTuple):
    """The object of a permission: `url`, or group and resource; an empty `name` means all."""

    scope: str
    group: str = ""
    resource: str = ""
    name: str = ""
    url: str = ""

    def __str__(self) -> str:
        if self.url:
            return f"the URL `{self.url}`"
        what = f"`{self.resource}`"
        if self.resource == "*":
            what = "all resources"
            if self.group not in ("*", ""):
                what += f" of the API group `{self.group}`"
        elif self.group == "*":
            what += " of all API groups"
        elif self.group:
            resource, slash, part = self.resource.partition("/")
            what = f"`{resource}.{self.group}{slash}{part}`"
        if self.name:
            what += f" named `{self.name}`"
        if (self.group, self.resource) in _CLUSTER_SCOPED:
            return what
        where = "all namespaces" if self.scope == CLUSTER else "the watched namespaces"
        return f"{what} in {where}"

    def covers(self, other: GrantTarget) -> bool:
        """Return whether a permission on this target includes the other one."""
        if self.url or other.url:
            prefix = self.url.removesuffix("*")
            is_part = self.url.endswith("*") and other.url.startswith(prefix)
            return bool(self.url and other.url) and (self.url == other.url or is_part)
        return (
            self.scope in (CLUSTER, other.scope)
            and self.group in ("*", other.group)
            and self.resource in ("*", other.resource)
            and self.name in ("", other.name)
        )


Atoms = Mapping[GrantTarget, frozenset[str]]
"""The verbs that are allowed for each target."""


def csv_grants(csv: Mapping[str, Any]) -> Iterator[Grant]:
    """Yield each rule for which OLM creates a role, those of the whole cluster first."""
    install = mapping(mapping(mapping(csv.get("spec")).get("install")).get("spec"))
    for part, scope in (("clusterPermissions", CLUSTER), ("permissions", NAMESPACES)):
        for permission in map(mapping, sequence(install.get(part))):
            account = text(permission.get("serviceAccountName"))
            for rule in sequence(permission.get("rules")):
                if isinstance(rule, Mapping):
                    yield _grant(account, scope, rule)


def role_grants(manifests: Iterable[Manifest]) -> Iterator[Grant]:
    """Yield the rules of the roles among the manifests that one of the bindings refers to."""
    listed = list(manifests)
    roles = {(objects.kind(one), objects.name(one)): one for one in listed}
    for binding in listed:
        kind = objects.kind(binding)
        if kind not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        reference = mapping(binding.get("roleRef"))
        role = roles.get((text(reference.get("kind")), text(reference.get("name"))), {})
        for subject in map(mapping, sequence(binding.get("subjects"))):
            for rule in sequence(role.get("rules")):
                if isinstance(rule, Mapping):
                    scope = CLUSTER if kind == "ClusterRoleBinding" else NAMESPACES
                    yield _grant(text(subject.get("name")), scope, rule)


def atoms(grants: Iterable[Grant]) -> Atoms:
    """Return the permissions of all service accounts together."""
    found: dict[GrantTarget, set[str]] = {}
    for grant in grants:
        for target in itertools.islice(_targets(grant), _MAX_ATOMS):
            found.setdefault(target, set()).update(grant.verbs)
    return {target: frozenset(verbs) for target, verbs in sorted(found.items()) if verbs}


def find_uncovered(required: Atoms, known: Atoms) -> Atoms:
    """Return the permissions of `required` that `known` does not cover."""
    found = {}
    for target, verbs in required.items():
        covered: set[str] = set()
        for other, allowed in known.items():
            if other.covers(target):
                covered |= allowed
        left = verbs if "*" not in covered else frozenset()
        left -= covered
        if left:
            found[target] = left
    return found


def describe_verbs(verbs: Iterable[str]) -> str:
    """Return the verbs as text: `create, delete and patch`, or `do anything with`."""
    listed = sorted(verbs)
    if "*" in listed:
        return "do anything with"
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} and {listed[-1]}"


def is_far_reaching(target: GrantTarget, verbs: Iterable[str]) -> bool:
    """Return whether a permission lets the operator get permissions that it was not granted."""
    listed = tuple(verbs)
    return Grant(
        account="",
        scope=target.scope,
        groups=(target.group,),
        resources=(target.resource,),
        verbs=listed,
        names=(target.name,) if target.name else (),
    ).is_far_reaching


def _targets(grant: Grant) -> Iterator[GrantTarget]:
    for url in grant.urls:
        yield GrantTarget(scope=grant.scope, url=url)
    for group, resource, name in itertools.product(
        grant.groups or ("",), grant.resources, grant.names or ("",)
    ):
        yield GrantTarget(scope=grant.scope, group=group, resource=resource, name=name)


def _grant(account: str, scope: str, rule: Mapping[str, Any]) -> Grant:
    return Grant(
        account=account,
        scope=scope,
        groups=_texts(rule.get("apiGroups")),
        resources=_texts(rule.get("resources")),
        verbs=_texts(rule.get("verbs")),
        names=_texts(rule.get("resourceNames")),
        urls=_texts(rule.get("nonResourceURLs")),
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one for one in sequence(value) if isinstance(one, str))
