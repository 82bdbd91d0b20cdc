"""Compare the requests of a test run with the permissions of its roles.

An `Access` is one kind of request from the view of RBAC. Accesses come from the double
(`ApiServer.accesses`), or from the audit log of a real server. `compare` returns those that no rule
grants, which are errors, and unused grants, which are notes: a test may not cover all code.

    report = rbac.compare(server.accesses, rbac.read([Path("config/rbac/role.yaml")]))
    assert not report.missing, report.words()

With `server.denies = rbac.forbids(rules)`, the double rejects requests that are not granted.

Sources: Kubernetes' documentation of RBAC and of request verbs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olmkit.base import documents
from olmkit.kube.objects import Manifest

_VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
# Below namespaces and nodes, these are subresources and not kinds.
_SUBRESOURCES_OF_NAMESPACES = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Access:
    """One kind of request. `namespace` is empty for the whole cluster, `name` for many objects."""

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        kind = f"{self.resource}.{self.group}" if self.group else self.resource
        where = f"in namespace `{self.namespace}`" if self.namespace else "in the whole cluster"
        return f"{self.verb} {kind} {where}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a role. `namespace` is None for ClusterRoles: the whole cluster."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    namespace: str | None = None
    role: str = ""

    def grants(self, use: Access) -> bool:
        """Return whether the rule allows a request."""
        return (
            self.namespace in (None, use.namespace)
            and ("*" in self.verbs or use.verb in self.verbs)
            and ("*" in self.groups or use.group in self.groups)
            and any(_covers(resource, use.resource) for resource in self.resources)
            # A rule with names does not allow requests without a name, such as create or list.
            and (not self.names or use.name in self.names)
        )

    def grants_one_by_one(self) -> Iterator[Rule]:
        """Yield rules with one group, resource and verb each."""
        for group in self.groups:
            for resource in self.resources:
                for verb in self.verbs:
                    yield Rule(
                        groups=(group,),
                        resources=(resource,),
                        verbs=(verb,),
                        names=self.names,
                        namespace=self.namespace,
                        role=self.role,
                    )

    def __str__(self) -> str:
        kinds = " ".join(
            f"{resource}.{group}" if group else resource
            for group in self.groups
            for resource in self.resources
        )
        where = "" if self.namespace is None else f" in namespace `{self.namespace}`"
        return f"{' '.join(self.verbs)} {kinds}{where} (`{self.role}`)"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of `compare`: accesses that were not granted, and unused grants."""

    missing: tuple[Access, ...]
    unused: tuple[Rule, ...]

    def words(self) -> str:
        """Return a line for each item; errors first."""
        return "\n".join(
            [
                *(f"error: used and not granted: {use}" for use in self.missing),
                *(f"note: granted and not used: {rule}" for rule in self.unused),
            ]
        )


def access_of(method: str, path: str, query: Mapping[str, str] | None = None) -> Access | None:
    """Return the access of a request; None for non-resource requests such as discovery."""
    query = query or {}
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["api", _, *rest]:
            group = ""
        case ["apis", group, _, *rest]:
            pass
        case _:
            return None
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _SUBRESOURCES_OF_NAMESPACES:
            rest = rest[2:]
    if not rest:
        return None
    resource, name = rest[0], rest[1] if len(rest) > 1 else ""
    verb = _VERBS.get(method, method.lower())
    if not name:
        name = _selected_name(query.get("fieldSelector", "")) if verb != "create" else ""
        if verb == "get":
            verb = "watch" if query.get("watch") in ("true", "1") else "list"
        elif verb == "delete":
            verb = "deletecollection"
    return Access(
        group=group,
        resource="/".join([resource, *rest[2:3]]),
        verb=verb,
        namespace=namespace,
        name=name,
    )


def from_audit_log(log: Path, *, user: str = "") -> list[Access]:
    """Return the accesses in the audit log of a real API server, of one user or all users.

    The level of the log must be at least Metadata. Rejected requests are included.
    """
    found = []
    for line in log.read_text().splitlines():
        event = json.loads(line)
        user_name = (event.get("impersonatedUser") or event.get("user") or {}).get("username")
        reference = event.get("objectRef")
        if not isinstance(reference, dict) or (user and user_name != user):
            continue
        resource, sub = str(reference.get("resource") or ""), reference.get("subresource")
        found.append(
            Access(
                group=str(reference.get("apiGroup") or ""),
                resource=f"{resource}/{sub}" if sub else resource,
                verb=str(event.get("verb") or ""),
                namespace=str(reference.get("namespace") or ""),
                name="" if event.get("verb") == "create" else str(reference.get("name") or ""),
            )
        )
    return found


def rules(manifests: Iterable[Manifest], *, namespace: str = "") -> list[Rule]:
    """Return the rules of the Roles and ClusterRoles among manifests.

    `namespace` is the namespace of Roles that do not set one, as in a project.
    """
    found = []
    for manifest in manifests:
        if manifest.get("kind") not in ("Role", "ClusterRole"):
            continue
        metadata = manifest.get("metadata") or {}
        place = None
        if manifest["kind"] == "Role":
            place = str(metadata.get("namespace") or namespace)
        found += [
            Rule(
                groups=tuple(rule.get("apiGroups") or ()),
                resources=tuple(rule["resources"]),
                verbs=tuple(rule.get("verbs") or ()),
                names=tuple(rule.get("resourceNames") or ()),
                namespace=place,
                role=str(metadata.get("name") or ""),
            )
            for rule in manifest.get("rules") or ()
            if isinstance(rule, dict) and rule.get("resources")
        ]
    return found


def read(paths: Iterable[Path], *, namespace: str = "") -> list[Rule]:
    """Return the rules in YAML files."""
    return rules(
        (
            document.value
            for path in paths
            for document in documents.load_all(path.read_bytes(), str(path))
            if isinstance(document.value, dict)
        ),
        namespace=namespace,
    )


def compare(uses: Iterable[Access], granted: Sequence[Rule]) -> Report:
    """Return the uses that no rule grants, and the grants that no use needs."""
    seen = sorted(set(uses))
    single = [one for rule in granted for one in rule.grants_one_by_one()]
    return Report(
        missing=tuple(_once(use for use in seen if not any(r.grants(use) for r in granted))),
        unused=tuple(one for one in single if not any(one.grants(use) for use in seen)),
    )


def forbids(granted: Sequence[Rule]) -> Callable[[Access], bool]:
    """Return a function for `ApiServer.denies` that forbids accesses without a rule."""

    def forbidden(use: Access) -> bool:
        return not any(rule.grants(use) for rule in granted)

    return forbidden


def needed(uses: Iterable[Access]) -> list[dict[str, Any]]:
    """Return the rules of the smallest role that allows all uses, ignoring namespaces."""
    verbs: dict[tuple[str, str], set[str]] = {}
    for use in uses:
        verbs.setdefault((use.group, use.resource), set()).add(use.verb)
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": sorted(found)}
        for (group, resource), found in sorted(verbs.items())
    ]


def _once(uses: Iterable[Access]) -> Iterator[Access]:
    """Return accesses without duplicates that differ only in the object's name."""
    seen = set()
    for use in uses:
        key = (use.group, use.resource, use.verb, use.namespace)
        if key not in seen:
            seen.add(key)
            yield use


def _covers(granted: str, requested: str) -> bool:
    if granted in ("*", requested):
        return True
    kind, _, sub = granted.partition("/")
    return kind == "*" and bool(sub) and requested.endswith(f"/{sub}")


def _selected_name(selector: str) -> str:
    """Return the name in a field selector, which authorization uses as the request's name."""
    for part in selector.split(","):
        if part.startswith("metadata.name="):
            return part.removeprefix("metadata.name=").removeprefix("=")
    return ""
