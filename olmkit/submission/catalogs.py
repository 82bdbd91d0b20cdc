"""The catalogs of an operator, each next to the template that it was rendered from.

No image is read: a template is rendered from the bundles in the catalog.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from olmkit.base.diagnostics import Diagnostic, InputError, Location
from olmkit.base.json import text as json_text
from olmkit.catalog import model
from olmkit.catalog.blobs import fbc, shapes, wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.properties import OBJECT
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.model import Catalog
from olmkit.catalog.templates import basic, semver, source
from olmkit.catalog.templates.source import SCHEMAS, Kind, Template
from olmkit.submission.operators import TEMPLATES, Operator

KINDS: Final[Mapping[str, Kind]] = {SCHEMAS[kind]: kind for kind in (Kind.BASIC, Kind.SEMVER)}
"""The kinds of templates that `ci.yaml` may name, by its spelling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogImage:
    """An image of a bundle in a catalog, with the bundle's name and the place of the image."""

    image: str
    bundle: str
    at: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedCatalog:
    """The contents of an operator's catalog. `differences` are those from its template.

    If the catalog cannot be read, `catalog` is None and `error` has the reason. `with_objects` is
    the place of the first bundle with inlined manifests.
    """

    name: str
    catalog: Catalog | None = None
    error: InputError | None = None
    images: tuple[CatalogImage, ...] = ()
    with_objects: Location | None = None
    differences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFile:
    """A template of an operator; `error` is why it cannot be read."""

    name: str
    template: Template | None = None
    images: Mapping[str, Location] = field(default_factory=dict)
    error: InputError | None = None


def read_template(operator: Operator, name: str, type_: str) -> TemplateFile | None:
    """Return the template of that name; None if the file does not exist."""
    path = f"{TEMPLATES}/{name}"
    if path not in operator.files:
        return None
    try:
        template = source.read(operator.files.data(path), operator.shown(path), KINDS.get(type_))
        images = basic.images if template.kind is Kind.BASIC else semver.images
        if template.kind is Kind.SUBSTITUTES:
            raise InputError("the pipelines do not render `olm.template.substitutes`")
        return TemplateFile(name=name, template=template, images=dict(images(template)))
    except InputError as error:
        return TemplateFile(name=name, error=error)


def read(operator: Operator, name: str, template: TemplateFile | None) -> RenderedCatalog:
    """Return a catalog of an operator, compared with its template if there is one."""
    folder = operator.shown_catalog(name)
    try:
        blobs = list(fbc.load(operator.catalogs[name]))
        meaning = model.from_blobs(blobs)
    except InputError as error:
        return RenderedCatalog(name=name, error=_with_folder(error, folder))
    bundles = [(blob, blob.fields) for blob in blobs if blob.schema == wire.BUNDLE]
    inlined = next((blob for blob, fields in bundles if _has_objects(fields)), None)
    return RenderedCatalog(
        name=name,
        catalog=meaning,
        images=tuple(
            CatalogImage(image=fields["image"], bundle=blob.name, at=_at(blob, folder, "image"))
            for blob, fields in bundles
        ),
        with_objects=_at(inlined, folder, "properties") if inlined is not None else None,
        differences=tuple(_differences(template, blobs, bundles))
        if template is not None and template.template is not None
        else (),
    )


def _with_folder(error: InputError, folder: str) -> InputError:
    from olmkit.base import diagnostics

    found: tuple[Diagnostic, ...] = diagnostics.prefix_paths(folder, error.diagnostics)
    return InputError(found[0].message if found else error.message, error.hint, found)


def _at(blob: Blob, folder: str, key: str) -> Location:
    place = blob.at(key)
    return place._replace(path=f"{folder}/{place.path}")


def _has_objects(fields: Mapping[str, Any]) -> bool:
    return any(item["type"] == OBJECT for item in fields["properties"] or ())


def _differences(
    file: TemplateFile, blobs: Sequence[Blob], bundles: Sequence[tuple[Blob, Mapping[str, Any]]]
) -> Iterator[str]:
    """Yield the differences between a catalog and its template, as a sentence."""
    assert file.template is not None  # noqa: S101 - the caller knows
    found = {fields["image"]: blob for blob, fields in bundles}
    missing = [image for image in file.images if image not in found]
    for image in missing:
        yield f"the catalog has no bundle of the image `{image}`"
    for image, blob in found.items():
        if image not in file.images:
            yield f"the template does not name the image of bundle `{blob.name}`"
    if missing and file.template.kind is Kind.SEMVER:
        return  # its channels come from the versions of all bundles
    rendered = {image: RenderedBundle.of(found[image]) for image in file.images if image in found}
    for image in missing:
        rendered[image] = RenderedBundle(
            name="", package="", image=image, properties=(), related_images=()
        )
    engine = basic.render if file.template.kind is Kind.BASIC else semver.render
    try:
        expected = list(engine(file.template, rendered, Level.NONE))
    except InputError as error:
        yield f"the template cannot be rendered: {error.message}"
        return
    is_semver = file.template.kind is Kind.SEMVER
    yield from _compare(_dump_blobs(expected, is_semver), _dump_blobs(blobs, is_semver))


def _dump_blobs(blobs: Sequence[Blob], is_semver: bool) -> dict[str, bytes]:
    """Return the blobs other than bundles as they are written, by name."""
    found: dict[str, bytes] = {}
    for blob in blobs:
        if blob.schema == wire.BUNDLE:
            continue
        shape = wire.SHAPES.get(blob.schema)
        value = blob.value
        if shape is not None:
            value = shapes.dump(shape, blob.fields)
        if blob.schema == wire.PACKAGE and is_semver:
            # They come from the bundle's CSV, which the catalog may not contain.
            value = {key: value[key] for key in ("schema", "name", "defaultChannel")}
        label = f"{blob.schema.removeprefix('olm.')} `{blob.name or blob.package}`"
        found[label] = found.get(label, b"") + json_text.compact(value)
    return found


def _compare(expected: Mapping[str, bytes], found: Mapping[str, bytes]) -> Iterator[str]:
    for label in sorted({*expected, *found}):
        if label not in found:
            yield f"the catalog lacks {label}"
        elif label not in expected:
            yield f"the template lacks {label}"
        elif expected[label] != found[label]:
            yield f"{label} differs"
