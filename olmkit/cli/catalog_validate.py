"""`olmkit catalog validate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from olmkit.base.diagnostics import Diagnostic, Location, OlmkitError, Severity
from olmkit.cli import app as frame
from olmkit.cli import catalog_source, render
from olmkit.cli.app import App
from olmkit.cli.exits import Exit, exit_code
from olmkit.cli.registry_options import registry_options
from olmkit.edges.sources import Access
from olmkit.jobs import catalog as job
from olmkit.jobs.catalog import ValidateOptions, ValidateResult
from olmkit.rules import engine


@frame.command(
    output=False,
    example="""
    olmkit catalog validate catalog
    olmkit catalog validate catalogs/* -o concise
    olmkit catalog validate quay.io/example/catalog:v1 --ignore unfit-icon
    """,
)
@click.argument("references", nargs=-1, required=True, metavar="REF...")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "sarif", "github", "concise"]),
    default="text",
    show_default=True,
    envvar="OLMKIT_OUTPUT",
    help="Form of the findings.",
)
@click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    help="Ask these rules only: codes, names or families, separated by commas.",
)
@click.option("--ignore", multiple=True, metavar="RULES", help="Leave these rules out.")
@click.option("--fail-on-warnings", is_flag=True, help="Exit code 1 for warnings, too.")
@registry_options
def validate(
    app: App,
    *,
    references: tuple[str, ...],
    output: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on_warnings: bool,
    access: Access,
) -> None:
    """Check catalogs: folders or images.

    Every error is one that makes the field's own tools refuse the catalog; warnings are ours.
    """
    app.output = output
    options = ValidateOptions(select=_words(select), ignore=_words(ignore))
    trees = catalog_source.pulled(app, references, access)
    results = job.validate(references, options, pulled=trees)
    if len(results) == 1 and results[0].error is not None:
        raise results[0].error
    _show(app, results, fail_on_warnings=fail_on_warnings)
    code = max(_code(result, fail_on_warnings=fail_on_warnings) for result in results)
    if code:
        app.exit(Exit(code))


def _code(result: ValidateResult, *, fail_on_warnings: bool) -> int:
    if result.error is not None:
        return exit_code(result.error)
    if engine.crashed(result.diagnostics):
        return Exit.FAULT
    return Exit.DONE if _passed(result, fail_on_warnings=fail_on_warnings) else Exit.NO


def _passed(result: ValidateResult, *, fail_on_warnings: bool) -> bool:
    return result.passed and not (fail_on_warnings and result.count(Severity.WARNING))


def _show(app: App, results: Sequence[ValidateResult], *, fail_on_warnings: bool) -> None:
    passed = [_passed(result, fail_on_warnings=fail_on_warnings) for result in results]
    found = [diagnostic for result in results for diagnostic in _said(result)]
    match app.output:
        case "json":
            app.terminal.result(render.envelope(app.command, _json(results, passed), found))
        case "text":
            _show_text(app, results, passed, found)
        case form:
            from olmkit.cli import render_reports

            app.terminal.result(getattr(render_reports, form)(found))


def _show_text(
    app: App,
    results: Sequence[ValidateResult],
    passed: Sequence[bool],
    found: Sequence[Diagnostic],
) -> None:
    if found:
        app.terminal.result(render.text(found, app.sources, color=app.terminal.color_out))
    words = render.summary(found)
    failed = passed.count(False)
    if len(results) > 1:
        catalogs = render.plural(len(results), "catalog")
        state = f"{failed} of {catalogs} failed" if failed else f"{catalogs} passed"
    else:
        state = f"`{results[0].reference}` {'failed' if failed else 'passed'}"
    if failed and all(result.passed for result in results):
        state += ", since warnings count as errors"
    app.terminal.note(f"{words}; {state}" if words else state)


def _json(results: Sequence[ValidateResult], passed: Sequence[bool]) -> dict[str, Any]:
    return {
        "passed": all(passed),
        "catalogs": [
            {
                "reference": result.reference,
                "passed": good,
                "errors": sum(found.severity is Severity.ERROR for found in _said(result)),
                "warnings": result.count(Severity.WARNING),
            }
            for result, good in zip(results, passed, strict=True)
        ],
    }


def _said(result: ValidateResult) -> Sequence[Diagnostic]:
    """The findings of a catalog; why it could not be read is one, beside other catalogs."""
    if result.error is None:
        return result.diagnostics
    return (*result.error.diagnostics, _as_finding(result.reference, result.error))


def _as_finding(reference: str, error: OlmkitError) -> Diagnostic:
    return Diagnostic(
        rule="FBC000",
        name="unreadable-catalog",
        severity=Severity.ERROR,
        message=error.message,
        at=Location(path=reference),
        hint=error.hint,
    )


def _words(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())
