"""The options of the checks of bundles and catalogs, and their output.

Both commands have the same options and output formats; the differences, the noun and the quoted
files, are arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic, Location, Severity
from olmkit.cli.frame import options, output
from olmkit.cli.frame.app import App
from olmkit.cli.frame.exits import Exit, exit_code
from olmkit.cli.frame.output import ReadQuoted

if TYPE_CHECKING:
    from olmkit.jobs.validation import ValidationResult
    from olmkit.rules.pipelines import Elsewhere

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit", "json-alpha1")


class Checks(NamedTuple):
    """The scope of a check: the profile, its suites of rules, and checks that did not run."""

    profile: str
    suites: Sequence[str]
    not_run: Sequence[Elsewhere] = ()


class ValidationReport(NamedTuple):
    """The results of one check. `unreadable` is the code for unreadable input."""

    results: Sequence[ValidationResult]
    noun: str
    unreadable: str
    fail_on_warnings: bool
    sources: ReadQuoted
    title: Callable[[Any], str] = lambda result: f"`{result.reference}`"
    facts: Callable[[Any], dict[str, Any]] = lambda _: {}
    checks: Checks | None = None


def finding_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select findings and their output format."""
    added = (
        click.option(
            "-o",
            "--output",
            type=click.Choice(FORMATS),
            default="text",
            show_default=True,
            envvar="OLMKIT_OUTPUT",
            help="Output format of the findings.",
        ),
        click.option(
            "--select",
            multiple=True,
            metavar="RULES",
            help="Run only these rules: codes, names, families or suites, separated by commas.",
        ),
        click.option("--ignore", multiple=True, metavar="RULES", help="Do not run these rules."),
        click.option(
            "--fail-on-warnings", is_flag=True, help="Exit with code 1 for warnings, too."
        ),
    )
    return options.add(run, added)


def split_codes(values: Sequence[str]) -> tuple[str, ...]:
    """Return the rules in options, each of which may name several."""
    return tuple(word.strip() for text in values for word in text.split(",") if word.strip())


def show(app: App, verdict: ValidationReport) -> None:
    """Show the findings, and exit with their exit code.

    If there is only one input and it cannot be read, its error is raised.
    """
    results = verdict.results
    if len(results) == 1 and results[0].error is not None:
        raise results[0].error
    found = [diagnostic for result in results for diagnostic in _list_findings(verdict, result)]
    match app.output:
        case "json":
            app.terminal.result(output.envelope(app.command, _json(verdict), found), exact=True)
        case "text":
            _show_text(app, verdict, found)
        case form:
            app.terminal.result(_report(verdict, form, found), exact=True)
    code = max(_code(verdict, result) for result in results)
    if code:
        app.exit(Exit(code))


def _report(verdict: ValidationReport, form: str, found: Sequence[Diagnostic]) -> str:
    from olmkit.cli.frame import reports

    groups = [(result.reference, _list_findings(verdict, result)) for result in verdict.results]
    match form:
        case "junit":
            return reports.junit(groups)
        case "json-alpha1":
            passed = all(_is_passed(verdict, result) for result in verdict.results)
            return reports.json_alpha1(groups, passed=passed)
        case "sarif":
            return reports.sarif(found)
        case "github":
            return reports.github(found)
        case "gitlab":
            return reports.gitlab(found)
        case _:
            return reports.concise(found)


def _code(verdict: ValidationReport, result: ValidationResult) -> int:
    from olmkit.rules import engine

    if result.error is not None:
        return exit_code(result.error)
    if engine.has_crashed(result.diagnostics):
        return Exit.FAULT
    return Exit.DONE if _is_passed(verdict, result) else Exit.NO


def _is_passed(verdict: ValidationReport, result: ValidationResult) -> bool:
    return result.passed and not (verdict.fail_on_warnings and result.count(Severity.WARNING))


def _show_text(app: App, verdict: ValidationReport, found: Sequence[Diagnostic]) -> None:
    results = verdict.results
    if found:
        color = app.terminal.color_out
        app.terminal.result(output.text(found, verdict.sources, color=color))
    summary = output.summary(found)
    failed = sum(not _is_passed(verdict, result) for result in results)
    if len(results) > 1:
        all_ = output.plural(len(results), verdict.noun)
        state = f"{failed} of {all_} failed" if failed else f"{all_} passed"
    else:
        state = f"{verdict.title(results[0])} {'failed' if failed else 'passed'}"
    if failed and all(result.passed for result in results):
        state += ", since warnings count as errors"
    app.terminal.note(f"{summary}; {state}" if summary else state)
    if verdict.checks is not None and verdict.checks.not_run:
        app.terminal.note(_checks_text(verdict.checks))


def _checks_text(checks: Checks) -> str:
    lines = [f"Ran the rules of profile `{checks.profile}`; not checked here:"]
    lines += [f"  {entry.check}: {entry.reason}; {entry.how}" for entry in checks.not_run]
    return "\n".join(lines)


def _checks_json(checks: Checks) -> dict[str, Any]:
    return {
        "profile": checks.profile,
        "suites": list(checks.suites),
        "notRun": [entry._asdict() for entry in checks.not_run],
    }


def _json(verdict: ValidationReport) -> dict[str, Any]:
    passed = [_is_passed(verdict, result) for result in verdict.results]
    return {
        "passed": all(passed),
        **({"checks": _checks_json(verdict.checks)} if verdict.checks else {}),
        f"{verdict.noun}s": [
            {
                "reference": result.reference,
                **verdict.facts(result),
                "passed": good,
                "errors": sum(
                    found.severity is Severity.ERROR for found in _list_findings(verdict, result)
                ),
                "warnings": result.count(Severity.WARNING),
            }
            for result, good in zip(verdict.results, passed, strict=True)
        ],
    }


def _list_findings(verdict: ValidationReport, result: ValidationResult) -> Sequence[Diagnostic]:
    """Return the findings; an unreadable input is a finding next to the others."""
    if result.error is None:
        return result.diagnostics
    unread = findings.create(
        verdict.unreadable,
        result.error.message,
        at=Location(path=result.reference),
        hint=result.error.hint,
    )
    return (*result.error.diagnostics, unread)
