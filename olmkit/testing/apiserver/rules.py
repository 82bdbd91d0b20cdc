"""Rules that an API server applies to a write before it stores the object.

The functions take the current object, the requested object and the kind's collection. They return
the object to store, or raise a `Refusal`.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.kube import patches
from olmkit.kube.crds import field_errors
from olmkit.kube.crds.field_errors import FieldError
from olmkit.kube.objects import GVK, Manifest
from olmkit.testing.apiserver import refusals
from olmkit.testing.apiserver.kinds import decoding, schemas
from olmkit.testing.apiserver.kinds.collection import Collection, Key
from olmkit.testing.apiserver.refusals import FieldCause, Refusal

# Fields that a client cannot set.
_GIVEN = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
    "managedFields",
    "selfLink",
)
_POD = GVK("", "v1", "Pod")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_EVENT_FIELDS = ("eventTime", "reportingController", "reportingInstance", "action", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """The parameters of a write."""

    validation: str = "Warn"  # field validation: Strict, Warn or Ignore
    is_patch: bool = False
    warnings: list[str] = field(default_factory=list)


def check_place(collection: Collection, method: str, namespace: str, name: str) -> None:
    """Raise a `Refusal` for a path that does not match the scope of the kind.

    Requests without a namespace can read a namespaced kind, but cannot create objects.
    """
    if collection.resource.namespaced and not namespace and (name or method != "GET"):
        raise (
            refusals.no_such_path()
            if name or collection.is_custom
            else refusals.method_not_allowed()
        )
    if namespace and not collection.resource.namespaced:
        raise refusals.no_such_path()


def check_identity(collection: Collection, manifest: Any, key: Key) -> Manifest:
    """Return the body of a write to `key`; raise a `Refusal` if its identity differs."""
    resource = collection.resource
    if not isinstance(manifest, dict):
        raise refusals.bad_request("the body of the request is not an object")
    kind, version = manifest.get("kind"), manifest.get("apiVersion")
    if kind and kind != resource.gvk.kind and collection.is_custom:
        words = f'Invalid value: "{kind}": must be {resource.gvk.kind}'
        raise refusals.invalid(resource, key[1], [FieldCause("kind", "FieldValueInvalid", words)])
    if (kind and kind != resource.gvk.kind) or (version and version != resource.api_version):
        raise refusals.bad_request(
            f"{version}, Kind={kind} does not match the expected kind {resource.gvk.kind}"
        )
    metadata = manifest.get("metadata")
    if metadata is None:
        metadata = manifest["metadata"] = {}
    if not isinstance(metadata, dict):
        raise refusals.bad_request("the metadata of the object is not a map")
    _check_texts(collection, metadata)
    namespace, name = key
    if metadata.get("namespace") and resource.namespaced and metadata["namespace"] != namespace:
        raise refusals.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if resource.namespaced:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    if name and metadata.get("name", name) != name:
        raise refusals.bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL "
            f"({name})"
        )
    if name:
        metadata["name"] = name
    return manifest


def check_declared(collection: Collection, desired: Manifest) -> None:
    """Raise a `Refusal` for an applied object with fields that its schema does not declare."""
    if collection.schema is not None:
        unknown = schemas.unknown_fields(desired, collection.schema)
        errors = [f".{path}: field not declared in schema" for path in unknown]
    elif collection.type:
        errors = decoding.decode(desired, collection.type).declared
    else:
        return
    if errors:
        metadata, gvk = desired["metadata"], collection.resource.gvk
        name = "/".join((metadata.get("namespace") or "", metadata.get("name") or ""))
        listed = errors[0] if len(errors) == 1 else "errors:\n  " + "\n  ".join(errors)
        raise Refusal(
            *(500, "InternalError"),
            f"failed to create typed patch object ({name}; {gvk.group}/{gvk.version}, "
            f"Kind={gvk.kind}): {listed}",
        )


def replacing(collection: Collection, manifest: Any, key: Key) -> Manifest:
    """Return the body of a PUT to `key`; custom resources need a resource version."""
    new = check_identity(collection, manifest, key)
    if collection.is_custom and not new["metadata"].get("resourceVersion"):
        words = "Invalid value: 0: must be specified for an update"
        cause = FieldCause("metadata.resourceVersion", "FieldValueInvalid", words)
        raise refusals.invalid(collection.resource, key[1], [cause])
    return new


def check_preconditions(collection: Collection, old: Manifest, options: Mapping[str, Any]) -> None:
    """Raise a conflict if a deletion has a different UID or resource version."""
    for words, name in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
        wanted = (options.get("preconditions") or {}).get(name)
        found = old["metadata"][name]
        if wanted and wanted != found:
            happened = "deleted and then recreated" if name == "uid" else "modified"
            raise refusals.conflict(
                *(collection.resource, old["metadata"]["name"]),
                f"the {words} in the precondition ({wanted}) does not match the {words} in "
                f"record ({found}). The object might have been {happened}",
            )


def grace_of(
    collection: Collection,
    old: Manifest,
    options: Mapping[str, Any],
    query: Mapping[str, str],
) -> int:
    """Return the grace period of a deletion; only a pod on a node has one."""
    spec = old.get("spec") or {}
    is_pod = collection.resource.gvk == _POD
    if not is_pod or not spec.get("nodeName"):
        return 0
    if (old.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    given = options.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    seconds = spec.get("terminationGracePeriodSeconds", 30) if given is None else int(given)
    before = old["metadata"].get("deletionGracePeriodSeconds")
    return seconds if before is None else min(seconds, before)


def _check_texts(collection: Collection, metadata: Mapping[str, Any]) -> None:
    """Check the types of names, labels and annotations; null removes a key."""
    for name in ("name", "generateName", "namespace", "labels", "annotations"):
        found = metadata.get(name)
        is_map = name in ("labels", "annotations")
        if is_map and isinstance(found, dict):
            odd = next((one for one in found.values() if not isinstance(one, str | None)), None)
            is_map = False
        else:
            odd = None if not is_map and isinstance(found, str) else found
        if odd is not None:
            gvk = collection.resource.gvk
            field_name = name if collection.is_custom else f"metadata.{name}"
            raise refusals.bad_request(
                f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {gvk.kind}: json: '
                f"cannot unmarshal {_noun(odd)} into Go struct field ObjectMeta.{field_name} of "
                f"type {'map[string]string' if is_map else 'string'}"
            )


def _noun(value: Any) -> str:
    """Return Go's word for the type of a JSON value."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"
        case _:
            return "number"


def created(collection: Collection, manifest: Manifest, manner: Manner) -> Manifest:
    """Return a new object as it would be stored, without the fields that the server sets."""
    metadata = manifest["metadata"]
    if metadata.get("resourceVersion"):
        raise Refusal(
            500, "InternalError", "resourceVersion should not be set on objects to be created"
        )
    for given in _GIVEN:
        metadata.pop(given, None)
    if "status" in collection.resource.subresources:
        manifest.pop("status", None)
    manifest = shaped(collection, manifest, manner)
    check(collection, manifest, manner)
    return manifest


def changed(
    collection: Collection, old: Manifest, new: Manifest, subresource: str, manner: Manner
) -> Manifest:
    """Return an object after a write; fields that this write may not change stay the same."""
    metadata = new["metadata"]
    name = metadata.get("name") or old["metadata"]["name"]
    version = metadata.get("resourceVersion")
    if version and version != old["metadata"]["resourceVersion"]:
        raise refusals.conflict(collection.resource, name)
    uid = metadata.get("uid")
    if uid and uid != old["metadata"]["uid"] and manner.is_patch:
        cause = FieldCause(
            *("metadata.uid", "FieldValueInvalid"),
            f'Invalid value: "{uid}": field is immutable',
        )
        raise refusals.invalid(collection.resource, name, [cause])
    if uid and uid != old["metadata"]["uid"]:
        raise refusals.conflict(
            *(collection.resource, name),
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
            f"{old['metadata']['uid']}",
        )
    new = shaped(collection, new, manner)
    if subresource == "status":
        kept = copy.deepcopy(old)
        kept.pop("status", None)
        if "status" in new:
            kept["status"] = new["status"]
        if not collection.is_custom:
            kept["metadata"] = new["metadata"]
        new = kept
    elif "status" in collection.resource.subresources:
        new = {key: value for key, value in new.items() if key != "status"}
        if "status" in old:
            new["status"] = copy.deepcopy(old["status"])
    metadata = dict(new["metadata"])
    for given in _GIVEN:
        metadata.pop(given, None)
        if given in old["metadata"]:
            metadata[given] = old["metadata"][given]
    for words in ("labels", "annotations", "finalizers", "ownerReferences"):
        if not metadata.get(words):
            metadata.pop(words, None)
    metadata["name"] = old["metadata"]["name"]
    if "namespace" in old["metadata"]:
        metadata["namespace"] = old["metadata"]["namespace"]
    new = new | {"metadata": metadata}
    check(collection, new, manner)
    _check_finalizers(collection, old, new)
    return new


def shaped(collection: Collection, manifest: Manifest, manner: Manner) -> Manifest:
    """Return the object with defaults, and without unknown fields."""
    gvk = collection.resource.gvk
    if collection.type:
        decoded = decoding.decode(manifest, collection.type)
        if decoded.misfit:
            raise _undecodable(gvk, manifest, manner, decoded.misfit)
        _judge_unknown(gvk, manifest, manner, decoded.unknown)
        return decoding.with_data(gvk, decoded.value)
    if collection.schema is None:
        return manifest
    unknown = schemas.unknown_fields(manifest, collection.schema)
    _judge_unknown(gvk, manifest, manner, unknown)
    found = schemas.pruned(manifest, collection.schema)
    result: Manifest = schemas.with_defaults(found, collection.schema)
    return result


def _judge_unknown(gvk: GVK, manifest: Manifest, manner: Manner, unknown: list[str]) -> None:
    """Reject unknown fields or add warnings for them, depending on the field validation."""
    if unknown and manner.validation == "Strict":
        listed = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise _undecodable(gvk, manifest, manner, f"strict decoding error: {listed}")
    if manner.validation == "Warn":
        manner.warnings.extend(f'unknown field "{path}"' for path in unknown)


def _undecodable(gvk: GVK, manifest: Manifest, manner: Manner, why: str) -> Refusal:
    """Return the refusal of an object that cannot be decoded, or of a patch to a built-in kind."""
    if manner.is_patch and patches.is_built_in(gvk.group):
        words = f"Invalid value: {json.dumps(json.dumps(manifest, separators=(',', ':')))}: {why}"
        cause = {"reason": "FieldValueInvalid", "message": words, "field": "patch"}
        message = f' "" is invalid: patch: {words}'
        return Refusal(422, "Invalid", message, details={"causes": [cause]})
    return refusals.bad_request(
        f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {gvk.kind}: {why}'
    )


def desired_state(collection: Collection, manifest: Manifest) -> Mapping[str, Any]:
    """Return the part of an object whose change increases the generation."""
    left_out = {"metadata", "apiVersion", "kind"}
    if "status" in collection.resource.subresources or not collection.is_custom:
        left_out.add("status")
    return {key: value for key, value in manifest.items() if key not in left_out}


def check(collection: Collection, manifest: Manifest, manner: Manner) -> None:
    """Validate an object as a whole; raise a `Refusal` if it is invalid."""
    metadata = manifest["metadata"]
    name = metadata.get("name", "")
    rest = {key: value for key, value in metadata.items() if key != "namespace"}
    causes = [_cause(error) for error in field_errors.object_metadata(rest)]
    if name and (len(name) > 253 or not _NAME.fullmatch(name)):
        words = f'Invalid value: "{name}": a lowercase RFC 1123 subdomain must consist of lower'
        causes.append(
            FieldCause(
                *("metadata.name", "FieldValueInvalid"),
                f"{words} case alphanumeric characters, '-' or '.', and must start and end with an "
                "alphanumeric character",
            )
        )
    if collection.schema is not None:
        causes += schemas.faults(manifest, collection.schema)
    causes += _BUILT_IN.get(collection.resource.plural, _nothing)(manifest)
    if causes:
        raise refusals.invalid(collection.resource, name, causes)
    for finalizer in metadata.get("finalizers") or ():
        if "/" not in finalizer:
            manner.warnings.append(
                f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name '
                "including a path (/) to avoid accidental conflicts with other finalizer writers"
            )


def _cause(error: FieldError) -> FieldCause:
    place, _, words = error.message.partition(": ")
    reasons = {"Required": "FieldValueRequired", "Forbidden": "FieldValueForbidden"}
    return FieldCause(place, reasons.get(words.split(":")[0].strip(), "FieldValueInvalid"), words)


def _check_finalizers(collection: Collection, old: Manifest, new: Manifest) -> None:
    if not old["metadata"].get("deletionTimestamp"):
        return
    before = old["metadata"].get("finalizers") or []
    added = [one for one in new["metadata"].get("finalizers") or [] if one not in before]
    if added:
        words = "Forbidden: no new finalizers can be added if the object is being deleted, found"
        cause = FieldCause(
            "metadata.finalizers", "FieldValueForbidden", f"{words} new finalizers {added}"
        )
        raise refusals.invalid(collection.resource, old["metadata"]["name"], [cause])


def _nothing(manifest: Manifest) -> list[FieldCause]:  # noqa: ARG001 - most kinds are not judged
    return []


def _lease(manifest: Manifest) -> list[FieldCause]:
    seconds = (manifest.get("spec") or {}).get("leaseDurationSeconds")
    if seconds is None or seconds > 0:
        return []
    words = f"Invalid value: {seconds}: must be greater than 0"
    return [FieldCause("spec.leaseDurationSeconds", "FieldValueInvalid", words)]


def _event(manifest: Manifest) -> list[FieldCause]:
    if manifest.get("apiVersion") == "v1":
        return []  # the older API accepts these
    if "series" in manifest and "reason" not in manifest:
        return []
    causes = [
        FieldCause(name, "FieldValueRequired", "Required value")
        for name in _EVENT_FIELDS
        if not manifest.get(name)
    ]
    if manifest.get("type") not in ("Normal", "Warning"):
        causes.append(FieldCause("type", "FieldValueInvalid", "Invalid value"))
    return causes


_BUILT_IN: Mapping[str, Callable[[Manifest], list[FieldCause]]] = {
    "leases": _lease,
    "events": _event,
}


def present(collection: Collection, key: Key) -> Manifest:
    """Return an object of the collection; raise a `Refusal` if it does not exist."""
    found = collection.objects.get(key)
    if found is None:
        raise refusals.not_found(collection.resource, key[1])
    return found
