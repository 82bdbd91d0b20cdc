"""Convert a catalog, or bundles that form one, to a template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from olmkit.base import diagnostics
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError, Severity
from olmkit.catalog import model
from olmkit.catalog.blobs import fbc
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.changes import assembly
from olmkit.catalog.changes.assembly import Member
from olmkit.catalog.templates import conversion
from olmkit.catalog.templates.source import Kind
from olmkit.edges import paths
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.render import BundleRead, Rendered, RenderOptions
from olmkit.rules import engine
from olmkit.rules.engine import CATALOG

STDIN: Final = "-"

__all__ = ["STDIN", "Converted", "Kind", "convert"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The template as JSON text, and warnings about the catalog."""

    template: bytes = field(repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()


async def convert(
    references: Sequence[str],
    kind: Kind,
    access: Access,
    *,
    image: str = "",
    stdin: bytes | None = None,
) -> Converted:
    """Return the template of catalogs; the single reference `-` reads the bytes of `stdin`.

    References may also be bundles, with channels in their annotations and upgrade edges in their
    CSVs. `image` is the image of bundles in folders, as in `RenderOptions`. Raises `InputError` for
    parts that the template cannot express, and for bundles that do not form a valid catalog.
    """
    if STDIN in references:
        read = _stream(references, stdin or b"")
    else:
        options = RenderOptions(image=image, access=access)
        parts = await render.read_each(references, options)
        read = _join_parts(parts, references, kind, image)
    return Converted(template=_template(read, kind, references), diagnostics=read.diagnostics)


def _template(read: Rendered, kind: Kind, references: Sequence[str]) -> bytes:
    try:
        return conversion.convert(read.blobs, kind)
    except InputError as error:
        if len(references) == 1 and paths.is_folder(Path(references[0])):
            error.message = error.diagnostics[0].message
            error.diagnostics = diagnostics.prefix_paths(references[0], error.diagnostics)
        raise


def _stream(references: Sequence[str], stdin: bytes) -> Rendered:
    if len(references) > 1:
        raise ConfigurationError(
            "the standard input cannot be read together with other catalogs",
            hint="write it to a file, and pass the file",
        )
    notes: list[Diagnostic] = []
    blobs = tuple(fbc.load_stream(stdin, "stdin", report=notes.append))
    return Rendered(blobs=blobs, diagnostics=tuple(notes))


def _join_parts(
    parts: Sequence[BundleRead | Rendered], references: Sequence[str], kind: Kind, image: str
) -> Rendered:
    """Return the blobs of catalogs, or the catalog that bundles form."""
    bundles = [part for part in parts if isinstance(part, BundleRead)]
    catalogs = [part for part in parts if isinstance(part, Rendered)]
    if not bundles:
        return Rendered(
            blobs=tuple(blob for part in catalogs for blob in part.blobs),
            diagnostics=tuple(note for part in catalogs for note in part.diagnostics),
        )
    if catalogs:
        catalog = next(
            text for text, part in zip(references, parts, strict=True) if isinstance(part, Rendered)
        )
        raise ConfigurationError(
            f"`{catalog}` is a catalog, but other references are bundles",
            hint="add the bundles to the catalog first: `olmkit catalog add`",
        )
    bare = [part.source for part in bundles if not part.rendered.image]
    if bare and kind is not Kind.SUBSTITUTES:
        raise ConfigurationError(
            f"the location of the image of `{bare[0].name}` is not known, and the template needs "
            "it",
            hint="pass `--image registry/name:v{version}`",
        )
    render.check_own_images(image, sum(part.rendered.image == image for part in bundles))
    made = assembly.assemble_bundles(
        [Member(source=part.source, rendered=part.rendered) for part in bundles]
    )
    _check(made.blobs)
    notes = tuple(note for part in bundles for note in part.diagnostics)
    return Rendered(blobs=made.blobs, diagnostics=(*notes, *made.diagnostics))


def _check(blobs: Sequence[Blob]) -> None:
    """Raise `InputError` if the catalog of bundles is not valid for OLM."""
    rules = engine.choose(engine.profile("operator-sdk"), subject=CATALOG)
    found = engine.run(model.from_blobs(blobs), rules)
    errors = [one for one in found if one.severity is Severity.ERROR]
    if errors:
        raise InputError(
            "the bundles do not form a valid catalog",
            hint="correct `spec.replaces` and `spec.skips` of their ClusterServiceVersions, or the "
            "channels in their annotations",
            diagnostics=tuple(one._replace(at=None, related=()) for one in errors),
        )
