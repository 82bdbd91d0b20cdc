"""Render catalog templates; each image is pulled once, several at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic, Location, OlmkitError, RemoteError, Severity
from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.templates import basic, semver, source, substitutes
from olmkit.catalog.templates.findings import IMAGE, refuse_all
from olmkit.catalog.templates.opm_release import CURRENT, OpmRelease
from olmkit.catalog.templates.source import Kind, Template
from olmkit.edges import disk
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.render import Rendered, RenderOptions
from olmkit.oci.reference import InvalidReferenceError, Reference
from olmkit.rules import engine
from olmkit.rules.engine import CATALOG

MAX_TEMPLATE: Final = 64 * 1024 * 1024
STDIN: Final = "-"
_PULLS: Final = 4

__all__ = ["MAX_TEMPLATE", "STDIN", "Kind", "TemplateOptions", "render_template"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateOptions:
    """Rendering options: the kind if the template has none, the migration level, registries.

    `release` is the release of opm whose rules apply to semver templates.
    """

    kind: Kind | None = None
    level: Level = Level.NONE
    release: OpmRelease = CURRENT
    access: Access = field(default_factory=Access)


async def render_template(
    reference: str, options: TemplateOptions, *, stdin: bytes | None = None
) -> Rendered:
    """Render a template: a file, or `-` for the bytes of `stdin`.

    Raises `InputError` with all images that cannot be rendered, and their places.
    """
    if reference == STDIN:
        data, path = stdin or b"", "stdin"
    else:
        data, path = disk.read_file(Path(reference), limit=MAX_TEMPLATE), reference
    template = source.read(data, path, options.kind)
    return await render_with_known(template, {}, options.level, options.access, options.release)


async def render_with_known(
    template: Template,
    known: Mapping[str, RenderedBundle],
    level: Level,
    access: Access,
    release: OpmRelease = CURRENT,
) -> Rendered:
    """Render a template; only images without a known bundle are pulled.

    Raises `InputError` like `render_template`.
    """
    named: dict[str, Location] = {}
    for image, at in images(template):
        named.setdefault(image, at)
    missing = {image: at for image, at in named.items() if image not in known}
    pulled, notes = await _pull_images(missing, access)
    bundles = {image: known[image] if image in known else pulled[image] for image in named}
    return Rendered(blobs=tuple(render_blobs(template, bundles, level, release)), diagnostics=notes)


def images(template: Template) -> Sequence[tuple[str, Location]]:
    """Return the images of a template with their places, or raise `InputError`."""
    match template.kind:
        case Kind.BASIC:
            return list(basic.images(template))
        case Kind.SEMVER:
            return list(semver.images(template))
        case Kind.SUBSTITUTES:
            return list(substitutes.images(template))


def render_blobs(
    template: Template,
    bundles: Mapping[str, RenderedBundle],
    level: Level = Level.NONE,
    release: OpmRelease = CURRENT,
) -> Sequence[Blob]:
    """Return the blobs of a template with these bundles, or raise `InputError`."""
    match template.kind:
        case Kind.BASIC:
            return list(basic.render(template, bundles, level))
        case Kind.SEMVER:
            return list(semver.render(template, bundles, level, release))
        case Kind.SUBSTITUTES:
            return substitutes.render(template, bundles, level, _check)


def _check(blobs: Sequence[Blob]) -> None:
    """Raise `InputError` if blobs are not a valid catalog for OLM."""
    rules = engine.choose(engine.profile("operator-sdk"), subject=CATALOG)
    found = engine.run(model.from_blobs(blobs), rules)
    refuse_all([one for one in found if one.severity is Severity.ERROR])


async def _pull_images(
    named: Mapping[str, Location], access: Access
) -> tuple[Mapping[str, RenderedBundle], tuple[Diagnostic, ...]]:
    """Return the bundle of each image, or raise `InputError` with all images without one."""
    if not named:
        return {}, ()
    from olmkit.edges.images.transports import Connections  # as `render` does

    gate = asyncio.Semaphore(_PULLS)
    connections = Connections(access)

    async def pull(image: str) -> render.BundleRead | OlmkitError:
        async with gate:
            try:
                if not image:
                    raise InvalidReferenceError("the image is empty")
                Reference.parse(image)
                options = RenderOptions(access=access)
                return await render.read_bundle(
                    image, options, remote=True, connections=connections
                )
            except OlmkitError as error:
                return error

    async with connections, asyncio.TaskGroup() as tasks:
        running = {image: tasks.create_task(pull(image)) for image in named}
    read: dict[str, RenderedBundle] = {}
    notes: list[Diagnostic] = []
    faults: list[Diagnostic] = []
    failed: dict[str, list[tuple[str, OlmkitError]]] = {}
    for image, task in running.items():
        result = task.result()
        if isinstance(result, OlmkitError):
            failed.setdefault(result.message, []).append((image, result))
        else:
            read[image] = result.rendered
            notes += result.diagnostics
    for message, images in failed.items():
        image, error = images[0]
        more = len(images) - 1
        others = f" and of {more} other image{'s' if more > 1 else ''}" if more else ""
        text = f"cannot render the bundle of image `{image}`{others}: {message}"
        faults.append(findings.create(IMAGE, text, at=named[image], hint=error.hint))
        faults += [one for _, error in images for one in error.diagnostics]
    errors = [error for images in failed.values() for _, error in images]
    remote = next((error for error in errors if isinstance(error, RemoteError)), None)
    if remote is not None:
        remote.diagnostics = tuple(faults)
        raise remote
    refuse_all(faults)
    return read, tuple(notes)
