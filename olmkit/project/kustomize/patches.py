"""Apply the patches of an overlay.

A list is a JSON patch, a mapping a strategic merge; either is in a file or in the
kustomization itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.base import documents
from olmkit.base.diagnostics import Diagnostic, InputError, Location
from olmkit.base.documents import Document, Key
from olmkit.kube import objects, patches
from olmkit.kube.patches import PatchError
from olmkit.project.kustomize.resources import (
    PIPE_HINT,
    Resource,
    Selector,
    idle_patch,
    refusal,
    same_namespace,
)


@dataclass(frozen=True, slots=True)
class Patch:
    """One patch; without a target, it names its resource itself."""

    value: Any
    target: Selector | None
    at: Location


def parse(
    overlay: Document,
    keys: tuple[Key, ...],
    values: Mapping[str, Any],
    loaded: Sequence[Document] | None,
) -> Sequence[Patch]:
    """Return the patches of one entry of a kustomization, whose file is `loaded`."""
    at = overlay.at(*keys)
    if bool(values.get("path")) == bool(values.get("patch")):
        raise refusal("a patch needs one of `path` and `patch`", at)
    target = None
    if values.get("target"):
        target = Selector.parse(values["target"], overlay.at(*keys, "target"))
    found = _inline(str(values["patch"]), overlay.path, at) if loaded is None else loaded
    made = [
        Patch(document.value, target, at if loaded is None else document.at())
        for document in found
        if document.value is not None
    ]
    merges = [patch for patch in made if isinstance(patch.value, dict)]
    if target is not None and len(merges) > 1:
        raise refusal(
            "a patch with a `target` is one document, and this has several",
            merges[1].at,
            hint="remove the `target`, or write an entry for each",
        )
    if merges and any(objects.mapping(values.get("options")).values()):
        raise refusal(
            "`options` of a strategic merge patch are not supported here",
            overlay.at_key(*keys, "options"),
            PIPE_HINT,
        )
    return made


def apply(resources: list[Resource], patch: Patch, findings: list[Diagnostic]) -> None:
    """Patch the targets; a missing target is a finding, while kustomize ignores it."""
    if patch.target is not None and not any(map(patch.target.matches, resources)):
        findings.append(idle_patch(patch.at))
    try:
        _apply(resources, patch)
    except PatchError as error:
        raise refusal(f"the patch does not apply: {error}", patch.at) from None


def _inline(text: str, path: str, at: Location) -> list[Document]:
    try:
        return list(documents.load_all(text.encode(), path, as_kustomize=True))
    except InputError as error:
        raise refusal(f"the patch is not YAML: {error.diagnostics[0].message}", at) from None


def _apply(resources: list[Resource], patch: Patch) -> None:
    if isinstance(patch.value, list):
        if patch.target is None:
            raise refusal("a JSON patch needs a `target`", patch.at)
        for resource in resources:
            if patch.target.matches(resource):
                old = resource.now
                resource.value = _still_one(
                    patches.json_patch(resource.value, patch.value), resource, patch
                )
                if resource.now != old:
                    resource.past.append(old)
        return
    if not isinstance(patch.value, dict):
        raise refusal("a patch is a mapping or a list of operations", patch.at)
    if patch.target is not None:
        wanted = [resource for resource in resources if patch.target.matches(resource)]
    else:
        wanted = [_find_targets(resources, patch)]
    for resource in wanted:
        merged = patches.strategic_merge(resource.value, _without_identity(patch.value))
        if merged is None:
            resources.remove(resource)
        else:
            resource.value = _still_one(merged, resource, patch)


def _still_one(value: Any, resource: Resource, patch: Patch) -> dict[str, Any]:
    """Return a patched resource, which must keep its kind and name."""
    if isinstance(value, dict) and objects.kind(value) and objects.name(value):
        return value
    raise refusal(
        f"the patch leaves {resource} without kind or name",
        patch.at,
        hint="replace them instead of removing them",
    )


def _find_targets(resources: Sequence[Resource], patch: Patch) -> Resource:
    api, name = objects.gvk(patch.value), objects.name(patch.value)
    namespace = objects.namespace(patch.value)
    if not api.kind or not name:
        raise refusal("a patch without `target` needs `kind` and `metadata.name`", patch.at)
    found = [
        resource
        for resource in resources
        if (resource.gvk.group, resource.gvk.kind) == (api.group, api.kind)
        and any(
            identity.name == name and same_namespace(identity.namespace, namespace)
            for identity in resource.identities
        )
    ]
    if len(found) != 1:
        reason = "no resource matches" if not found else "several resources match"
        raise refusal(
            f"{reason} the strategic merge patch of {api.kind} `{name}`",
            patch.at,
            hint="correct its kind, name or namespace, or give the patch a `target`",
        )
    return found[0]


def _without_identity(patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the patch without the fields that identify its target: it does not rename it."""
    result = {key: item for key, item in patch.items() if key not in ("apiVersion", "kind")}
    if isinstance(result.get("metadata"), dict):
        result["metadata"] = {
            key: item
            for key, item in result["metadata"].items()
            if key not in ("name", "namespace")
        }
    return result
