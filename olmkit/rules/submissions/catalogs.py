"""Rules about templates and the catalogs that are committed next to them.

Source: the static checks of OpenShift's pipelines, and the FBC job of OperatorHub.io.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from olmkit.base.diagnostics import InputError, Location, Severity
from olmkit.rules import engine
from olmkit.rules.engine import CATALOG, SUBMISSION, Finding, rule
from olmkit.rules.submissions.layout import OPENSHIFT_SUITE, SUITE
from olmkit.submission import catalogs
from olmkit.submission.catalogs import RenderedCatalog, TemplateFile
from olmkit.submission.operators import CATALOGS, CI, Operator

_VERSION: Final = re.compile(r"v([0-9]+)\.([0-9]+)", re.ASCII)
_MIGRATED: Final = (4, 17)
_SHOWN: Final = 3


@rule("SUB050", "inlined-manifests", subject=SUBMISSION, suite=OPENSHIFT_SUITE)
def inlined_manifests(operator: Operator) -> Iterator[Finding]:
    """A catalog for OpenShift 4.17 or later has bundles with `olm.bundle.object`.

    Why: those catalogs contain `olm.csv.metadata` instead; the pipeline rejects the pull request.

    Fix: render the catalog again:
    `olmkit catalog render-template FILE --migrate bundle-object-to-csv-metadata`.
    """
    for catalog in _read(operator):
        found = _VERSION.fullmatch(catalog.name)
        number = (int(found[1]), int(found[2])) if found else (0, 0)
        if catalog.with_objects is not None and number >= _MIGRATED:
            yield Finding(
                f"catalog `{catalog.name}` has bundles with `olm.bundle.object`",
                at=catalog.with_objects,
                hint="render it again with `--migrate bundle-object-to-csv-metadata`",
            )


@rule("SUB051", "image-registry", subject=SUBMISSION, suite=SUITE)
def image_registry(operator: Operator) -> Iterator[Finding]:
    """The registry of a bundle image in a catalog is not allowed in this repository.

    Why: the pipeline rejects it; `allowed_bundle_registries` of `config.yaml` has the list.

    Fix: use the image that the pipeline released, and render the catalog again.
    """
    allowed = operator.settings.registries
    for catalog in _read(operator) if allowed else ():
        for image in catalog.images:
            if not image.image.startswith(allowed):
                yield Finding(
                    f"the image `{image.image}` of `{image.bundle}` is not in an allowed registry",
                    at=image.at,
                    hint=f"use one of {', '.join(f'`{name}`' for name in allowed)}",
                )


@rule("SUB052", "catalog-differs", severity=Severity.WARNING, subject=SUBMISSION, suite=SUITE)
def catalog_differs(operator: Operator) -> Iterator[Finding]:
    """A catalog differs from its rendered template.

    Why: the next rendering changes or drops content that is only in the catalog. The rule
    compares bundles from images by their image references, because it pulls no images.

    Fix: change the template, and render the catalog again with
    `olmkit catalog render-template`.
    """
    for catalog in _read(operator):
        if catalog.differences:
            shown = "; ".join(catalog.differences[:_SHOWN])
            more = len(catalog.differences) - _SHOWN
            yield Finding(
                f"catalog `{catalog.name}` differs from its template: {shown}"
                + (f"; and {more} more" if more > 0 else ""),
                at=Location(path=operator.shown_catalog(catalog.name)),
                hint="render the catalog again from the template",
            )


@rule("SUB053", "catalog-missing", severity=Severity.WARNING, subject=SUBMISSION, suite=SUITE)
def catalog_missing(operator: Operator) -> Iterator[Finding]:
    """`ci.yaml` maps a catalog to an existing template, but the catalog does not have the operator.

    Why: that catalog does not publish the operator.

    Fix: render the template into `catalogs/CATALOG/NAME/catalog.yaml`, or remove the
    catalog from `ci.yaml`.
    """
    if not operator.is_file_based:
        return
    for index, template, _, names in operator.mapping:
        if f"catalog-templates/{template}" not in operator.files:
            continue
        for number, name in enumerate(names):
            if name not in operator.catalogs and name in operator.known_catalogs:
                yield Finding(
                    f"catalog `{name}` does not have `{operator.name}`, "
                    f"though `{template}` is mapped to it",
                    at=operator.at(CI, "fbc", "catalog_mapping", index, "catalog_names", number),
                    hint=f"render it into `{CATALOGS}/{name}/{operator.name}/catalog.yaml`",
                )


@rule("SUB054", "broken-template", subject=SUBMISSION, suite=SUITE)
def broken_template(operator: Operator) -> Iterator[Finding]:
    """A template that `ci.yaml` maps cannot be rendered.

    Why: opm rejects it, so its catalogs cannot be updated.

    Fix: correct the template at the reported position.
    """
    for file in _templates(operator).values():
        if file is not None and file.error is not None:
            for found in file.error.diagnostics:
                yield Finding(found.message, at=found.at, hint=found.hint)
            if not file.error.diagnostics:
                at = Location(path=operator.shown(f"catalog-templates/{file.name}"))
                yield Finding(file.error.message, at=at, hint=file.error.hint)


@rule("SUB055", "broken-catalog", subject=SUBMISSION, suite=SUITE)
def broken_catalog(operator: Operator) -> Iterator[Finding]:
    """A catalog cannot be read, or `opm validate` rejects it.

    Why: the pipeline cannot build the whole catalog.

    Fix: correct the template, and render the catalog again. `olmkit catalog validate`
    explains the errors.
    """
    rules = engine.choose(engine.profile("operator-sdk"), subject=CATALOG)
    for catalog in _read(operator):
        if catalog.error is not None:
            yield from _unreadable(operator, catalog, catalog.error)
        elif catalog.catalog is not None:
            folder = operator.shown_catalog(catalog.name)
            for found in engine.run(catalog.catalog, rules):
                if found.severity is Severity.ERROR:
                    at = found.at or Location(path="")
                    at = at._replace(path=f"{folder}/{at.path}" if at.path else folder)
                    yield Finding(f"{found.message} (`{found.rule}`)", at=at, hint=found.hint)


@rule("SUB056", "catalog-not-mapped", severity=Severity.WARNING, subject=SUBMISSION, suite=SUITE)
def catalog_not_mapped(operator: Operator) -> Iterator[Finding]:
    """A catalog has a file-based operator, but `ci.yaml` maps no template to it.

    Why: the pipeline never renders the catalog again, so it does not get new versions.

    Fix: add the catalog to `fbc.catalog_mapping`, or delete the operator's directory in it.
    """
    if not operator.is_file_based:
        return
    mapped = {name for _, _, _, names in operator.mapping for name in names}
    for name in sorted(operator.catalogs):
        if name not in mapped:
            yield Finding(
                f"`{CI}` maps no template to catalog `{name}`",
                at=Location(path=operator.shown_catalog(name)),
                hint=f"add `{name}` to `fbc.catalog_mapping`, or delete the folder",
            )


def _unreadable(
    operator: Operator, catalog: RenderedCatalog, error: InputError
) -> Iterator[Finding]:
    for found in error.diagnostics:
        yield Finding(found.message, at=found.at, hint=found.hint)
    if not error.diagnostics:
        at = Location(path=operator.shown_catalog(catalog.name))
        yield Finding(error.message, at=at, hint=error.hint)


def _templates(operator: Operator) -> dict[str, TemplateFile | None]:
    """Return the mapped templates by name, read once."""
    found: dict[str, TemplateFile | None] = operator.once("templates", _read_templates)
    return found


def _read_templates(operator: Operator) -> dict[str, TemplateFile | None]:
    found: dict[str, TemplateFile | None] = {}
    for _, name, type_, _ in operator.mapping:
        if name and name not in found:
            found[name] = catalogs.read_template(operator, name, type_)
    return found


def _read(operator: Operator) -> tuple[RenderedCatalog, ...]:
    """Return the catalogs by name, read once."""
    found: tuple[RenderedCatalog, ...] = operator.once("catalogs", _read_catalogs)
    return found


def _read_catalogs(operator: Operator) -> tuple[RenderedCatalog, ...]:
    templates = _templates(operator)
    mapped = {name: template for _, template, _, names in operator.mapping for name in names}
    return tuple(
        catalogs.read(operator, name, templates.get(mapped.get(name, "")))
        for name in sorted(operator.catalogs)
    )
