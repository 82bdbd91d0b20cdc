"""Common parts of the scaffolding commands: options of kinds, and reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.frame import options, output
from olmkit.cli.frame.app import App

if TYPE_CHECKING:
    from olmkit.jobs.project.scaffold import ScaffoldResult

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would change without writing anything."
)


def kind_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a `KindRequest`, by the names of its fields."""
    return options.add(run, [*_identity(is_required=True), *_more()])


def free_kind_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a kind, with optional version and kind."""
    return options.add(run, [*_identity(is_required=False), *_more()])


def _identity(*, is_required: bool) -> list[Callable[..., Any]]:
    return [
        click.option("--group", default="", help="API group, without the domain of the project."),
        click.option(
            "--version", required=is_required, default=None, help="API version, such as v1alpha1."
        ),
        click.option("--kind", required=is_required, default=None, help="Kind, in camel case."),
    ]


def _more() -> list[Callable[..., Any]]:
    return [
        click.option(
            "--plural", default="", help="Plural name. Default: formed as Kubernetes does."
        ),
        click.option(
            "--external-api-domain",
            "external_domain",
            default=None,
            help="Domain of an external kind's API group.",
        ),
        click.option(
            "--external-api-path",
            "external_path",
            default="",
            help="Go package of the external types, for the PROJECT file.",
        ),
        click.option(
            "--force",
            is_flag=True,
            help="Overwrite existing files and discard your changes to them.",
        ),
    ]


def emit(app: App, result: ScaffoldResult, *, dry_run: bool, following: str = "") -> None:
    """Report created or changed files, and steps that only the author can do.

    `following` are the next steps, if something was written.
    """
    app.emit(
        {"changes": output.changes_json(result.changes)},
        text=lambda: app.told(
            output.changes_text(result.changes, dry_run=dry_run) or "nothing to change",
            is_result=dry_run,
        ),
        diagnostics=result.diagnostics,
    )
    if following and result.changes and not dry_run and not app.is_json:
        app.terminal.note(f"next: {following}")
