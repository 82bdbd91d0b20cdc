"""Convert the bundles of a catalog from older forms to newer ones.

There is one such step so far: from inlined manifests (`olm.bundle.object`) to a summary of the
ClusterServiceVersion for display (`olm.csv.metadata`), which has a tenth of the size. Catalogs for
OpenShift 4.17 and later are expected to have the newer form.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

import msgspec

from olmkit.base import documents, findings
from olmkit.base.diagnostics import InputError
from olmkit.base.documents import Document
from olmkit.base.json import text as json_text
from olmkit.bundle import model
from olmkit.catalog.blobs.properties import CSV_METADATA, OBJECT
from olmkit.catalog.blobs.typed_json import Member, MisfitError, fields, read_text
from olmkit.catalog.bundles import synthetic_csv, typed_values
from olmkit.catalog.bundles.findings import refusal
from olmkit.catalog.bundles.render import RenderedBundle


class Level(StrEnum):
    """The migration levels."""

    NONE = "none"
    CSV_METADATA = "bundle-object-to-csv-metadata"
    ALL = "all"


_DESCRIPTORS: Final = ("specDescriptors", "statusDescriptors", "actionDescriptors")


def migrate(bundle: RenderedBundle, level: Level, root: str = "") -> RenderedBundle:
    """Return the bundle in the form of `level`; `root` is the name of its source in messages.

    Raises `InputError` if its ClusterServiceVersion has a wrong type.
    """
    if level is Level.NONE or not bundle.image:
        return bundle
    csv = _csv(bundle, root)
    if csv is None:
        return bundle
    metadata = csv_metadata(csv)
    if any(item.type == CSV_METADATA for item in bundle.properties):
        return bundle
    kept = tuple(item for item in bundle.properties if item.type != OBJECT)
    value = json_text.compact(metadata, escape_html=False, sort=False)
    return replace(bundle, properties=(*kept, Member(CSV_METADATA, value)))


def csv_metadata(csv: Document) -> dict[str, Any]:
    """Return the value of `olm.csv.metadata` for a CSV, in the order of writing."""
    read = check_csv(csv)
    meta: Mapping[str, Any] = read.get("metadata") or {}
    spec: Mapping[str, Any] = read.get("spec") or {}
    return synthetic_csv.dump_metadata(
        {
            **spec,
            "annotations": meta.get("annotations"),
            "labels": meta.get("labels"),
            "apiServiceDefinitions": _descriptions(spec.get("apiservicedefinitions")),
            "crdDescriptions": _descriptions(spec.get("customresourcedefinitions")),
        }
    )


def check_csv(csv: Document) -> Mapping[str, Any]:
    """Return a CSV by the names of its fields, or raise `InputError` for a wrong type."""
    read = typed_values.read_type(csv, "ClusterServiceVersion", csv.value)
    _check_version(csv, read.get("spec") or {})
    return read


def _check_version(csv: Document, spec: Mapping[str, Any]) -> None:
    if "version" not in spec:
        return
    from olmkit.base.versions import InvalidVersionError, Version  # only for migrated bundles

    version = spec["version"] or ""
    try:
        if not isinstance(version, str):
            raise InvalidVersionError("it is not text")
        Version.parse_tolerantly(version)
    except InvalidVersionError as error:
        message = f"`{version}` is not a version: {error.message}"
        fault = findings.create("FBC904", message, at=csv.at("spec", "version"))
        raise refusal([fault]) from None


def _descriptions(section: Any) -> Any:
    """Return owned and required APIs, with the values of descriptors as their original text."""
    if not isinstance(section, Mapping):
        return None
    return {
        which: [_description(item) for item in section.get(which) or ()]
        for which in ("owned", "required")
    }


def _description(api: Any) -> Any:
    if not isinstance(api, Mapping):
        return api
    described = dict(api)
    for name in _DESCRIPTORS:
        described[name] = [
            {**item, "value": msgspec.Raw(json_text.compact(item["value"]))}
            if isinstance(item, Mapping) and "value" in item
            else item
            for item in api.get(name) or ()
        ]
    return described


def _csv(bundle: RenderedBundle, root: str) -> Document | None:
    """Return the first ClusterServiceVersion among the inlined manifests."""
    for index, item in enumerate(bundle.properties):
        if item.type != OBJECT:
            continue
        try:
            data = base64.b64decode(read_text(fields(item.value).get("data", ())))
            if model.CSV_KIND.encode() not in data:
                continue
            document = documents.load(data, f"{root}:{bundle.name}:properties[{index}]")
        except (MisfitError, ValueError, InputError):
            continue
        if document.get("kind") == model.CSV_KIND:
            return Document(document.value, path=root)
    return None
