"""`olmkit bundle validate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.bundle import fact_options, fixing
from olmkit.cli.bundle.fixing import Repairs
from olmkit.cli.frame import app as frame
from olmkit.cli.frame import option_values, validation
from olmkit.cli.frame import output as output_forms
from olmkit.cli.frame.app import App
from olmkit.cli.frame.output import ReadQuoted
from olmkit.cli.frame.registry_options import registry_options
from olmkit.cli.frame.validation import Checks, ValidationReport, finding_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.bundle.validate import CheckOptions, GivenFacts
    from olmkit.jobs.validation import Pulled


@frame.command(
    output=False,
    example="""
    olmkit bundle validate bundle/
    olmkit bundle validate operators/*/* --profile community -o concise
    olmkit bundle validate --explain repeated-install-mode
    """,
)
@click.argument("references", nargs=-1, metavar="REF...")
@finding_options
@click.option(
    "--profile",
    type=click.Choice(option_values.PROFILES),
    default="default",
    show_default=True,
    help="Where the bundle will be published or installed.",
)
@click.option(
    "--select-optional",
    default="",
    metavar="SELECTOR",
    help="Add the rules of operator-sdk's optional validators, such as `suite=operatorframework`.",
)
@fact_options.fact_options
@fixing.repair_options
@click.option("--explain", metavar="RULE", help="Print what a rule finds, why, and how to fix it.")
@click.option("--list-rules", is_flag=True, help="List the rules that would run.")
@registry_options
def validate(
    app: App,
    *,
    references: tuple[str, ...],
    output: str,
    profile: str,
    select: tuple[str, ...],
    select_optional: str,
    ignore: tuple[str, ...],
    given: GivenFacts,
    inspect_images: bool,
    repairs: Repairs,
    fail_on_warnings: bool,
    explain: str | None,
    list_rules: bool,
    access: Access,
) -> None:
    """Validate bundles: directories or images."""
    from olmkit.jobs import validation as checked
    from olmkit.jobs.bundle import validate as check
    from olmkit.jobs.bundle.validate import CheckOptions

    app.output = output
    options = CheckOptions(
        profile=profile,
        select=validation.split_codes(select),
        ignore=(*validation.split_codes(ignore), *check.project_ignores(Path())),
        suites=fact_options.suites(select_optional),
    )
    if explain is not None:
        _explain(app, explain)
    elif list_rules:
        _list_rules(app, options)
    elif not references:
        raise ConfigurationError(
            "no bundle was passed",
            hint="pass a folder or an image: `olmkit bundle validate bundle/`",
        )
    else:
        options = options._replace(facts=fact_options.facts(given))
        pulled: Pulled = {}
        if not checked.are_folders(references):
            pulled = app.run(check.pull(references, access))
        if inspect_images:
            from olmkit.jobs.bundle import facts

            platforms = app.run(facts.read_platforms(references, access, pulled))
            options = options._replace(facts=options.facts._replace(platforms=platforms))
        _validate(app, references, options, pulled, repairs, fail_on_warnings=fail_on_warnings)


def _validate(
    app: App,
    references: Sequence[str],
    options: CheckOptions,
    pulled: Pulled,
    repairs: Repairs,
    *,
    fail_on_warnings: bool,
) -> None:
    """Fix the bundles if requested, validate them, and print the findings or write a baseline."""
    from olmkit.jobs.bundle import validate as check

    if repairs.fix or repairs.diff:
        fixing.apply(app, references, options, dry_run=repairs.diff)
    results = check.validate_bundles(references, options, pulled=pulled)
    if repairs.write_baseline is not None:
        count = check.write_baseline(repairs.write_baseline, results)
        found = output_forms.plural(count, "finding")
        app.terminal.note(f"Wrote {found} into `{repairs.write_baseline}`")
        return
    if repairs.baseline is not None:
        results = check.without_known(results, check.read_baseline(repairs.baseline))
    validation.show(
        app,
        ValidationReport(
            results=results,
            noun="bundle",
            unreadable="MET000",
            fail_on_warnings=fail_on_warnings,
            sources=_sources(app, pulled),
            title=lambda result: result.name or result.reference,
            facts=lambda result: {"name": result.name},
            checks=_checks(options),
        ),
    )


def _checks(options: CheckOptions) -> Checks:
    from olmkit.rules import pipelines

    rules = options.rules()
    return Checks(
        profile=options.profile,
        suites=sorted({rule.suite for rule in rules}),
        not_run=pipelines.not_run(
            options.chosen_profile, rules, options.facts, named=bool(options.select)
        ),
    )


def _sources(app: App, pulled: Pulled) -> ReadQuoted:
    """Return the files that findings name: those of images, else those on disk."""
    from olmkit.base.tree import Tree

    def read(path: str) -> bytes | None:
        for name, tree in pulled.items():
            inside = path.removeprefix(f"{name}/")
            if isinstance(tree, Tree) and inside != path and inside in tree:
                return tree.data(inside)
        return app.sources(path)

    return read


def _explain(app: App, word: str) -> None:
    from olmkit.rules import engine

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
    profile = options.chosen_profile
    chosen = options.rules()
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
