"""`olmkit init`."""

from __future__ import annotations

from pathlib import Path

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame.app import App, command
from olmkit.cli.project import scaffolding
from olmkit.cli.project.scaffolding import dry_run_option
from olmkit.jobs.project import scaffold as project
from olmkit.project.scaffold.project import LAYOUT, InitRequest

_LAYOUTS = (LAYOUT, "python/v1", "python")


@command(
    name="init",
    example="""
    olmkit init memcached-operator --domain example.com
    """,
)
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[DIR]")
@click.option("--domain", required=True, help="Domain of the API groups, such as example.com.")
@click.option(
    "--project-name", default="", help="Name of the project. Default: the name of the directory."
)
@click.option("--image", default="", help="Image of the operator. Default: `DOMAIN/NAME:v0.0.1`.")
@click.option(
    "--plugins",
    "--layout",
    "layout",
    default=LAYOUT,
    show_default=True,
    help="Project layout, as in kubebuilder; there is only one.",
)
@click.option("--multigroup", is_flag=True, help="Allow kinds of several API groups.")
@click.option(
    "--namespaced", is_flag=True, help="Create an operator that watches only its own namespace."
)
@dry_run_option
def init(
    app: App,
    *,
    folder: Path,
    domain: str,
    project_name: str,
    image: str,
    layout: str,
    multigroup: bool,
    namespaced: bool,
    dry_run: bool,
) -> None:
    """Create a project for an operator in Python."""
    if layout not in _LAYOUTS:
        raise ConfigurationError(
            f"the layout `{layout}` is not supported",
            hint=f"use `{LAYOUT}`; olmkit still reads projects with other layouts",
        )
    request = InitRequest(
        domain=domain,
        name=project_name or folder.resolve().name.lower(),
        image=image,
        multigroup=multigroup,
        namespaced=namespaced,
    )
    scaffolding.emit(app, project.init(folder, request, dry_run=dry_run), dry_run=dry_run)
