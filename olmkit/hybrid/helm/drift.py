"""Compare the objects of a release with those in the cluster: ownership and drift."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from olmkit.hybrid import masks, primaries
from olmkit.kube import changes, objects
from olmkit.kube.objects import Manifest

CHART_LABEL = "helm.sdk.operatorframework.io/chart"
_SERVERS_OWN = ("managedFields", "resourceVersion", "generation", "creationTimestamp", "uid")


def as_helm_applies(manifest: Manifest, *, release: str, namespace: str) -> Manifest:
    """Return the object with the metadata that Helm adds: its manager and its release."""
    made = copy.deepcopy(manifest)
    metadata = made.setdefault("metadata", {})
    metadata["labels"] = dict(objects.labels_of(made)) | {"app.kubernetes.io/managed-by": "Helm"}
    metadata["annotations"] = dict(objects.annotations_of(made)) | {
        "meta.helm.sh/release-name": release,
        "meta.helm.sh/release-namespace": namespace,
    }
    metadata.pop("creationTimestamp", None)
    return made


def is_kept(manifest: Manifest) -> bool:
    """Return whether the object is kept when its release is deleted, and so gets no owner."""
    return objects.annotations_of(manifest).get("helm.sh/resource-policy", "").strip() == "keep"


def ownership(owner: Manifest, live: Manifest, *, chart: str) -> Manifest | None:
    """Return the patch that makes `owner` own `live`; None if it already does.

    It has an owner reference if Kubernetes allows one, else the two annotations of operator-lib.
    It includes the UID of `live`, so that applying it never creates an object.
    """
    metadata: dict[str, Any] = {"labels": {CHART_LABEL: chart}}
    has_it = objects.labels_of(live).get(CHART_LABEL) == chart
    namespace = objects.namespace(owner)
    if not namespace or namespace == objects.namespace(live):
        uid = objects.metadata(owner).get("uid")
        listed = objects.sequence(objects.metadata(live).get("ownerReferences"))
        has_it &= any(isinstance(one, dict) and one.get("uid") == uid for one in listed)
        metadata["ownerReferences"] = [
            {
                "apiVersion": owner.get("apiVersion"),
                "kind": objects.kind(owner),
                "name": objects.name(owner),
                "uid": uid,
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    else:
        wanted = primaries.owner_annotations(owner)
        annotations = objects.annotations_of(live)
        has_it &= all(annotations.get(key) == value for key, value in wanted.items())
        metadata["annotations"] = wanted
    if has_it:
        return None
    for key in ("name", "namespace", "uid"):
        if value := objects.metadata(live).get(key):
            metadata[key] = value
    return {"apiVersion": live.get("apiVersion"), "kind": live.get("kind"), "metadata": metadata}


def differences(live: Manifest, desired: Manifest) -> Iterator[str]:
    """Yield the fields that differ, each as a line without the data of Secrets."""
    for step in changes.json_patch(_chart_fields(live), _chart_fields(desired)):
        value = step.get("value")
        if masks.is_secret(desired) and step["path"].startswith(("/data", "/stringData")):
            value = masks.MASK
        yield f"{step['op']} {step['path']}" + (
            "" if step["op"] == "remove" else f": {value!r:.200}"
        )


def is_changed(live: Manifest, desired: Manifest) -> bool:
    """Return whether there are differences other than fields that the server manages."""
    return not changes.same(_chart_fields(live), _chart_fields(desired))


def _chart_fields(manifest: Manifest) -> Manifest:
    metadata = {
        key: value for key, value in objects.metadata(manifest).items() if key not in _SERVERS_OWN
    }
    return {key: value for key, value in manifest.items() if key != "status"} | {
        "metadata": metadata
    }
