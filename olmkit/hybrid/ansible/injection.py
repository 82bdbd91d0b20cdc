"""Parse a run's requests to the API server, and add owner references to created objects.

An owner reference is used if Kubernetes allows one, else annotations. Both are set on created and
on applied objects, because an apply may create an object.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.hybrid import primaries
from olmkit.kube import objects, owners
from olmkit.kube.objects import GVK, Manifest

_APPLY = "application/apply-patch+"
_JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiPath:
    """The parts of an API path; empty if missing."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def is_of_secrets(self) -> bool:
        """Return whether it is about Secrets of Kubernetes."""
        return (self.group, self.plural) == ("", "secrets")


def parse_path(path: str) -> ApiPath | None:
    """Return the parts of a path such as `/api/v1/namespaces/ns/pods/one`; None for others."""
    steps = [one for one in path.split("/") if one]
    if steps[:1] == ["api"] and len(steps) > 2:
        group, version, rest = "", steps[1], steps[2:]
    elif steps[:1] == ["apis"] and len(steps) > 3:
        group, version, rest = steps[1], steps[2], steps[3:]
    else:
        return None
    namespace = ""
    # `namespaces/ns` alone, or with its subresources, is the Namespace itself.
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    plural, name, *more = [*rest, ""] if len(rest) == 1 else rest
    return ApiPath(
        group=group,
        version=version,
        plural=plural,
        namespace=namespace,
        name=name,
        subresource="/".join(more),
    )


def creates(method: str, path: ApiPath, content_type: str) -> bool:
    """Return whether the request may create an object itself."""
    if path.subresource:
        return False
    if method == "POST":
        return content_type.startswith(_JSON) or "yaml" in content_type
    return method == "PATCH" and content_type.startswith(_APPLY)


def read(body: bytes) -> Manifest | None:
    """Return the object of a body in JSON or YAML; None for anything else."""
    try:
        value = documents.load(body, "body").value
    except InputError:
        return None
    is_object = isinstance(value, dict) and isinstance(value.get("metadata", {}), dict)
    return value if is_object else None


def kind(manifest: Manifest, path: ApiPath) -> GVK:
    """Return the kind of the object; group and version are those of the path."""
    return GVK(group=path.group, version=path.version, kind=objects.kind(manifest))


def add_owner(manifest: Manifest, owner: Manifest, *, namespace: str) -> Manifest:
    """Return the object with its owner; `namespace` is empty for cluster-scoped objects."""
    made = copy.deepcopy(manifest)
    metadata = made.setdefault("metadata", {})
    if not objects.namespace(owner) or objects.namespace(owner) == namespace:
        if namespace:
            metadata.setdefault("namespace", namespace)
        owners.set_owner_reference(owner, made)
    else:
        annotations = dict(objects.mapping(metadata.get("annotations")))
        metadata["annotations"] = annotations | primaries.owner_annotations(owner)
    return made


def belongs(manifest: Manifest, owner: Manifest) -> bool:
    """Return whether the object names this owner."""
    wanted = primaries.owner_annotations(owner)
    annotations = objects.annotations_of(manifest)
    is_annotated = all(annotations.get(key) == value for key, value in wanted.items())
    return is_annotated or owners.has_owner_reference(owner, manifest)
