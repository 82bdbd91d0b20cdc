"""The objects of a bundle in the catalog itself, as `olm.bundle.object`."""

from __future__ import annotations

import json

from olmkit.catalog.blobs import blob as blobs
from olmkit.catalog.blobs import outline, properties
from olmkit.catalog.model import Bundle
from olmkit.kube import objects
from olmkit.kube.objects import Manifest

_CSV = "ClusterServiceVersion"


def manifests(bundle: Bundle) -> tuple[Manifest, ...]:
    """Return all manifests in order; those that are not JSON are left out."""
    if not bundle.properties.objects:
        return ()
    blob = outline.blob_at(bundle.place)
    fields = blob.fields
    found = [
        _json(blobs.bundle_object(blob, fields, index))
        for index, item in enumerate(fields["properties"] or ())
        if item["type"] == properties.OBJECT
    ]
    return tuple(one for one in found if isinstance(one, dict))


def csv(bundle: Bundle) -> Manifest | None:
    """Return the first ClusterServiceVersion; None if the catalog has none."""
    return next((one for one in manifests(bundle) if objects.kind(one) == _CSV), None)


def _json(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):  # it starts like JSON, and it was not parsed before
        return None
