"""`olmkit bundle validate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from olmkit.base.diagnostics import ConfigurationError, Diagnostic, OlmkitError, Severity
from olmkit.base.tree import Tree
from olmkit.cli import app as frame
from olmkit.cli import render
from olmkit.cli.app import App
from olmkit.cli.exits import Exit, exit_code
from olmkit.cli.registry_options import registry_options
from olmkit.cli.render import Sources
from olmkit.edges.access import Access
from olmkit.jobs import check
from olmkit.jobs.check import CheckOptions, CheckResult, Pulled
from olmkit.rules import engine
from olmkit.rules.engine import Facts

FORMATS = ("text", "json", "sarif", "github", "concise")


@frame.command(
    output=False,
    example="""
    olmkit bundle validate bundle/
    olmkit bundle validate operators/*/* --profile community -o concise
    olmkit bundle validate --explain repeated-install-mode
    """,
)
@click.argument("references", nargs=-1, metavar="REF...")
@click.option(
    "-o",
    "--output",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    envvar="OLMKIT_OUTPUT",
    help="Form of the findings.",
)
@click.option(
    "--profile",
    type=click.Choice(tuple(engine.PROFILES)),
    default="default",
    show_default=True,
    help="What the bundle is meant for.",
)
@click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    help="Ask these rules only: codes, names or families, separated by commas.",
)
@click.option("--ignore", multiple=True, metavar="RULES", help="Leave these rules out.")
@click.option(
    "--k8s-version", default="", metavar="VERSION", help="The Kubernetes version it is meant for."
)
@click.option("--fail-on-warnings", is_flag=True, help="Exit code 1 for warnings, too.")
@click.option("--explain", metavar="RULE", help="Tell what a rule wants, why, and how to fix it.")
@click.option("--list-rules", is_flag=True, help="List the rules of the profile.")
@registry_options
def validate(
    app: App,
    *,
    references: tuple[str, ...],
    output: str,
    profile: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    k8s_version: str,
    fail_on_warnings: bool,
    explain: str | None,
    list_rules: bool,
    access: Access,
) -> None:
    """Check bundles: folders or images."""
    app.output = output
    options = CheckOptions(
        profile=profile,
        select=_words(select),
        ignore=_words(ignore),
        facts=Facts(kube_version=k8s_version),
    )
    if explain is not None:
        _explain(app, explain)
    elif list_rules:
        _list_rules(app, options)
    elif not references:
        raise ConfigurationError(
            "no bundle is named", hint="name a folder or an image: `olmkit bundle validate bundle/`"
        )
    else:
        pulled: Pulled = {}
        if not check.are_folders(references):
            pulled = app.run(check.pull(references, access))
        _validate(app, references, options, pulled, fail_on_warnings=fail_on_warnings)


def _validate(
    app: App,
    references: Sequence[str],
    options: CheckOptions,
    pulled: Pulled,
    *,
    fail_on_warnings: bool,
) -> None:
    results = check.validate_bundles(references, options, pulled=pulled)
    if len(results) == 1 and results[0].error is not None:
        raise results[0].error
    _show(app, results, pulled, fail_on_warnings=fail_on_warnings)
    code = max(_code(result, fail_on_warnings=fail_on_warnings) for result in results)
    if code:
        app.exit(Exit(code))


def _code(result: CheckResult, *, fail_on_warnings: bool) -> int:
    if result.error is not None:
        return exit_code(result.error)
    if engine.crashed(result.diagnostics):
        return Exit.FAULT
    return Exit.DONE if _passed(result, fail_on_warnings=fail_on_warnings) else Exit.NO


def _passed(result: CheckResult, *, fail_on_warnings: bool) -> bool:
    return result.passed and not (fail_on_warnings and result.count(Severity.WARNING))


def _show(
    app: App, results: Sequence[CheckResult], pulled: Pulled, *, fail_on_warnings: bool
) -> None:
    passed = [_passed(result, fail_on_warnings=fail_on_warnings) for result in results]
    found = [diagnostic for result in results for diagnostic in _said(result)]
    match app.output:
        case "json":
            app.terminal.result(render.envelope(app.command, _json(results, passed), found))
        case "text":
            _show_text(app, results, passed, found, _sources(app, pulled))
        case form:
            from olmkit.cli import render_reports

            app.terminal.result(getattr(render_reports, form)(found))


def _sources(app: App, pulled: Pulled) -> Sources:
    """The files that findings name: those of images, else those on the disk."""

    def read(path: str) -> bytes | None:
        for name, tree in pulled.items():
            inside = path.removeprefix(f"{name}/")
            if isinstance(tree, Tree) and inside != path and inside in tree:
                return tree.data(inside)
        return app.sources(path)

    return read


def _show_text(
    app: App,
    results: Sequence[CheckResult],
    passed: Sequence[bool],
    found: Sequence[Diagnostic],
    sources: Sources,
) -> None:
    if found:
        color = app.terminal.color_out
        app.terminal.result(render.text(found, sources, color=color))
    words = render.summary(found)
    failed = passed.count(False)
    if len(results) > 1:
        bundles = render.plural(len(results), "bundle")
        state = f"{failed} of {bundles} failed" if failed else f"{bundles} passed"
    else:
        state = "failed" if failed else "passed"
        state = f"{results[0].name or results[0].reference} {state}"
    if failed and all(result.passed for result in results):
        state += ", since warnings count as errors"
    app.terminal.note(f"{words}; {state}" if words else state)


def _json(results: Sequence[CheckResult], passed: Sequence[bool]) -> dict[str, Any]:
    return {
        "passed": all(passed),
        "bundles": [
            {
                "reference": result.reference,
                "name": result.name,
                "passed": good,
                "errors": sum(found.severity is Severity.ERROR for found in _said(result)),
                "warnings": result.count(Severity.WARNING),
            }
            for result, good in zip(results, passed, strict=True)
        ],
    }


def _said(result: CheckResult) -> Sequence[Diagnostic]:
    """The findings of a bundle; why it could not be read is one, beside other bundles."""
    if result.error is None:
        return result.diagnostics
    return (*result.error.diagnostics, _as_finding(result.reference, result.error))


def _as_finding(reference: str, error: OlmkitError) -> Diagnostic:
    from olmkit.base.diagnostics import Location

    return Diagnostic(
        rule="MET000",
        name="unreadable-bundle",
        severity=Severity.ERROR,
        message=error.message,
        at=Location(path=reference),
        hint=error.hint,
    )


def _explain(app: App, word: str) -> None:
    rule = engine.find(word)
    value = {
        "code": rule.code,
        "name": rule.name,
        "severity": str(rule.severity),
        "suite": rule.suite,
        "text": rule.doc,
    }
    if app.is_json:
        app.emit(value)
    else:
        app.terminal.result(engine.explain(word))


def _list_rules(app: App, options: CheckOptions) -> None:
    profile = engine.profile(options.profile)
    chosen = engine.choose(profile, select=options.select, ignore=options.ignore)
    if app.is_json:
        app.emit(
            [
                {
                    "code": rule.code,
                    "name": rule.name,
                    "severity": str(profile.severities.get(rule.code, rule.severity)),
                    "suite": rule.suite,
                    "summary": rule.doc.split("\n")[0],
                }
                for rule in chosen
            ]
        )
        return
    width = max((len(rule.name) for rule in chosen), default=0)
    app.terminal.result(
        "\n".join(
            f"{rule.code}  {rule.name:<{width}}  "
            f"{profile.severities.get(rule.code, rule.severity)!s:<7}  "
            f"{rule.doc.splitlines()[0] if rule.doc else ''}"
            for rule in chosen
        )
    )


def _words(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())
