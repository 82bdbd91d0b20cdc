"""Owner references of objects.

The API server does not check the namespaces of an owner and its object. The garbage collector looks
for the owner in the object's namespace, does not find it, and deletes the object; so the namespaces
are checked here.
"""

from __future__ import annotations

from typing import Any, Protocol

from olmkit.kube import objects
from olmkit.kube.objects import GVK, Manifest


class TypedOwner(Protocol):
    """An object of a class of the operator."""

    def to_manifest(self) -> Manifest:
        """Return the object as a manifest."""


Owner = Manifest | TypedOwner
"""A manifest, or an object of a class of the operator."""


class AlreadyOwned(ValueError):  # noqa: N818 - the field's word
    """Another controller owns the object; the message names both."""


def set_controller_reference(
    owner: Owner, manifest: Manifest, *, block_owner_deletion: bool = True
) -> None:
    """Make `owner` the controller of the object.

    `block_owner_deletion` needs permission to update the owner kind's finalizers if the admission
    plug-in OwnerReferencesPermissionEnforcement is enabled, as on OpenShift. Raises `AlreadyOwned`,
    and `ValueError` if the namespaces forbid it.
    """
    owner = _manifest_of(owner)
    current = controller_of(manifest)
    if current is not None and not _same_owner(current, _reference(owner)):
        raise AlreadyOwned(
            f"{objects.kind(manifest)} {objects.name(manifest)} is controlled by "
            f"{current.get('kind')} {current.get('name')}, not by "
            f"{objects.kind(owner)} {objects.name(owner)}"
        )
    reference = _reference(owner) | {"controller": True}
    if block_owner_deletion:
        reference["blockOwnerDeletion"] = True
    _put(owner, manifest, reference)


def set_owner_reference(owner: Owner, manifest: Manifest) -> None:
    """Make `owner` an owner of the object; `ValueError` if the namespaces forbid it."""
    owner = _manifest_of(owner)
    _put(owner, manifest, _reference(owner))


def remove_owner_reference(owner: Owner, manifest: Manifest) -> bool:
    """Remove the reference to `owner`; return whether it existed."""
    owner = _manifest_of(owner)
    references = _references(manifest)
    kept = [one for one in references if not _same_owner(one, _reference(owner))]
    if len(kept) == len(references):
        return False
    metadata = manifest["metadata"]
    if kept:
        metadata["ownerReferences"] = kept
    else:
        del metadata["ownerReferences"]
    return True


def remove_controller_reference(owner: Owner, manifest: Manifest) -> bool:
    """Remove the reference to `owner` if it is the controller; return whether it was."""
    owner = _manifest_of(owner)
    controller = controller_of(manifest)
    if controller is None or not _same_owner(controller, _reference(owner)):
        return False
    return remove_owner_reference(owner, manifest)


def has_owner_reference(owner: Owner, manifest: Manifest) -> bool:
    """Return whether `manifest` has a reference to `owner`, by group, kind and name."""
    owner = _manifest_of(owner)
    return any(_same_owner(one, _reference(owner)) for one in _references(manifest))


def controller_of(manifest: Manifest) -> dict[str, Any] | None:
    """Return the reference with `controller: true`, if there is one."""
    return next((one for one in _references(manifest) if one.get("controller") is True), None)


def is_controlled_by(manifest: Manifest, owner: Owner) -> bool:
    """Compare by UID: an owner that was created again under the same name is a different one."""
    controller = controller_of(manifest)
    uid = objects.metadata(_manifest_of(owner)).get("uid")
    return controller is not None and bool(uid) and controller.get("uid") == uid


def _manifest_of(owner: Owner) -> Manifest:
    return owner if isinstance(owner, dict) else owner.to_manifest()


def _put(owner: Manifest, manifest: Manifest, reference: dict[str, Any]) -> None:
    _check_namespaces(owner, manifest)
    references = _references(manifest)
    for index, one in enumerate(references):
        if _same_owner(one, reference):
            references[index] = reference
            break
    else:
        references.append(reference)
    manifest.setdefault("metadata", {})["ownerReferences"] = references


def _check_namespaces(owner: Manifest, manifest: Manifest) -> None:
    theirs, its = objects.namespace(owner), objects.namespace(manifest)
    if not theirs:
        return
    if not its:
        raise ValueError(
            f"{objects.kind(owner)} {objects.name(owner)} has a namespace and cannot own the "
            f"cluster-scoped {objects.kind(manifest)} {objects.name(manifest)}"
        )
    if theirs != its:
        raise ValueError(
            f"{objects.kind(owner)} {objects.name(owner)} in {theirs} cannot own "
            f"{objects.kind(manifest)} {objects.name(manifest)} in {its}"
        )


def _reference(owner: Manifest) -> dict[str, Any]:
    uid = objects.metadata(owner).get("uid")
    if not uid:
        raise ValueError(
            f"{objects.kind(owner)} {objects.name(owner)} has no uid: it must come from the server"
        )
    return {
        "apiVersion": owner.get("apiVersion"),
        "kind": objects.kind(owner),
        "name": objects.name(owner),
        "uid": uid,
    }


def _references(manifest: Manifest) -> list[dict[str, Any]]:
    found = objects.sequence(objects.metadata(manifest).get("ownerReferences"))
    return [one for one in found if isinstance(one, dict)]


def _same_owner(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Compare by group, kind and name; the API version may have changed."""
    one = GVK.parse(objects.text(left.get("apiVersion")), objects.text(left.get("kind")))
    other = GVK.parse(objects.text(right.get("apiVersion")), objects.text(right.get("kind")))
    return (one.group, one.kind, left.get("name")) == (other.group, other.kind, right.get("name"))
