"""The identity of a rendered bundle for templates: its packages, its version, its CSV."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.base.json import reader as json_reader
from olmkit.base.versions import BuildRelease, Version, VersionRelease
from olmkit.bundle import model
from olmkit.catalog.blobs.properties import CSV_METADATA, OBJECT, PACKAGE
from olmkit.catalog.blobs.typed_json import MisfitError, fields, read_text, read_texts
from olmkit.catalog.bundles.render import RenderedBundle

_SUBSTITUTES: Final = "olm.substitutesFor"
_IDENTITY: Final = ("packageName", "version", "release")


def identities(bundle: RenderedBundle) -> list[dict[str, str]]:
    """Return the values of the `olm.package` properties that have the right types."""
    found = []
    for item in bundle.properties:
        if item.type == PACKAGE:
            try:
                found.append(read_texts((item.value,), _IDENTITY))
            except MisfitError:
                continue
    return found


def version(bundle: RenderedBundle) -> VersionRelease | None:
    """Return the version; the build metadata of a rebuild counts as its release.

    None when the bundle has no single identity. Raises `InvalidVersionError`.
    """
    found = identities(bundle)
    if len(found) != 1:
        return None
    number, release = Version.parse(found[0]["version"]), found[0]["release"]
    if release:
        return VersionRelease(number, BuildRelease.parse(release))
    if number.build and _annotations(bundle).get(_SUBSTITUTES):
        return VersionRelease.of_rebuild(number)
    return VersionRelease(number)


def presentation(bundle: RenderedBundle) -> dict[str, Any]:
    """Return the icon and the description of the bundle's CSV, in the form of a package."""
    csv = _csv(bundle)
    spec = csv.get("spec") if isinstance(csv, Mapping) else None
    if not isinstance(spec, Mapping):
        return {}
    shown: dict[str, Any] = {}
    icons, description = spec.get("icon"), spec.get("description")
    if isinstance(icons, list) and icons and isinstance(icons[0], Mapping):
        data = icons[0].get("base64data") or ""
        if data:
            shown["icon"] = {"base64data": data, "mediatype": icons[0].get("mediatype") or ""}
    if description and isinstance(description, str):
        shown["description"] = description
    return shown


def _annotations(bundle: RenderedBundle) -> Mapping[str, Any]:
    for item in bundle.properties:
        if item.type == CSV_METADATA:
            value = json_reader.read(item.value)
            found = value.get("annotations") if isinstance(value, Mapping) else None
            return found if isinstance(found, Mapping) else {}
    csv = _csv(bundle)
    meta = csv.get("metadata") if isinstance(csv, Mapping) else None
    found = meta.get("annotations") if isinstance(meta, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _csv(bundle: RenderedBundle) -> Any:
    """Return the first ClusterServiceVersion among the inlined manifests; None without one."""
    for item in bundle.properties:
        if item.type != OBJECT:
            continue
        try:
            data = base64.b64decode(read_text(fields(item.value).get("data", ())))
            if model.CSV_KIND.encode() not in data:
                continue
            document = documents.load(data, bundle.name)
        except (MisfitError, ValueError, InputError):
            continue
        if document.get("kind") == model.CSV_KIND:
            return document.value
    return None
