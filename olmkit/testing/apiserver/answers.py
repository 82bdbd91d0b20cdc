"""The response formats of the API server double: objects, lists, tables, metadata."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from olmkit.kube.objects import Manifest
from olmkit.testing.apiserver.kinds import collection as api_collection
from olmkit.testing.apiserver.kinds.collection import Collection
from olmkit.testing.apiserver.ownership import FieldConflict, Manager
from olmkit.testing.apiserver.refusals import Refusal
from olmkit.testing.apiserver.rules import Manner


def wants_metadata(request: web.Request) -> bool:
    return "as=PartialObjectMetadata" in request.headers.get("Accept", "")


def partial(shown: Manifest) -> Manifest:
    """Return only the metadata of an object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": shown["metadata"],
    }


def listed(
    request: web.Request,
    collection: Collection,
    shown: Sequence[Manifest],
    metadata: Mapping[str, Any],
) -> Manifest:
    """Return a page of a list, in the format that the request accepts."""
    if "as=Table" in request.headers.get("Accept", ""):
        return _table(collection, shown, metadata)
    if wants_metadata(request):
        return {
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "items": [partial(one) for one in shown],
        }
    resource = collection.resource
    return {
        "kind": f"{resource.gvk.kind}List",
        "apiVersion": resource.api_version,
        "metadata": metadata,
        # Items of built-in kinds have no `kind`.
        "items": list(shown)
        if collection.is_custom
        else [
            {key: value for key, value in one.items() if key not in ("apiVersion", "kind")}
            for one in shown
        ],
    }


def _table(
    collection: Collection, shown: Sequence[Manifest], metadata: Mapping[str, Any]
) -> Manifest:
    columns = collection.columns
    definitions = [
        {"name": name, "type": sort, "format": "", "description": "", "priority": 0}
        for name, sort in zip(("Name", *columns.names), ("string", *columns.types), strict=True)
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": [
            {
                "cells": [
                    one["metadata"]["name"],
                    *(api_collection.value_at(one, path) for path in columns.paths),
                ],
                "object": partial(one),
            }
            for one in shown
        ],
    }


def scale_of(collection: Collection, shown: Manifest) -> Manifest:
    """Return the scale subresource of an object."""
    paths = collection.scale or {}
    metadata = shown["metadata"]
    status: dict[str, Any] = {
        "replicas": api_collection.value_at(shown, paths.get("statusReplicasPath", "")) or 0
    }
    selector = api_collection.value_at(shown, paths.get("labelSelectorPath", "spec.selector"))
    if isinstance(selector, Mapping):
        labels = selector.get("matchLabels") or {}
        selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    if selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            key: metadata[key]
            for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
            if key in metadata
        },
        "spec": {
            "replicas": api_collection.value_at(shown, paths.get("specReplicasPath", "")) or 0
        },
        "status": status,
    }


def scaled(collection: Collection, old: Manifest, scale: Manifest) -> Manifest:
    """Return the object with the number of replicas of its scale."""
    path = (collection.scale or {}).get("specReplicasPath", ".spec.replicas")
    new = copy.deepcopy(old)
    *steps, last = path.strip(".").split(".")
    here = new
    for step in steps:
        here = here.setdefault(step, {})
    here[last] = (scale.get("spec") or {}).get("replicas", 0)
    version = (scale.get("metadata") or {}).get("resourceVersion")
    if version:
        new["metadata"]["resourceVersion"] = version
    return new


def _named(manager: Manager, version: str) -> str:
    name, operation, subresource = manager
    words = f'"{name}"'
    if subresource:
        words += f' with subresource "{subresource}"'
    return words if operation == "Apply" else f"{words} using {version}"


def field_conflicts(conflicts: Sequence[FieldConflict], version: str) -> Refusal:
    """Return the refusal of an apply with conflicts."""
    named = [(_named(one.manager, version), one.path) for one in conflicts]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {user_name}", "field": path}
        for user_name, path in named
    ]
    if len(named) == 1:
        [(user_name, path)] = named
        words = f"Apply failed with 1 conflict: conflict with {user_name}: {path}"
    else:
        words = f"Apply failed with {len(named)} conflicts: " + "\n".join(
            f"conflicts with {user_name}:"
            + "".join(f"\n- {path}" for own, path in named if own == user_name)
            for user_name in dict.fromkeys(user_name for user_name, _ in named)
        )
    return Refusal(409, "Conflict", words, details={"causes": causes})


def shown(collection: Collection, manifest: Manifest, now: str) -> Manifest:
    """Return an object for a response, with its managed fields."""
    found = collection.shown(manifest)
    owners = collection.storage.owners.get(api_collection.key_of(found))
    if owners is not None:
        fields = owners.managed_fields(collection.resource.api_version, now)
        if fields:
            found["metadata"]["managedFields"] = fields
    return found


def answer(
    request: web.Request,
    collection: Collection,
    manifest: Manifest,
    now: str,
    subresource: str = "",
    *,
    status: int = 200,
    manner: Manner | None = None,
) -> web.Response:
    """Return the response with an object, a part of it, or its scale."""
    value = shown(collection, manifest, now)
    if subresource == "scale":
        value = scale_of(collection, value)
    elif wants_metadata(request):
        value = partial(value)
    response = web.json_response(value, status=status)
    for words in manner.warnings if manner is not None else ():
        quoted = words.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.add("Warning", f'299 - "{quoted}"')
    return response
