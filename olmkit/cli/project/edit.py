"""`olmkit edit`."""

from __future__ import annotations

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame.app import App, command
from olmkit.cli.project import scaffolding
from olmkit.cli.project.scaffolding import dry_run_option
from olmkit.jobs.project import scaffold as project
from olmkit.project.scaffold.edit import EditRequest


@command(
    name="edit",
    project=True,
    example="""
    olmkit edit --multigroup
    olmkit edit --image quay.io/example/memcached-operator:v0.0.2
    """,
)
@click.option(
    "--multigroup/--no-multigroup", default=None, help="Allow kinds of several API groups."
)
@click.option(
    "--namespaced/--no-namespaced",
    default=None,
    help="Watch only the namespace of the operator, or all namespaces.",
)
@click.option("--image", default="", help="Image of the operator, with a tag or a digest.")
@dry_run_option
def edit(
    app: App, *, multigroup: bool | None, namespaced: bool | None, image: str, dry_run: bool
) -> None:
    """Change the groups, the scope or the operator image of a project."""
    if multigroup is None and namespaced is None and not image:
        raise ConfigurationError("nothing to edit", hint="pass at least one option")
    request = EditRequest(multigroup=multigroup, namespaced=namespaced, image=image)
    result = project.edit(app.project, request, dry_run=dry_run)
    scaffolding.emit(app, result, dry_run=dry_run)
