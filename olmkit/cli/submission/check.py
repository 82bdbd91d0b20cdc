"""`olmkit submit check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import app as frame
from olmkit.cli.frame import option_values, validation
from olmkit.cli.frame import output as output_forms
from olmkit.cli.frame.app import App
from olmkit.cli.frame.validation import Checks, ValidationReport, finding_options

if TYPE_CHECKING:
    from olmkit.jobs.submission.check import SubmissionOptions, SubmissionReport


@frame.command(
    output=False,
    example="""
    olmkit submit check ~/community-operators --to operatorhub --base origin/main
    olmkit submit check . --operator memcached-operator -o concise
    olmkit submit check ~/certified-operators -o junit > report.xml
    """,
)
@click.argument("repository", metavar="REPO", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "target",
    type=click.Choice(option_values.SUBMISSION_TARGETS),
    help="Pipeline that will check the pull request. Default: the one that `config.yaml` of the "
    "repository names, else `operatorhub`.",
)
@click.option(
    "--base",
    default="",
    metavar="BRANCH",
    help="Check only what differs from this branch, and the pull request as a whole.",
)
@click.option(
    "--operator",
    "operators",
    multiple=True,
    metavar="NAME",
    help="Check only this operator. Repeatable.",
)
@finding_options
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Do not report the findings that this file lists.",
)
@click.option(
    "--write-baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write all findings to this file.",
)
def check(
    app: App,
    *,
    repository: Path,
    target: str | None,
    base: str,
    operators: tuple[str, ...],
    output: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on_warnings: bool,
    baseline: Path | None,
    write_baseline: Path | None,
) -> None:
    """Check a checkout of a repository of operators before a pull request.

    REPO has `operators/NAME/VERSION`, as `community-operators` and `certified-operators` do. All
    rules of the pipeline run that need neither a cluster nor a registry.
    """
    from olmkit.jobs.bundle import validate as known
    from olmkit.jobs.submission.check import SubmissionOptions
    from olmkit.rules import pipelines
    from olmkit.submission.settings import PROFILES, Target

    app.output = output
    options = SubmissionOptions(
        target=Target(target) if target else None,
        base=base,
        operators=operators,
        select=validation.split_codes(select),
        ignore=validation.split_codes(ignore),
    )
    checked = _run(app, repository, options)
    results = checked.results
    if write_baseline is not None:
        count = known.write_baseline(write_baseline, results)
        found = output_forms.plural(count, "finding")
        app.terminal.note(f"Wrote {found} into `{write_baseline}`")
        return
    if baseline is not None:
        results = known.without_known(results, known.read_baseline(baseline))
    if not results:
        found = f"No operator differs from `{base}`" if base else f"`{repository}` has no operators"
        app.terminal.note(found)
        return
    profile = PROFILES[checked.target]
    validation.show(
        app,
        ValidationReport(
            results=results,
            noun="operator",
            unreadable="MET000",
            fail_on_warnings=fail_on_warnings,
            sources=app.sources,
            facts=lambda result: {"name": result.name},
            checks=Checks(
                profile=profile,
                suites=sorted({rule.suite for rule in checked.rules}),
                not_run=() if select else pipelines.SUBMISSIONS[profile],
            ),
        ),
    )


def _run(app: App, repository: Path, options: SubmissionOptions) -> SubmissionReport:
    from olmkit.jobs.submission import check as job

    # Plain lines: a bar has its own thread, and then the checks cannot fork.
    def report(noun: str, done: int, total: int) -> None:
        app.terminal.note(f"checked {done:,} of {total:,} {noun}")

    return job.check(repository, options, report)
