"""Rules about `release-config.yaml`, which adds a released bundle to templates.

Source: `release-config-schema.json` and the static checks of the pipelines of OpenShift's catalogs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from olmkit.base.diagnostics import InputError, Location, Severity
from olmkit.catalog.templates.source import SCHEMAS, Kind
from olmkit.rules.engine import SUBMISSION, Finding, rule
from olmkit.rules.submissions.ci import release_templates
from olmkit.rules.submissions.layout import SUITE
from olmkit.submission import shapes
from olmkit.submission.operators import CI, Operator

SEMVER_CHANNELS: Final = ("Fast", "Stable", "Candidate")
_EDGES: Final = ("replaces", "skips", "skipRange")


@rule("SUB020", "release-config-schema", subject=SUBMISSION, suite=SUITE)
def release_config_schema(operator: Operator) -> Iterator[Finding]:
    """A `release-config.yaml` cannot be read, or does not match its schema.

    Why: the pipeline rejects the pull request.

    Fix: correct the value.
    """
    for _, path in operator.releases:
        try:
            document = operator.document(path)
        except InputError as error:
            first = error.diagnostics[0] if error.diagnostics else None
            at = first.at if first else Location(path=operator.shown(path))
            yield Finding(first.message if first else error.message, at=at, hint=error.hint)
            continue
        value = document.value if document is not None else None
        for misfit in shapes.misfits(shapes.RELEASE, value):
            yield Finding(misfit.message, at=operator.at(path, *misfit.keys), hint=misfit.hint)


@rule("SUB021", "release-config-without-fbc", subject=SUBMISSION, suite=SUITE)
def release_config_without_fbc(operator: Operator) -> Iterator[Finding]:
    """A version has a `release-config.yaml`, and the operator has no file-based catalog.

    Why: the pipeline rejects it.

    Fix: set `fbc.enabled: true` in `ci.yaml`, or remove the file.
    """
    for _, path in operator.releases:
        if not operator.is_file_based:
            yield Finding(
                f"`fbc.enabled` is not set in `{CI}`",
                at=operator.at(path),
                hint=f"set `fbc.enabled: true` in `{CI}`, or remove the file",
            )


@rule("SUB022", "release-config-template", subject=SUBMISSION, suite=SUITE)
def release_config_template(operator: Operator) -> Iterator[Finding]:
    """A `release-config.yaml` names a template that `ci.yaml` does not map to catalogs.

    Why: the pipeline rejects it.

    Fix: add the template to `fbc.catalog_mapping`, or correct the name.
    """
    mapped = [template for _, template, _, _ in operator.mapping]
    for _, path in operator.releases if operator.is_file_based else ():
        for index, template, _ in release_templates(operator, path):
            if template not in mapped:
                yield Finding(
                    f"template `{template}` is not in `fbc.catalog_mapping` of `{CI}`",
                    at=operator.at(path, "catalog_templates", index, "template_name"),
                    hint=f"use one of {', '.join(f'`{name}`' for name in mapped)}"
                    if mapped
                    else f"add it to `{CI}`",
                )


@rule("SUB023", "release-config-channels", subject=SUBMISSION, suite=SUITE)
def release_config_channels(operator: Operator) -> Iterator[Finding]:
    """A `release-config.yaml` has channels that a semver template does not have.

    Why: a semver template has only `Fast`, `Stable` and `Candidate`; the pipeline rejects
    other names.

    Fix: use these names.
    """
    for path, index, channels in _semver(operator):
        for number, channel in enumerate(channels):
            if channel not in SEMVER_CHANNELS:
                yield Finding(
                    f"a semver template has no channel `{channel}`",
                    at=operator.at(path, "catalog_templates", index, "channels", number),
                    hint=f"use {', '.join(f'`{name}`' for name in SEMVER_CHANNELS)}",
                )


@rule("SUB024", "release-config-edges", severity=Severity.WARNING, subject=SUBMISSION, suite=SUITE)
def release_config_edges(operator: Operator) -> Iterator[Finding]:
    """A `release-config.yaml` has upgrade edges for a semver template.

    Why: a semver template derives its edges from the versions, so these values have no
    effect.

    Fix: remove `replaces`, `skips` and `skipRange`.
    """
    for path, index, _ in _semver(operator):
        document = operator.document(path)
        for name in _EDGES if document is not None else ():
            if document is not None and document.get("catalog_templates", index, name) is not None:
                yield Finding(
                    f"`{name}` has no effect on a semver template",
                    at=operator.at(path, "catalog_templates", index, name),
                    hint="remove it",
                )


def _semver(operator: Operator) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Yield path, index and channels of the entries for semver templates."""
    mapped = {template: type_ for _, template, type_, _ in operator.mapping}
    for _, path in operator.releases:
        for index, template, channels in release_templates(operator, path):
            if mapped.get(template) == SCHEMAS[Kind.SEMVER]:
                yield path, index, channels
