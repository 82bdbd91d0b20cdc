"""Rules about `ci.yaml`, the settings of an operator.

Source: `ci-schema.json` and the static checks of the pipelines of OpenShift's catalogs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from olmkit.base.diagnostics import InputError, Location, Severity
from olmkit.rules.engine import SUBMISSION, Finding, rule
from olmkit.rules.submissions.layout import COMMUNITY_SUITE, SUITE
from olmkit.submission import shapes
from olmkit.submission.operators import CI, LATEST, TEMPLATES, Operator

_CATALOG: Final = re.compile(r"v[0-9]+\.[0-9]+", re.ASCII)


@rule("SUB010", "ci-missing", severity=Severity.WARNING, subject=SUBMISSION, suite=SUITE)
def ci_missing(operator: Operator) -> Iterator[Finding]:
    """An operator has no `ci.yaml`.

    Why: without `reviewers`, only maintainers can approve its pull requests. Without
    `updateGraph`, the pipeline guesses the upgrade graph. A certified operator needs its
    `cert_project_id`.

    Fix: write `operators/NAME/ci.yaml`; `olmkit submit prepare` writes one.
    """
    if operator.versions and CI not in operator.files:
        yield Finding(
            f"`{operator.name}` has no `{CI}`",
            at=Location(path=operator.shown()),
            hint=f"write `operators/{operator.name}/{CI}` with `reviewers`",
        )


@rule("SUB011", "ci-unreadable", subject=SUBMISSION, suite=SUITE)
def ci_unreadable(operator: Operator) -> Iterator[Finding]:
    """The file `ci.yaml` cannot be read.

    Why: the pipeline stops at it.

    Fix: correct the YAML at the reported position.
    """
    try:
        operator.document(CI)
    except InputError as error:
        at = error.diagnostics[0].at if error.diagnostics else Location(path=operator.shown(CI))
        yield Finding(
            error.diagnostics[0].message if error.diagnostics else error.message,
            at=at,
            hint=error.diagnostics[0].hint if error.diagnostics else error.hint,
        )


@rule("SUB012", "ci-schema", subject=SUBMISSION, suite=SUITE)
def ci_schema(operator: Operator) -> Iterator[Finding]:
    """A value in `ci.yaml` does not match the schema of the pipelines.

    Why: the static checks reject the pull request. A frequent mistake is `catalogs_names`, which
    some examples contain: the correct key is `catalog_names`. An `updateGraph` of
    `semver-skippatch` is no longer supported.

    Fix: correct the value.
    """
    if CI not in operator.files:
        return
    try:
        document = operator.document(CI)
    except InputError:
        return
    value = document.value if document is not None else None
    for misfit in shapes.misfits(shapes.CI, {} if value is None else value):
        yield Finding(misfit.message, at=operator.at(CI, *misfit.keys), hint=misfit.hint)


@rule("SUB013", "ci-misspelt-key", severity=Severity.WARNING, subject=SUBMISSION, suite=SUITE)
def ci_misspelt_key(operator: Operator) -> Iterator[Finding]:
    """A top-level key of `ci.yaml` is unknown, but similar to a known one.

    Why: the schema allows unknown keys, and no pipeline reads them.

    Fix: correct the spelling.
    """
    for name, suggestion in shapes.unknown(shapes.CI, operator.ci):
        yield Finding(
            f"unknown key `{name}`", at=operator.at(CI, name), hint=f"did you mean `{suggestion}`"
        )


@rule("SUB014", "catalog-mapped-twice", subject=SUBMISSION, suite=SUITE)
def catalog_mapped_twice(operator: Operator) -> Iterator[Finding]:
    """Two templates are rendered into one catalog.

    Why: a catalog can come from only one template, so the pipeline rejects the file.

    Fix: list each catalog under one template.
    """
    first: dict[str, tuple[int, str]] = {}
    for index, template, _, catalogs in operator.mapping:
        for catalog in dict.fromkeys(catalogs):
            known = first.setdefault(catalog, (index, template))
            if known[0] != index:
                yield Finding(
                    f"catalog `{catalog}` is mapped to `{known[1]}` and to `{template}`",
                    at=operator.at(CI, "fbc", "catalog_mapping", index, "catalog_names"),
                    hint="keep it under one of the two",
                )


@rule(
    "SUB015",
    "update-graph-missing",
    severity=Severity.INFO,
    subject=SUBMISSION,
    suite=SUITE,
)
def update_graph_missing(operator: Operator) -> Iterator[Finding]:
    """The `ci.yaml` of an operator without a file-based catalog lacks `updateGraph`.

    Why: the pipeline then uses `replaces-mode`, in which a version without `spec.replaces`
    starts a separate graph.

    Fix: write `updateGraph: replaces-mode` or `updateGraph: semver-mode`.
    """
    if operator.is_file_based or CI not in operator.files or "updateGraph" in operator.ci:
        return
    if "cert_project_id" not in operator.ci:
        yield Finding(
            "`updateGraph` is missing; the pipeline takes `replaces-mode`",
            at=operator.at(CI),
            hint="write `updateGraph: replaces-mode` or `updateGraph: semver-mode`",
        )


@rule("SUB016", "template-file-missing", severity=Severity.WARNING, subject=SUBMISSION, suite=SUITE)
def template_file_missing(operator: Operator) -> Iterator[Finding]:
    """`ci.yaml` maps a template that does not exist, and no version adds it.

    Why: the catalogs of this template cannot be rendered.

    Fix: add the template to `catalog-templates/`, or correct the name.
    """
    announced: set[str] = set()
    for _, path in operator.releases:
        announced |= {name for _, name, _ in release_templates(operator, path)}
    for index, template, _, _ in operator.mapping:
        missing = f"{TEMPLATES}/{template}" not in operator.files
        if template and missing and template not in announced:
            yield Finding(
                f"template `{template}` does not exist in `{TEMPLATES}/`",
                at=operator.at(CI, "fbc", "catalog_mapping", index, "template_name"),
                hint=f"write `{TEMPLATES}/{template}`, or correct the name",
            )


@rule("SUB017", "unknown-catalog", severity=Severity.WARNING, subject=SUBMISSION, suite=SUITE)
def unknown_catalog(operator: Operator) -> Iterator[Finding]:
    """A mapped catalog does not exist in the repository.

    Why: OperatorHub.io has one catalog, `latest`; OpenShift has one for each version, such
    as `v4.18`. No pipeline builds a catalog with another name.

    Fix: use the name of a directory in `catalogs/`.
    """
    for index, _, _, catalogs in operator.mapping:
        for number, catalog in enumerate(catalogs):
            if catalog in operator.known_catalogs:
                continue
            if not operator.known_catalogs and (catalog == LATEST or _CATALOG.fullmatch(catalog)):
                continue
            known = ", ".join(f"`{name}`" for name in sorted(operator.known_catalogs)[-4:])
            yield Finding(
                f"catalog `{catalog[:80]}` does not exist in `catalogs/`",
                at=operator.at(CI, "fbc", "catalog_mapping", index, "catalog_names", number),
                hint=f"catalogs are {known}" if known else f"use `{LATEST}` or `v4.18`",
            )


@rule("SUB057", "not-file-based", severity=Severity.INFO, subject=SUBMISSION, suite=COMMUNITY_SUITE)
def not_file_based(operator: Operator) -> Iterator[Finding]:
    """The operator has no file-based catalog.

    Why: OpenShift's community pipeline recommends templates and file-based catalogs,
    because you can change their upgrade graph after a release.

    Fix: set `fbc.enabled` in `ci.yaml`, and add `catalog-templates/`.
    """
    if operator.versions and not operator.is_file_based:
        yield Finding(
            "the upgrade graph is in the CSVs; the pipeline recommends a file-based catalog",
            at=operator.at(CI) if CI in operator.files else Location(path=operator.shown()),
            hint="set `fbc.enabled: true` in `ci.yaml`, and add `catalog-templates/`",
        )


def release_templates(operator: Operator, path: str) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield index, template and channels of each valid entry of a release configuration."""
    try:
        document = operator.document(path)
    except InputError:
        return
    entries = document.get("catalog_templates") if document is not None else None
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and isinstance(entry.get("template_name"), str):
            channels = entry.get("channels")
            listed = channels if isinstance(channels, list) else []
            names = tuple(name for name in listed if isinstance(name, str))
            yield index, entry["template_name"], names
