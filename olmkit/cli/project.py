"""`generate`: from types and markers to `config/`."""

from __future__ import annotations

import click

from olmkit.cli import render
from olmkit.cli.app import App, command
from olmkit.cli.exits import Exit
from olmkit.jobs import scaffold
from olmkit.jobs.scaffold import Target


@command(
    name="generate",
    project=True,
    example="""
    olmkit generate
    olmkit generate crd rbac --check
    """,
)
@click.argument(
    "targets", nargs=-1, type=click.Choice([str(target) for target in Target]), metavar="[WHAT]..."
)
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if something would.")
@click.option("--dry-run", is_flag=True, help="Change nothing; say what would.")
@click.option("--strict-markers", is_flag=True, help="Markers of no known meaning are errors.")
def generate(
    app: App, targets: tuple[str, ...], check: bool, dry_run: bool, strict_markers: bool
) -> None:
    """Write CRDs, roles, webhooks and the base CSV from types and markers.

    WHAT is any of crd, rbac, webhook and csv; without it, all of them are written.
    Sources are read as text and never imported.
    """
    options = scaffold.GenerateOptions(
        targets=frozenset(Target(name) for name in targets) or frozenset(Target),
        strict_markers=strict_markers,
    )
    is_dry = check or dry_run
    result = scaffold.generate(app.project, options, dry_run=is_dry)
    app.emit(
        {"changes": render.changes_json(result.changes), "files": list(result.files)},
        text=lambda: render.changes_text(result.changes, dry_run=is_dry) or "nothing to change",
        diagnostics=result.diagnostics,
    )
    if check and result.changes:
        app.exit(Exit.NO)
