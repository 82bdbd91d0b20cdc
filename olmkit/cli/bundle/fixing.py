"""`olmkit bundle validate --fix`: changes, and the baseline of old findings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame import options, output
from olmkit.cli.frame.app import App
from olmkit.cli.frame.exits import Exit

if TYPE_CHECKING:
    from olmkit.jobs.bundle.fix import FixedBundle
    from olmkit.jobs.bundle.validate import CheckOptions


class Repairs(NamedTuple):
    """The action on findings: fix them, show the fixes, or write them to the baseline."""

    fix: bool
    diff: bool
    baseline: Path | None
    write_baseline: Path | None


def repair_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; its function gets them as `repairs`."""

    @functools.wraps(run)
    def gathered(*positional: Any, **arguments: Any) -> Any:
        repairs = Repairs(
            fix=arguments.pop("fix"),
            diff=arguments.pop("diff"),
            baseline=arguments.pop("baseline"),
            write_baseline=arguments.pop("write_baseline"),
        )
        if repairs.write_baseline and (repairs.fix or repairs.diff):
            raise ConfigurationError(
                "`--write-baseline` cannot be combined with `--fix` or `--diff`",
                hint="apply the fixes first, then write the baseline",
            )
        return run(*positional, repairs=repairs, **arguments)

    path = click.Path(path_type=Path)
    added = (
        click.option("--fix", is_flag=True, help="Apply the fixes that are unambiguous."),
        click.option(
            "--diff", is_flag=True, help="Print what `--fix` would change without writing anything."
        ),
        click.option(
            "--baseline",
            type=path,
            metavar="FILE",
            help="Do not report the findings that this file lists.",
        ),
        click.option(
            "--write-baseline", type=path, metavar="FILE", help="Write all findings to this file."
        ),
    )
    return options.add(gathered, added)


def apply(app: App, references: Sequence[str], chosen: CheckOptions, *, dry_run: bool) -> None:
    """Fix the bundles and report it; with `dry_run`, only print the difference."""
    from olmkit.jobs.bundle import fix

    done = fix.fix_bundles(references, chosen, dry_run=dry_run)
    if dry_run:
        app.terminal.result("".join(_differences(done)).rstrip("\n"))
    count = sum(one.count for one in done)
    files = sum(len(one.changes) for one in done)
    verb = "Would fix" if dry_run else "Fixed"
    app.terminal.note(
        f"{verb} {output.plural(count, 'finding')} in {output.plural(files, 'file')}"
        if count
        else "Nothing to fix"
    )
    if dry_run:
        app.exit(Exit.NO if files else Exit.DONE)


def _differences(done: Sequence[FixedBundle]) -> Iterator[str]:
    for one in done:
        for change in one.changes:
            yield from output.difference(one.reference, change)
