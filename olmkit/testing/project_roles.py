"""The permissions of an operator by the roles that its project binds in `config/rbac`.

A project does not know the namespace of its operator. Roles of an operator that watches the whole
cluster, such as that of leader election, apply only there, and not in the namespaces of samples.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from olmkit.base import documents
from olmkit.kube.objects import Manifest
from olmkit.testing import rbac

_OPERATOR_NAMESPACE = "operator-system"
_ADMIN = ("ClusterRole", "cluster-admin")
_EVERYTHING = rbac.Rule(groups=("*",), resources=("*",), verbs=("*",), role="cluster-admin")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRoles:
    """The granted rules; None if the folder binds no role that it has, so that nothing is known.

    `namespace`: that of the operator, if its roles apply only there. `absent`: the bound roles that
    the folder does not have.
    """

    folder: Path
    rules: tuple[rbac.Rule, ...] | None = None
    namespace: str = ""
    absent: tuple[str, ...] = ()

    def missing(self, uses: Iterable[rbac.Access]) -> list[str]:
        """Return a line for each use that is not granted."""
        if self.rules is None:
            return []
        # A mixed operator has the permissions of its charts and roles in a separate file.
        files = [self.folder / name for name in ("watches_role.yaml", "role.yaml")]
        place = next((one for one in files if one.is_file()), self.folder)
        found = rbac.compare(uses, self.rules).missing
        lines = [f"`{place}` does not grant: {use}" for use in found]
        if lines and self.absent:
            roles = ", ".join(f"`{name}`" for name in self.absent)
            lines.append(f"`{self.folder}` binds roles that it does not contain: {roles}")
        return lines


def read(folder: Path, groups: Collection[str]) -> ProjectRoles:
    """Return the permissions in a folder of an operator with kinds in `groups`."""
    found = [
        one
        for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])
        if path.is_file()
        for document in documents.load_all(path.read_bytes(), str(path))
        for one in objects(document.value)
    ]
    roles = {_key(one, one.get("metadata")): one for one in found if _is(one, "Role")}
    rules: list[rbac.Rule] = []
    absent: list[str] = []
    is_known = False
    for binding in (one for one in found if _is(one, "RoleBinding")):
        key = _key(reference := _mapping(binding.get("roleRef")), reference)
        place = "" if binding["kind"] == "RoleBinding" else None
        is_known |= key in roles or key == _ADMIN
        if key in roles:
            rules += [replace(one, namespace=place) for one in rbac.rules([roles[key]])]
        elif key == _ADMIN:
            rules.append(replace(_EVERYTHING, namespace=place))
        elif key[1]:
            absent.append(key[1])
    everywhere = any(one.namespace is None and {"*", *groups} & {*one.groups} for one in rules)
    # Without rules for the whole cluster, the operator's namespace is that of the samples.
    namespace = _OPERATOR_NAMESPACE if everywhere else None
    return ProjectRoles(
        folder=folder,
        rules=tuple(
            one if one.namespace is None else replace(one, namespace=namespace) for one in rules
        )
        if is_known
        else None,
        namespace=namespace or "",
        absent=tuple(dict.fromkeys(absent)),
    )


def objects(value: Any) -> Iterator[Manifest]:
    """Yield an object, or the objects of a list such as kubectl prints it."""
    if not isinstance(value, dict):
        return
    items = value.get("items")
    if isinstance(items, list) and str(value.get("kind")).endswith("List"):
        for one in items:
            yield from objects(one)
    elif "apiVersion" in value or "kind" in value:
        yield value


def _is(manifest: Manifest, kind: str) -> bool:
    return manifest.get("kind") in (kind, f"Cluster{kind}")


def _key(kind: Manifest, name: Any) -> tuple[str, str]:
    return str(kind.get("kind") or ""), str(_mapping(name).get("name") or "")


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
