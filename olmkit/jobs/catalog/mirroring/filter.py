"""Filter a catalog; the result must be a valid catalog."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from olmkit.base import diagnostics as judgement
from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError
from olmkit.base.version_constraints import VersionConstraint
from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.changes import filter_configuration, filtering, include_file, inclusion
from olmkit.catalog.changes.filtering import PackageSelection
from olmkit.catalog.changes.inclusion import Inclusion
from olmkit.catalog.selection import Selection
from olmkit.edges import disk
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalogs as catalog_job
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.render import RenderOptions
from olmkit.kube.objects import mapping
from olmkit.rules import engine

_VERSION = r"\d+(?:\.\d+){0,2}"
_MIN_MAX = re.compile(rf"(?P<least>{_VERSION})?-(?P<most>{_VERSION})?")


Requested = Sequence[PackageSelection] | Inclusion
"""The selected part of a catalog."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered:
    """The selected blobs, and for each package the bundles that are in no requested range."""

    blobs: tuple[Blob, ...]
    extra: dict[str, tuple[str, ...]]
    diagnostics: tuple[Diagnostic, ...] = ()


def parse(arguments: Sequence[str], *, is_full: bool = False) -> tuple[PackageSelection, ...]:
    """Parse `PACKAGE[:CHANNEL][@RANGE]`; selections of the same package are combined.

    A range is `MIN-MAX`, `MIN-`, `-MAX`, or any range of OLM v1. Raises `ConfigurationError`.
    """
    found: dict[str, PackageSelection] = {}
    for request in map(Selection.parse, arguments):
        package, channel = request.package, request.channel
        range_ = _range(request.version) if request.version else None
        before = found.get(package, PackageSelection(package=package, is_full=is_full))
        if channel:
            found[package] = replace(before, channels={**before.channels, channel: range_})
        else:
            found[package] = replace(before, range=range_ or before.range)
    return tuple(found.values())


def read(file: Path, reference: str, *, dependencies: bool = True) -> Requested:
    """Read a selection from the configuration of another tool.

    For an include file of opm, dependencies are included unless `dependencies` is False. Raises
    `InputError`.
    """
    document = documents.load(disk.read_file(file), str(file))
    if any(str(key).lower() == "kind" for key in mapping(document.value)):
        if not dependencies:
            raise ConfigurationError(
                f"`{file}` is not an include file of opm; only those add dependencies",
                hint="leave `--skip-deps` out",
            )
        return filter_configuration.read(document, reference)
    return replace(include_file.read(document), dependencies=dependencies)


async def filter_catalog(reference: str, requested: Requested, access: Access) -> Filtered:
    """Return the selected part of a catalog.

    Raises `InputError` if a part of the selection does not exist, or if the result is not a valid
    catalog.
    """
    rendered = await render.render_all([reference], RenderOptions(access=access))
    catalog = model.from_blobs(rendered.blobs)
    if isinstance(requested, Inclusion):
        parts = inclusion.parts(catalog, requested)
    else:
        parts = filtering.parts(catalog, requested)
    blobs = tuple(filtering.filter_blobs(rendered.blobs, parts))
    _check(reference, blobs)
    return Filtered(
        blobs=blobs,
        extra={name: part.extra for name, part in parts.items() if part.extra},
        diagnostics=rendered.diagnostics,
    )


def _check(reference: str, blobs: Sequence[Blob]) -> None:
    """Raise `InputError` if the result is not a valid catalog, without places, which it lacks."""
    found = engine.run(model.from_blobs(blobs), catalog_job.needed_rules())
    errors = [one._replace(at=None, related=()) for one in found if judgement.has_errors((one,))]
    if errors:
        raise InputError(
            f"the selected part of `{reference}` is not a valid catalog",
            hint="keep more of it, such as the versions in between",
            diagnostics=errors,
        )


def _range(text: str) -> VersionConstraint:
    ends = _MIN_MAX.fullmatch(text)
    if ends and (ends["least"] or ends["most"]):
        terms = [f">={ends['least']}"] * bool(ends["least"])
        terms += [f"<={ends['most']}"] * bool(ends["most"])
        text = ", ".join(terms)
    try:
        return VersionConstraint.parse(text)
    except InputError as error:
        raise ConfigurationError(
            error.message, hint="write `MIN-MAX`, such as `1.0.0-1.9.9`"
        ) from None
