"""Render a bundle as the `olm.bundle` blob of catalogs.

The blob has facts of the bundle in a fixed order. The spelling of its parts matters too, because
property values are compared as text. So a property's value is JSON text here, and the blob keeps
the whole text.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic, Location
from olmkit.base.documents import Document, Key
from olmkit.base.go import sort as go_sort
from olmkit.base.json import text as json_text
from olmkit.catalog.blobs import records, shapes, typed_json, wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.properties import (
    CSV_METADATA,
    GVK,
    GVK_REQUIRED,
    OBJECT,
    PACKAGE,
    PACKAGE_REQUIRED,
)
from olmkit.catalog.blobs.shapes import AnyValue, Field, ListOf, Object, Text
from olmkit.catalog.blobs.typed_json import Member, MisfitError
from olmkit.catalog.bundles import typed_values
from olmkit.catalog.bundles.findings import refusal
from olmkit.catalog.bundles.source_bundle import SourceBundle

# The CSV's annotation with further properties.
PROPERTIES_ANNOTATION: Final = "olm.properties"

_GVK_FIELDS: Final = ("group", "kind", "version")
_BIG: Final = re.compile(rb"[:,\[]-?[0-9]{19}")
_INT64: Final = 2**63

_TEXT: Final = Text()
_RELATED_IMAGES: Final = Object(
    go="struct", fields=(Field("relatedImages", ListOf(wire.RELATED_IMAGE, "[]RelatedImage")),)
)
_DEPLOYMENT: Final = Object(
    go="registry.dep", fields=(Field("name", _TEXT), Field("spec", AnyValue()))
)
_STRATEGY: Final = Object(
    go="registry.strategySpec", fields=(Field("deployments", ListOf(_DEPLOYMENT, "[]dep")),)
)
_INSTALL: Final = Object(
    go="registry.csvSpec",
    fields=(
        Field(
            "install",
            Object(
                go="registry.strategy", fields=(Field("strategy", _TEXT), Field("spec", _STRATEGY))
            ),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class RelatedImage:
    """An image that a bundle uses, and its name there."""

    name: str
    image: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedBundle:
    """A rendered bundle; the values of its properties are JSON text."""

    name: str
    package: str
    image: str
    properties: tuple[Member, ...]
    related_images: tuple[RelatedImage, ...]

    @classmethod
    def of(cls, blob: Blob) -> RenderedBundle:
        """Return the bundle in a blob of a catalog."""
        record = blob.record if blob.settled else None
        if isinstance(record, records.Bundle):
            return cls(
                name=record.name,
                package=record.package,
                image=record.image,
                properties=tuple(
                    Member(item.type, bytes(item.value)) for item in record.properties
                ),
                related_images=tuple(
                    RelatedImage(item.name, item.image) for item in record.related_images
                ),
            )
        fields = blob.fields
        return cls(
            name=fields["name"],
            package=fields["package"],
            image=fields["image"],
            properties=tuple(
                Member(item["type"], _raw(item["value"])) for item in fields["properties"] or ()
            ),
            related_images=tuple(
                RelatedImage(item["name"], item["image"]) for item in fields["relatedImages"] or ()
            ),
        )

    def blob(self) -> Blob:
        return Blob(
            schema=wire.BUNDLE,
            package=self.package,
            name=self.name,
            data=self.text(),
            rendered=True,
        )

    def text(self) -> bytes:
        """Return the blob as one line of JSON."""
        parts = [b'{"schema":"olm.bundle"']
        if self.name:
            parts.append(b'"name":' + _text(self.name))
        if self.package:
            parts.append(b'"package":' + _text(self.package))
        parts.append(b'"image":' + _text(self.image))
        if self.properties:
            items = (
                b'{"type":%b,"value":%b}'
                % (_text(item.type), json_text.squeeze(item.value) if item.value else b"null")
                for item in self.properties
            )
            parts.append(b'"properties":[' + b",".join(items) + b"]")
        if self.related_images:
            images = (
                b'{"name":%b,"image":%b}' % (_text(item.name), _text(item.image))
                for item in self.related_images
            )
            parts.append(b'"relatedImages":[' + b",".join(images) + b"]")
        return b",".join(parts) + b"}"


def render(bundle: SourceBundle, image: str = "") -> tuple[RenderedBundle, tuple[Diagnostic, ...]]:
    """Return the bundle as the catalog blob for `image`, and warnings about it.

    Raises `InputError` for values that no catalog accepts.
    """
    notes: list[Diagnostic] = [*bundle.notes]
    properties = sorted(_properties(bundle, notes), key=lambda item: (item.type, item.value))
    rendered = RenderedBundle(
        name=bundle.name,
        package=bundle.package,
        image=image,
        properties=tuple(properties),
        related_images=tuple(_find_related_images(bundle, image)),
    )
    return sort_properties(rendered), tuple(notes)


def sort_properties(bundle: RenderedBundle) -> RenderedBundle:
    """Return the bundle with its bulky properties at the end, and its images sorted."""
    bulky = (OBJECT, CSV_METADATA)
    return replace(
        bundle,
        properties=tuple(sorted(bundle.properties, key=lambda item: item.type in bulky)),
        related_images=tuple(
            go_sort.sort_slice(bundle.related_images, key=lambda item: item.image)
        ),
    )


# Properties


def _properties(bundle: SourceBundle, notes: list[Diagnostic]) -> Iterator[Member]:
    provided = {(api.group, api.kind, api.version) for api in bundle.provided}
    required = {(api.group, api.kind, api.version) for api in bundle.required}
    package = _package(bundle.package, bundle.version, bundle.release)
    for item in dict.fromkeys(
        (*bundle.properties, package, *_annotation_properties(bundle, notes))
    ):
        match item.type:
            case "olm.gvk":
                group, kind, version = _texts(bundle, item, _GVK_FIELDS)
                provided.add((group, kind, version))
            case "olm.package":
                package = _package(*_texts(bundle, item, ("packageName", "version", "release")))
            case _:
                yield item
    for item in bundle.dependencies:
        match item.type:
            case "olm.gvk":
                group, kind, version = _texts(bundle, item, _GVK_FIELDS)
                required.add((group, kind, version))
            case "olm.package":
                name, versions, _ = _texts(bundle, item, ("packageName", "version", "release"))
                yield _entry(PACKAGE_REQUIRED, packageName=name, versionRange=versions)
            case _:
                yield item
    yield package
    for kind, apis in ((GVK, provided), (GVK_REQUIRED, required)):
        for api in apis:
            yield _entry(kind, **dict(zip(_GVK_FIELDS, api, strict=True)))
    for document in bundle.objects:
        data = base64.b64encode(object_text(document.value))
        yield Member(OBJECT, b'{"data":"%b"}' % data)


def _annotation_properties(bundle: SourceBundle, notes: list[Diagnostic]) -> tuple[Member, ...]:
    """Return the properties in the CSV's annotation; of invalid ones, the valid parts."""
    text = bundle.csv_annotations.get(PROPERTIES_ANNOTATION)
    if text is None:
        return ()
    found, wrong = typed_json.entries_that_fit(text.encode())
    if wrong:
        notes.append(
            findings.create(
                "FBC905",
                f"the annotation `{PROPERTIES_ANNOTATION}` is not read in full: {wrong}",
                at=bundle.csv.at("metadata", "annotations", PROPERTIES_ANNOTATION),
                hint="move the properties to `metadata/properties.yaml`",
            )
        )
    return found


def _package(name: str, version: str, release: str) -> Member:
    released = {"release": release} if release else {}
    return _entry(PACKAGE, packageName=name, version=version, **released)


def _entry(type_: str, /, **value: str) -> Member:
    return Member(type_, json_text.compact(value, escape_html=False, sort=False))


def _texts(bundle: SourceBundle, item: Member, names: tuple[str, ...]) -> list[str]:
    try:
        if not item.value:
            raise MisfitError("unexpected end of JSON input")
        return list(typed_json.read_texts((item.value,), names).values())
    except MisfitError as error:
        shown = item.value[:200].decode("utf-8", "replace")
        fault = findings.create(
            "FBC906",
            f'parse property of type "{item.type}": {error}',
            at=Location(path=bundle.root),
            hint=f"the value `{shown}` needs the strings "
            f"{', '.join(f'`{name}`' for name in names)}",
        )
        raise refusal([fault], bundle.notes) from None


def object_text(value: Any) -> bytes:
    """Return a manifest as the compact JSON in catalogs."""
    text = json_text.compact(value)
    if _BIG.search(text):
        text = json_text.compact(_int64_or_double(value))
    return text


def _int64_or_double(value: Any) -> Any:
    if type(value) is int and not -_INT64 <= value < _INT64:
        return float(value)
    if type(value) is dict:
        return {key: _int64_or_double(item) for key, item in value.items()}
    if type(value) is list:
        return [_int64_or_double(item) for item in value]
    return value


# Images


def _find_related_images(bundle: SourceBundle, image: str) -> Iterator[RelatedImage]:
    listed = read_related_images(bundle.csv, bundle.spec)
    seen = {item.image for item in listed}
    yield from listed
    if image and image not in seen:
        yield RelatedImage("", image)
    # The bundle's own image counts as already listed only if the CSV lists it.
    for found in operator_images(bundle.csv, bundle.spec):
        if found not in seen:
            yield RelatedImage("", found)


def read_related_images(csv: Document, spec: Mapping[str, Any]) -> Sequence[RelatedImage]:
    """Return the related images in the `spec` of a CSV, or raise `InputError`."""
    section = {"relatedImages": spec.get("relatedImages")}
    listed = typed_values.read_shape(csv, _RELATED_IMAGES, section, "spec")["relatedImages"]
    return [RelatedImage(item["name"], item["image"]) for item in listed or ()]


def operator_images(csv: Document, spec: Mapping[str, Any]) -> Iterable[str]:
    """Return the images of the CSV's deployments, each once. Raises `InputError` for a misfit."""
    install = typed_values.read_shape(csv, _INSTALL, spec, "spec")["install"]
    images: dict[str, None] = {}
    for index, item in enumerate(install["spec"]["deployments"] or ()):
        keys: tuple[Key, ...] = ("spec", "install", "spec", "deployments", index, "spec")
        described = None if item["spec"] is shapes.ABSENT else item["spec"]
        deployment = typed_values.read_type(csv, "DeploymentSpec", described, *keys)
        template = deployment.get("template") or {}
        typed_values.check_times(csv, template.get("metadata"), *keys, "template", "metadata")
        pod = template.get("spec") or {}
        for group in ("containers", "initContainers"):
            for container in pod.get(group) or ():
                images[(container or {}).get("image") or ""] = None
    return images if install["strategy"] == "deployment" else ()


def _raw(value: Any) -> bytes:
    return b"" if value is shapes.ABSENT else json_text.compact(value, escape_html=False)


def _text(value: str) -> bytes:
    return json_text.compact(value, escape_html=False)
