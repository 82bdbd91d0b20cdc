"""Apply the transformers of an overlay: names, labels, images, replicas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from olmkit.base.diagnostics import Location
from olmkit.kube import objects
from olmkit.project.kustomize import fields
from olmkit.project.kustomize.fields import FieldSpec, Lists
from olmkit.project.kustomize.resources import Resource, refusal

# Kinds whose names are fixed by their definition.
_UNPREFIXED = frozenset({"CustomResourceDefinition", "Namespace", "APIService"})


def set_namespace(resources: Iterable[Resource], namespace: str, lists: Lists) -> None:
    for resource in resources:
        api = resource.gvk
        resource.remember()
        if (api.group, api.kind) == ("", "Namespace"):
            resource.rename(name=namespace)
        elif resource.is_namespaced:
            resource.rename(namespace=namespace)
        if api.kind in ("RoleBinding", "ClusterRoleBinding"):
            _set_default_subjects(resource, namespace)
        for spec in (*fields.NAMESPACES, *lists.namespace):
            if spec.applies(api):
                fields.update(resource.value, spec, lambda _: namespace)


def _set_default_subjects(resource: Resource, namespace: str) -> None:
    # Only the account `default` is certainly in the overlay's namespace; others follow the account
    # that they name.
    for subject in objects.sequence(resource.value.get("subjects")):
        if isinstance(subject, dict) and subject.get("name") == "default":
            subject["namespace"] = namespace


def add_affixes(resources: Iterable[Resource], prefix: str, suffix: str, lists: Lists) -> None:
    for resource in resources:
        for spec in lists.name_prefix:
            if prefix and spec.applies(resource.gvk):
                fields.update(resource.value, spec, _add_prefix(prefix))
        if resource.gvk.kind in _UNPREFIXED:
            continue
        if prefix:
            resource.prefixes = (*resource.prefixes, prefix)
            resource.remember()
            resource.rename(name=prefix + resource.name)
        if suffix:
            resource.suffixes = (*resource.suffixes, suffix)
            resource.remember()
            resource.rename(name=resource.name + suffix)


def _add_prefix(prefix: str) -> Callable[[Any], Any]:
    return lambda value: prefix + value if isinstance(value, str) else None


def add_pairs(
    resources: Iterable[Resource], pairs: Mapping[str, str], specs: Sequence[FieldSpec]
) -> None:
    """Add labels or annotations at the given fields."""

    def change(value: Any) -> Any:
        return {**objects.mapping(value), **pairs}

    for resource in resources:
        done: set[str] = set()
        for spec in specs:
            if spec.applies(resource.gvk) and spec.path not in done:
                done.add(spec.path)
                fields.update(resource.value, spec, change)


def set_replicas(
    resources: Iterable[Resource], name: str, count: int, at: Location, lists: Lists
) -> None:
    found = False
    for resource in resources:
        for spec in (*fields.REPLICAS, *lists.replicas):
            if spec.applies(resource.gvk) and any(
                identity.name == name for identity in resource.identities
            ):
                found = True
                fields.update(resource.value, spec, lambda _: count)
    if not found:
        raise refusal(f"no resource `{name}` has replicas", at)


def set_images(
    resources: Iterable[Resource], entry: Mapping[str, Any], at: Location, lists: Lists
) -> None:
    """Change the images that match an entry of `images`."""
    name = objects.text(entry.get("name"))
    try:
        pattern = re.compile(
            rf"{name}(?::[a-zA-Z0-9_.{{}}-]*)?(?:@sha256:[a-zA-Z0-9_.{{}}-]*)?", re.ASCII
        )
    except re.error as error:
        raise refusal(f"`{name}` is not an image name: {error}", at) from None

    def change(value: Any) -> Any:
        if isinstance(value, str) and pattern.fullmatch(value):
            return _change_image_name(value, entry)
        return None

    for resource in resources:
        if resource.gvk.kind != "CustomResourceDefinition":
            _visit_images(resource.value, change)
        for spec in lists.images:
            if spec.applies(resource.gvk):
                fields.update(resource.value, spec, change)


def _change_image_name(image: str, entry: Mapping[str, Any]) -> str:
    name, tag, digest = split_image(image)
    new_tag, new_digest = entry.get("newTag"), entry.get("digest")
    name = objects.text(entry.get("newName")) or name
    if new_tag or new_digest:
        tag = str(new_tag) if new_tag else ""
        digest = str(new_digest) if new_digest else ""
    if entry.get("tagSuffix") and tag:
        tag += str(entry["tagSuffix"])
    return name + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")


def split_image(image: str) -> tuple[str, str, str]:
    """Return name, tag and digest of an image as written."""
    rest, _, digest = image.partition("@")
    folder, slash, last = rest.rpartition("/")
    last, _, tag = last.partition(":")
    return folder + slash + last, tag, digest


def _visit_images(value: Any, change: Callable[[Any], Any]) -> None:
    """Visit the images of containers, in any pod spec of the object."""
    if isinstance(value, list):
        for item in value:
            _visit_images(item, change)
        return
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key in ("containers", "initContainers") and isinstance(item, list):
            for container in item:
                _change_image(container, "image", change)
        elif key == "volumes" and isinstance(item, list):
            for volume in item:
                _change_image(objects.mapping(volume).get("image"), "reference", change)
        _visit_images(item, change)


def _change_image(holder: Any, key: str, change: Callable[[Any], Any]) -> None:
    if isinstance(holder, dict) and key in holder:
        new = change(holder[key])
        if new is not None:
            holder[key] = new
