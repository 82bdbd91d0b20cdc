"""`generate`: from types and markers to `config/`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.frame import option_values, output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.exits import Exit

if TYPE_CHECKING:
    from olmkit.base.diagnostics import Diagnostic


@command(
    name="generate",
    project=True,
    example="""
    olmkit generate
    olmkit generate crd rbac --check
    olmkit generate crd --set max-description=0
    """,
)
@click.argument(
    "targets", nargs=-1, type=click.Choice(option_values.GENERATED), metavar="[WHAT]..."
)
@click.option(
    "--check", is_flag=True, help="Write nothing; exit with code 1 if something would change."
)
@click.option("--dry-run", is_flag=True, help="Show what would change without writing anything.")
@click.option("--strict-markers", is_flag=True, help="Report unknown markers as errors.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Setting that overrides [tool.olmkit] for this run; repeatable.",
)
@click.option("--list-markers", is_flag=True, help="Print all known markers and exit.")
def generate(
    app: App,
    targets: tuple[str, ...],
    check: bool,
    dry_run: bool,
    strict_markers: bool,
    settings: tuple[str, ...],
    list_markers: bool,
) -> None:
    """Write CRDs, roles, webhooks and the base CSV from types and markers.

    WHAT is any of crd, rbac, webhook and csv; without it, all of them are written.
    Sources are Python or Go; they are read as text, never imported or compiled.
    """
    from olmkit.apis.markers import pages as marker_pages
    from olmkit.jobs.project import generate as job
    from olmkit.jobs.project.generate import Target

    if list_markers:
        app.emit(_markers_json(), text=marker_pages.listing)
        return
    options = job.GenerateOptions(
        targets=frozenset(Target(name) for name in targets) or frozenset(Target),
        strict_markers=strict_markers,
        settings=settings,
        environment=os.environ,
        check_watches=_check_watches,
    )
    is_dry = check or dry_run
    result = job.generate(app.project, options, dry_run=is_dry)
    app.emit(
        {"changes": output.changes_json(result.changes), "files": list(result.files)},
        text=lambda: app.told(
            output.changes_text(result.changes, dry_run=is_dry) or "nothing to change",
            is_result=is_dry,
        ),
        diagnostics=result.diagnostics,
    )
    if check and result.changes:
        app.exit(Exit.NO)


def _check_watches(data: bytes, path: str) -> tuple[Diagnostic, ...]:
    from olmkit.hybrid import watches

    return watches.check(data, path)


def _markers_json() -> dict[str, Any]:
    from olmkit.apis.markers import pages as marker_pages

    return {
        "markers": [
            {
                "name": row.name,
                "levels": list(row.levels),
                "arguments": [
                    {"name": name, "type": kind, "required": required}
                    for name, kind, required in row.arguments
                ],
                "doc": row.doc,
            }
            for row in marker_pages.rows()
            if row.is_used
        ]
    }
