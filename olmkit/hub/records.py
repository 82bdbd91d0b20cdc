"""The data of one bundle in a catalog: its CSV, if available, and its manifests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.bundle.model import CRD_KIND, CSV_KIND
from olmkit.catalog.blobs import blob as blobs
from olmkit.catalog.blobs import outline, properties
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.outline import BlobPlace, FilePlace
from olmkit.catalog.model import Bundle, Package
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text

_MOVED = {
    "crdDescriptions": "customresourcedefinitions",
    "apiServiceDefinitions": "apiservicedefinitions",
}
_METADATA = ("annotations", "labels")


@dataclass(frozen=True, slots=True)
class ImagePlace(FilePlace):
    """The place of a bundle's blob that was created from its image; `stated`: in the catalog."""

    stated: BlobPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A bundle as shown on a page.

    `csv` is that of `olm.bundle.object`, else created from `olm.csv.metadata`, else empty;
    `has_manifests` marks the first case, in which permissions, workloads and CRDs are available.
    """

    bundle: Bundle
    csv: Mapping[str, Any]
    manifests: tuple[Manifest, ...]
    has_manifests: bool

    @property
    def spec(self) -> Mapping[str, Any]:
        return mapping(self.csv.get("spec"))

    @property
    def is_described(self) -> bool:
        """Return whether the catalog has the CSV or its metadata, with the install modes."""
        return self.has_manifests or bool(self.spec.keys() - {"version"})

    @property
    def annotations(self) -> Mapping[str, str]:
        return objects.annotations_of(self.csv)

    @property
    def version(self) -> str:
        """Return the version of the `olm.package` property, as written; empty if there is none."""
        return str(self.bundle.version) if self.bundle.version is not None else ""

    @property
    def crds(self) -> Mapping[str, Manifest]:
        """Return the CustomResourceDefinitions by name."""
        found = (one for one in self.manifests if objects.kind(one) == CRD_KIND)
        return {objects.name(one): one for one in found}

    def owned(self, section: str = "owned") -> Iterator[tuple[Mapping[str, Any], bool]]:
        """Yield the descriptions of owned or `required` APIs, and whether each is an APIService."""
        for part in ("customresourcedefinitions", "apiservicedefinitions"):
            for one in sequence(mapping(self.spec.get(part)).get(section)):
                if isinstance(one, Mapping):
                    yield one, part == "apiservicedefinitions"


def read_record(bundle: Bundle) -> Record:
    """Return the data in the blob of a bundle, or raise `InputError`."""
    blob = outline.blob_at(bundle.place)
    fields = blob.fields
    manifests = tuple(_manifests(blob, fields))
    whole = next((one for one in manifests if objects.kind(one) == CSV_KIND), None)
    found = whole if whole is not None else _csv_from_metadata(bundle, fields)
    return Record(
        bundle=bundle, csv=found, manifests=manifests or (found,), has_manifests=whole is not None
    )


def package_fields(package: Package) -> Mapping[str, Any]:
    """Return the fields of the `olm.package` blob: description and icon."""
    return mapping(outline.blob_at(package.place).fields)


def _manifests(blob: Blob, fields: dict[str, Any]) -> Iterator[Manifest]:
    for index, item in enumerate(fields["properties"] or ()):
        if item["type"] == properties.OBJECT:
            try:
                value = json.loads(blobs.bundle_object(blob, fields, index))
            except ValueError:  # it starts like JSON, and OLM does not read it either
                continue
            if isinstance(value, dict):
                yield value


def _csv_from_metadata(bundle: Bundle, fields: Mapping[str, Any]) -> Manifest:
    given: Mapping[str, Any] = {}
    for item in fields["properties"] or ():
        if item["type"] == properties.CSV_METADATA:
            given = mapping(item["value"])
            break
    spec = {_MOVED.get(key, key): value for key, value in given.items() if key not in _METADATA}
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": CSV_KIND,
        "metadata": {"name": bundle.name, **{key: mapping(given.get(key)) for key in _METADATA}},
        "spec": {**spec, "version": text(str(bundle.version or ""))},
    }
