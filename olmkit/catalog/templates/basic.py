"""The basic template: blobs of a catalog, with the image only in place of each bundle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from olmkit.base import findings
from olmkit.base.diagnostics import Location
from olmkit.catalog.blobs import wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles import migrate
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.templates import entries
from olmkit.catalog.templates.findings import ENTRY
from olmkit.catalog.templates.source import Template

_FORBIDDEN = ("package", "properties", "relatedImages")


def images(template: Template) -> Iterator[tuple[str, Location]]:
    """Yield the images of the bundles, with their places. Raises `InputError` for a wrong entry."""
    for index, blob in enumerate(entries.blobs(template)):
        if blob.schema == wire.BUNDLE:
            yield _image(template, index, blob), template.at("entries", index, "image")


def render(
    template: Template, bundles: Mapping[str, RenderedBundle], level: Level
) -> Iterator[Blob]:
    """Yield the blobs in the order of the entries, each bundle rendered from its image."""
    for index, blob in enumerate(entries.blobs(template)):
        if blob.schema == wire.BUNDLE:
            yield migrate.migrate(bundles[_image(template, index, blob)], level).blob()
        else:
            yield blob


def _image(template: Template, index: int, blob: Blob) -> str:
    fields = blob.fields
    for name in _FORBIDDEN:
        if fields[name]:
            raise findings.error(
                ENTRY,
                f"a bundle of a basic template has no `{name}`",
                at=template.at("entries", index, name),
                hint="keep `schema` and `image` only: the rest comes from the image",
            )
    image: str = fields["image"]
    if not image:
        raise findings.error(
            ENTRY,
            "a bundle of the template lacks `image`",
            at=template.at("entries", index),
            hint="set the image of the bundle",
        )
    return image
