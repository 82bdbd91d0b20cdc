"""Update references between resources when names and namespaces change.

A field that names another object has the original name of that object. After all names are final,
each such field is looked up among the earlier names and rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from olmkit.kube import objects
from olmkit.project.kustomize import fields
from olmkit.project.kustomize.fields import FieldSpec, Reference
from olmkit.project.kustomize.resources import Resource, refusal

_DEFAULT = "default"  # the namespace of an object without one


def rewrite(resources: Sequence[Resource], references: Iterable[Reference]) -> None:
    """Rewrite every reference in `resources`; one to an unknown object is not changed."""
    for reference in references:
        named = [resource for resource in resources if reference.means(resource.gvk)]
        if not named:
            continue
        for spec in reference.fields:
            for referrer in resources:
                if spec.applies(referrer.gvk):
                    _rewrite_field(referrer, spec, reference, named)


def _rewrite_field(
    referrer: Resource, spec: FieldSpec, reference: Reference, named: Sequence[Resource]
) -> None:
    if spec.path.endswith("roleRef/name") and not _means_role(referrer, reference):
        return

    def change(value: Any) -> Any:
        if isinstance(value, str):
            found = _by_name(value, referrer, reference, named)
            return found.name if found else None
        if isinstance(value, list):
            for item in value:
                _change_mapping(item, referrer, reference, named)
        else:
            _change_mapping(value, referrer, reference, named)
        return None

    fields.update(referrer.value, spec, change)


def _means_role(referrer: Resource, reference: Reference) -> bool:
    role = objects.mapping(referrer.value.get("roleRef"))
    return role.get("kind") == reference.kind and role.get("apiGroup") == reference.group


def _by_name(
    name: str, referrer: Resource, reference: Reference, named: Sequence[Resource]
) -> Resource | None:
    candidates = [
        resource
        for resource in named
        if _had_name(resource, name, reference) and _reaches(referrer, resource, reference)
    ]
    return _only(candidates, referrer, name)


def _reaches(referrer: Resource, resource: Resource, reference: Reference) -> bool:
    """Return whether an object may refer to another: in its namespace, or by a binding."""
    if not referrer.is_namespaced or not resource.is_namespaced:
        return True
    if (resource.namespace or _DEFAULT) == (referrer.namespace or _DEFAULT):
        return True
    return reference.kind == "ServiceAccount" and resource.namespace in _named_by(referrer)


def _named_by(referrer: Resource) -> set[str]:
    """Return the namespaces of the accounts in a RoleBinding."""
    if referrer.gvk.kind != "RoleBinding":
        return set()
    subjects = map(objects.mapping, objects.sequence(referrer.value.get("subjects")))
    return {
        objects.text(subject.get("namespace"))
        for subject in subjects
        if subject.get("kind") == "ServiceAccount"
    }


def _change_mapping(
    value: Any, referrer: Resource, reference: Reference, named: Sequence[Resource]
) -> None:
    """Change a reference with name and namespace, as in subjects and webhooks."""
    if not isinstance(value, dict) or value.get("kind", reference.kind) != reference.kind:
        return
    name, namespace = objects.text(value.get("name")), objects.text(value.get("namespace"))
    candidates = [
        resource
        for resource in named
        if _had_name(resource, name, reference) and _reaches(referrer, resource, reference)
    ]
    if namespace:
        exact = [item for item in candidates if item.original.namespace == namespace]
        candidates = exact or [item for item in candidates if item.namespace == namespace]
    found = _only(candidates, referrer, name)
    if found is None:
        return
    value["name"] = found.name
    if found.namespace and found.is_namespaced:
        value["namespace"] = found.namespace


def _had_name(resource: Resource, name: str, reference: Reference) -> bool:
    """Return whether a resource had this name before a step of an overlay."""
    names = {identity.name for identity in resource.past}
    return name in names and reference.kind in {identity.kind for identity in resource.past}


def _only(candidates: Sequence[Resource], referrer: Resource, name: str) -> Resource | None:
    if len(candidates) > 1:
        # Objects that came through the same overlays belong together.
        candidates = [
            item
            for item in candidates
            if item.prefixes == referrer.prefixes and item.suffixes == referrer.suffixes
        ]
    if len(candidates) > 1:
        near = [item for item in candidates if item.namespace == referrer.namespace]
        candidates = near or candidates
    if not candidates:
        return None
    if len({item.now for item in candidates}) > 1:
        others = ", ".join(f"{item} ({item.document.at()})" for item in candidates)
        raise refusal(
            f"`{name}` in {referrer} may refer to several objects: {others}",
            referrer.document.at(),
            hint="give them different names",
        )
    return candidates[0]
