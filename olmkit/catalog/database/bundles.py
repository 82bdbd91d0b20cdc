"""Convert a bundle of an index database to the `olm.bundle` of a file-based catalog."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Final

from olmkit.base.diagnostics import InputError
from olmkit.base.documents import Document
from olmkit.base.json import reader as json_reader
from olmkit.base.json import text as json_text
from olmkit.base.json.reader import JsonError
from olmkit.base.quoting import quote
from olmkit.bundle import model
from olmkit.catalog.blobs import typed_json
from olmkit.catalog.blobs.properties import GVK, GVK_REQUIRED, OBJECT, PACKAGE, PACKAGE_REQUIRED
from olmkit.catalog.blobs.typed_json import Member, MisfitError
from olmkit.catalog.bundles import render
from olmkit.catalog.bundles.render import RelatedImage, RenderedBundle
from olmkit.catalog.database import findings
from olmkit.catalog.database.tables import BundleRow, PropertyRow

_GVK: Final = ("group", "kind", "version")
_PACKAGE: Final = ("packageName", "version", "release")


def convert(
    bundle: BundleRow,
    package: str,
    properties: Sequence[PropertyRow],
    dependencies: Sequence[PropertyRow],
    images: Sequence[str],
    path: str,
) -> RenderedBundle:
    """Return the bundle as in a catalog.

    `images` are those in the database; the CSV has the names of those that it lists. Raises
    `InputError` for values of a wrong type.
    """
    name = bundle.name or ""
    try:
        objects = list(_objects(bundle.manifests or ""))
        csv = _csv(objects)
        if objects and csv is None:
            raise MisfitError("no csv in bundle")
        members = [
            *_members(bundle, package, properties, dependencies),
            *(_object(text) for text, _ in objects),
        ]
        unique = dict.fromkeys(Member(one.type, _squeeze(one.value)) for one in members)
    except (MisfitError, JsonError) as error:
        raise _refusal(name, str(error), path) from None
    listed: list[RelatedImage] = []
    if csv is not None:
        spec = csv.value.get("spec")
        listed = list(render.read_related_images(csv, spec if isinstance(spec, dict) else {}))
    known = {image.image for image in listed}
    return render.sort_properties(
        RenderedBundle(
            name=name,
            package=package,
            image=bundle.image or "",
            properties=tuple(sorted(unique, key=lambda one: (one.type, one.value))),
            related_images=(
                *listed,
                *(RelatedImage("", image) for image in sorted(set(images) - known)),
            ),
        )
    )


def _members(
    bundle: BundleRow,
    package: str,
    properties: Sequence[PropertyRow],
    dependencies: Sequence[PropertyRow],
) -> Iterator[Member]:
    """Return the properties; like opm, drop dependencies of types other than these two."""
    has_package = False
    for row in properties:
        value = row.value.encode()
        if row.type == GVK:
            # The plural is not kept, but it must be a string.
            api = typed_json.read_texts((value,), (*_GVK, "plural"))
            yield _entry(GVK, {name: api[name] for name in _GVK})
        else:
            has_package = has_package or row.type == PACKAGE
            yield Member(row.type, value)
    for row in dependencies:
        value = row.value.encode()
        if row.type == GVK:
            api = typed_json.read_texts((value,), (*_GVK, "plural"))
            yield _entry(GVK_REQUIRED, {name: api[name] for name in _GVK})
        elif row.type == PACKAGE:
            found = typed_json.read_texts((value,), _PACKAGE)
            required = {"packageName": found["packageName"], "versionRange": found["version"]}
            yield _entry(PACKAGE_REQUIRED, required)
    if not has_package:
        yield _entry(PACKAGE, {"packageName": package, "version": bundle.version or ""})


def _objects(text: str) -> Iterator[tuple[bytes, Document]]:
    """Yield the manifests, each as text and as a value."""
    data = text.encode("utf-8", "replace")
    for value, start, end in json_reader.read_stream(data, 0, doubles=False):
        yield data[start:end], Document(value, path="")


def _csv(objects: Sequence[tuple[bytes, Document]]) -> Document | None:
    """Return the first ClusterServiceVersion that has a name."""
    for _, document in objects:
        value = document.value
        if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
            raise MisfitError("Object 'Kind' is missing")
        if value["kind"] == model.CSV_KIND:
            meta = value.get("metadata")
            return document if isinstance(meta, dict) and meta.get("name") else None
    return None


def _object(text: bytes) -> Member:
    return Member(OBJECT, b'{"data":"%b"}' % base64.b64encode(text))


def _entry(type_: str, value: dict[str, str]) -> Member:
    return Member(type_, json_text.compact(value, escape_html=False, sort=False))


def _squeeze(value: bytes) -> bytes:
    try:
        json_reader.read(value)
    except JsonError as error:
        raise MisfitError(str(error)) from None
    return json_text.squeeze(value)


def _refusal(name: str, why: str, path: str) -> InputError:
    return findings.refusal(f"convert bundle {quote(name)}: {why}", path=path, subject=name)
